/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The marks of a line, its pin, and the hand-over of the chip's lock: the rule
 * of Documentation/locking.rst, for spin.
 *
 * Two irqfds are signalled in any context, a guest takes the interrupt and
 * writes EOIs, which acknowledge and may be overtaken by new signals.  Each
 * step below is one access to memory, or one atomic operation of the kernel.
 * Spin knows no store buffers: a missing barrier is the choice of both orders.
 *
 * At the end all is acknowledged, once for each assertion, and each device was
 * looked at after it last raised its line; no EOI finds nothing to acknowledge,
 * which would be an interrupt of nobody.
 *
 * Wrong versions, each of which must fail:
 *   NO_UNLOCK_MB   the holder tests before its unlock is seen
 *   NO_POST_MB     the poster tries the lock before its post is seen
 *   NO_TEST        the holder does not look for posts
 *   STALE_LEVEL    the EOI decides about the pin before it has the lock
 *   ACK_LATE       the EOI notifies before it clears the mark
 */

#define IRQFDS	2
#define SIGNALS	2

bool mark[IRQFDS];	/* kvm_line_marks.marked */
bool need[IRQFDS];	/* the device's line; its owner looks when notified */
bool irr, remote_irr;	/* of the pin; under lock */
bool lock, posted;
byte raised, acked, finished;

inline try(got)
{
	atomic { got = !lock; lock = true }
}

/* ioapic_update_pin() */
inline recompute(up)
{
	up = mark[0];
	up = up || mark[1];
	irr = up;
	if
	:: irr && !remote_irr -> remote_irr = true
	:: else
	fi
}

inline unlock_and_test(seen)
{
#ifdef NO_UNLOCK_MB
	if
	:: lock = false; seen = posted
	:: seen = posted; lock = false
	fi
#else
	lock = false;
	seen = posted
#endif
#ifdef NO_TEST
	; seen = false
#endif
}

/* kvm_ioapic_unlock() and ioapic_drain() */
inline unlock(b)
{
	do
	:: unlock_and_test(b);
	   if
	   :: !b -> break
	   :: else -> try(b)
	   fi;
	   if
	   :: !b -> break
	   :: else -> posted = false; recompute(b)
	   fi
	od
}

inline post(got)
{
#ifdef NO_POST_MB
	if
	:: posted = true; try(got)
	:: try(got); posted = true
	fi
#else
	posted = true;
	try(got)
#endif
}

/* irqfd_raise() and kvm_ioapic_line_assert() */
inline raise(i, b)
{
	need[i] = true;
	atomic {
		b = mark[i];
		mark[i] = true;
		raised = raised + (b -> 0 : 1)
	}
	if
	:: b && irr	/* held */
	:: else ->
		try(b);
		if
		:: b -> recompute(b); unlock(b)
		:: else ->
			post(b);
			if
			:: b -> posted = false; recompute(b); unlock(b)
			:: else
			fi
		fi
	fi
}

proctype irqfd(byte i)
{
	byte n;
	bool b;

	for (n : 1 .. SIGNALS) {
		raise(i, b)
	}
	finished++
}

/* irqfd_ack(): clear the mark, then notify. */
inline ack(i, some)
{
	if
	:: mark[i] ->
#ifdef ACK_LATE
		need[i] = false;
		mark[i] = false;
#else
		mark[i] = false;
		need[i] = false;
#endif
		acked++;
		some = true
	:: else
	fi
}

/* kvm_ioapic_update_eoi_one(), kvm_irq_line_eoi(), kvm_ioapic_pin_eoi() */
proctype guest()
{
	bool b, some;

	do
	:: remote_irr ->
		some = false;
		ack(0, some);
		ack(1, some);
		assert(some);
#ifdef STALE_LEVEL
		b = mark[0];
		b = b || mark[1];
#endif
		atomic { !lock -> lock = true }
#ifndef STALE_LEVEL
		b = mark[0];
		b = b || mark[1];
#endif
		irr = b;
		remote_irr = false;
		if
		:: irr -> remote_irr = true
		:: else
		fi;
		unlock(b)
	:: finished == IRQFDS && !remote_irr -> break
	od;
	assert(!mark[0] && !mark[1] && !irr);
	assert(!need[0] && !need[1]);
	assert(raised == acked)
}

init
{
	atomic { run guest(); run irqfd(0); run irqfd(1) }
}

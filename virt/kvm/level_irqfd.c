// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds: the generic half.
 *
 * An edge irqfd needs no memory: a signal is a pulse.  A level irqfd holds its
 * line up until the guest's EOI, together with any number of others on the
 * same GSI, and KVM used to leave interrupt context to raise it.  This file
 * keeps the marks (see kvm_level_irqfd.h), sets one in the context that
 * signals the eventfd, a hard IRQ handler included, clears those that an EOI
 * acknowledges, and tells the chips' half to recompute the pins.
 *
 * Invariant: each change of a mark is followed by a recomputation of every pin
 * of the line: by the one who changed it, by the holder of the chip's lock to
 * whom it posted the pin, or by a worker queued for it.
 */

#include <linux/eventfd.h>
#include <linux/hashtable.h>
#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>
#include <linux/rculist.h>
#include <linux/srcu.h>

#define CREATE_TRACE_POINTS
#include "level_irqfd_trace.h"

/*
 * ASSERT
 */

/*
 * Mark the irqfd and recompute its pins, or post them to the holder of the
 * chip's lock.
 *
 * A set mark whose pin is up has nothing to add: the pin cannot go down before
 * an EOI that clears the mark, or a detach, and both recompute after clearing.
 * The check of the pin is for an irqchip that was reset under the mark.
 *
 * test_and_set_bit() orders the mark before the reads of the routes and of the
 * pins, and before the post.  Pairs with the barriers of
 * kvm_arch_irq_line_route(): either the new route is seen here, or the mark is
 * seen there.
 */
static __always_inline void irqfd_raise(struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_irqfd_source *src = &irqfd->source;
	struct kvm_irq_line *line = src->line;

	if (test_and_set_bit(src->bit, &src->marks->marked) &&
	    kvm_arch_irq_line_is_up(line)) {
		trace_kvm_level_assert(line->gsi, KVM_LEVEL_HELD);
		return;
	}

	atomic64_inc(&irqfd->kvm->stat.generic.irqfd_level_inplace);
	trace_kvm_level_assert(line->gsi, KVM_LEVEL_INPLACE);
	kvm_arch_irq_line_assert(line);
}

/* What an atomic context must not do.  The line is on a pin of the chip. */
void kvm_irq_line_defer(struct kvm_irq_line *line)
{
	atomic64_inc(&line->kvm->stat.generic.irqfd_level_deferred);
	trace_kvm_level_assert(line->gsi, KVM_LEVEL_DEFERRED);
	schedule_work(&line->update);
}

/*
 * A GSI without a pin, routed to an MSI or to nothing, hears no EOI: a signal
 * leaves no mark, and is sent as that of an edge irqfd.
 *
 * What cannot be sent here must not be forgotten if the GSI gets a pin before
 * the worker runs, and the worker must not send what only left a mark:
 * KVM_IRQFD_UNSENT tells it.  A mark that was set against a route change counts
 * as set before it.
 */
static noinline void irqfd_send(struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_kernel_irq_routing_entry entry;
	struct kvm *kvm = irqfd->kvm;
	unsigned int seq;
	int idx, r;

	/* Being de-assigned: routes do not reach it any more. */
	if (list_empty(&irqfd->list))
		return;

	idx = srcu_read_lock(&kvm->irq_srcu);
	do {
		seq = read_seqcount_begin(&irqfd->irq_entry_sc);
		entry = irqfd->irq_entry;
	} while (read_seqcount_retry(&irqfd->irq_entry_sc, seq));

	r = kvm_arch_set_irq_inatomic(&entry, kvm, KVM_USERSPACE_IRQ_SOURCE_ID,
				      1, false);
	srcu_read_unlock(&kvm->irq_srcu, idx);

	if (r == -EWOULDBLOCK) {
		set_bit(KVM_IRQFD_UNSENT, &irqfd->source.flags);
		schedule_work(&irqfd->inject);
	}
}

/*
 * No reference is needed: the caller is the wait-queue callback or the assign
 * ioctl, and kvm_irq_line_detach() runs after both have ended.
 */
static __always_inline void irqfd_assert(struct kvm_kernel_irqfd *irqfd)
{
	if (likely(READ_ONCE(irqfd->source.line->routed)))
		irqfd_raise(irqfd);
	else
		irqfd_send(irqfd);
}

/* Returns false for an irqfd that has no line. */
bool kvm_irqfd_assert(struct kvm_kernel_irqfd *irqfd)
{
	if (!irqfd->source.line)
		return false;

	irqfd_assert(irqfd);
	return true;
}

/* Wait-queue callback: wqh->lock held, IRQs off. */
static int line_wakeup(wait_queue_entry_t *wait, unsigned int mode, int sync,
		       void *key)
{
	struct kvm_kernel_irqfd *irqfd =
		container_of(wait, struct kvm_kernel_irqfd, wait);
	__poll_t flags = key_to_poll(key);
	u64 cnt;

	if (flags & EPOLLIN) {
		eventfd_ctx_do_read(irqfd->eventfd, &cnt);
		irqfd_assert(irqfd);
	}

	if (unlikely(flags & EPOLLHUP))
		irqfd_wakeup(wait, mode, sync, poll_to_key(EPOLLHUP));

	return !!(flags & EPOLLIN);
}

wait_queue_func_t kvm_irqfd_wakeup_func(struct kvm_kernel_irqfd *irqfd)
{
	return irqfd->source.line ? line_wakeup : irqfd_wakeup;
}

/*
 * The route is looked up once: a pin that it has got by now takes the signal as
 * a mark, and a change after the look-up finds no chip touched.
 */
static void irqfd_send_slow(struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_kernel_irq_routing_entry entries[KVM_NR_IRQCHIPS];
	struct kvm_irqfd_source *src = &irqfd->source;
	struct kvm *kvm = irqfd->kvm;
	int idx, n;

	idx = srcu_read_lock(&kvm->irq_srcu);
	n = kvm_irq_map_gsi(kvm, entries, irqfd->gsi);
	srcu_read_unlock(&kvm->irq_srcu, idx);

	while (n--) {
		if (entries[n].type == KVM_IRQ_ROUTING_IRQCHIP)
			set_bit(src->bit, &src->marks->marked);
		else
			entries[n].set(&entries[n], kvm,
				       KVM_USERSPACE_IRQ_SOURCE_ID, 1, false);
	}
}

/* Must not queue itself: irqfd_shutdown() flushes it once. */
bool kvm_irqfd_inject_line(struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_irqfd_source *src = &irqfd->source;

	if (!src->line)
		return false;

	if (test_and_clear_bit(KVM_IRQFD_UNSENT, &src->flags))
		irqfd_send_slow(irqfd);

	/* The marks before the routes, as in irqfd_raise(). */
	smp_mb();
	kvm_arch_irq_line_update(src->line);
	return true;
}

/*
 * EOI
 */

struct kvm_irq_line *kvm_irq_line_find(struct kvm *kvm, u32 gsi)
{
	struct kvm_irq_line *line;

	hash_for_each_possible_rcu_notrace(kvm->irqfds.lines, line, link, gsi)
		if (line->gsi == gsi)
			return line;
	return NULL;
}

void kvm_irq_line_notify(struct kvm *kvm, u32 gsi, struct eventfd_ctx *eventfd)
{
	atomic64_inc(&kvm->stat.generic.irqfd_level_notified);
	trace_kvm_level_notify(gsi, eventfd);
	eventfd_signal(eventfd);
}

static void resamplers_notify(struct kvm_irq_line *line)
{
	struct kvm_kernel_irqfd *irqfd;

	list_for_each_entry_srcu(irqfd, &line->resamplers,
				 source.resampler_link,
				 srcu_read_lock_held(&line->kvm->irq_srcu))
		kvm_irq_line_notify(line->kvm, line->gsi, irqfd->resamplefd);
}

/*
 * Clear one mark, then signal: the signal may make the device assert again, on
 * this CPU or another, and the new mark must not be taken for the old one.
 * test_and_clear_bit() lets one of several EOIs in flight win, so that an
 * assertion is signalled once.
 *
 * A level irqfd whose eoifd is going away keeps its mark: it is bare now.
 */
static bool irqfd_ack(struct kvm_irq_line *line, struct kvm_line_marks *m,
		      unsigned int bit)
{
	struct kvm_kernel_eoifd *eoifd = NULL;
	struct kvm_kernel_irqfd *irqfd;
	struct kvm *kvm = line->kvm;

	irqfd = srcu_dereference(m->irqfd[bit], &kvm->irq_srcu);
	if (!irqfd)
		return false;

	if (!irqfd->resamplefd) {
		eoifd = srcu_dereference(irqfd->source.eoifd, &kvm->irq_srcu);
		if (!eoifd)
			return false;
	}

	if (!test_and_clear_bit(bit, &m->marked))
		return false;

	if (eoifd)
		kvm_eoifd_signal(eoifd);
	return true;
}

/*
 * ->acked goes first: a route change that finds no mark leaves the pin alone,
 * unless it sees that an EOI, which has just cleared it, owes a recomputation.
 * Ordered by test_and_clear_bit().
 *
 * Visits the marked irqfds only, however many sit on the line.
 */
static bool irq_line_ack(struct kvm_irq_line *line)
{
	struct kvm_line_marks *m;
	unsigned long bits;
	bool acked = false;

	/* Not for_each_set_bit(): this is the path of each EOI. */
	for (m = &line->marks; m; m = READ_ONCE(m->next)) {
		bits = READ_ONCE(m->marked) & READ_ONCE(m->sampled);
		if (bits)
			WRITE_ONCE(line->acked, ~0UL);
		for (; bits; bits &= bits - 1)
			acked |= irqfd_ack(line, m, __ffs(bits));
	}

	resamplers_notify(line);
	return acked;
}

/*
 * Recompute last: a device that answered a signal with a new assertion is
 * found marked, so a pin that it holds is never lowered behind its back.
 *
 * A line with eoifds alone has no mark and lowers nothing.
 */
void kvm_irq_line_eoi(struct kvm *kvm, int gsi, int irqchip, int pin)
{
	struct kvm_irq_line *line = kvm_irq_line_find(kvm, gsi);
	bool acked;

	if (!line)
		return;

	acked = irq_line_ack(line);
	if (acked)
		atomic64_inc(&kvm->stat.generic.irqfd_level_acked);
	trace_kvm_level_eoi(gsi, acked);

	if (!list_empty(&line->eoifds))
		kvm_eoifd_signal_all(line);

	if (READ_ONCE(line->irqfds))
		kvm_arch_irq_line_eoi(line, irqchip, pin);
}

/*
 * Re-sample a line whose pin saw an EOI while it was masked: what was asserted
 * since may be gone.  Returns whether a mark was cleared; the caller holds a
 * chip's lock and recomputes that chip's pin.  That of another chip follows the
 * marks as after a signal: its lock must not be waited for under this one, since
 * each chip may be the first.
 */
bool kvm_irq_line_resample(struct kvm_irq_line *line)
{
	lockdep_assert_once(srcu_read_lock_held(&line->kvm->irq_srcu));

	if (!kvm_irq_line_sampled(line) || !irq_line_ack(line))
		return false;

	if (hweight_long(READ_ONCE(line->routed)) > 1)
		kvm_arch_irq_line_assert(line);
	return true;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds: the chips' half.
 *
 * A pin is up while any source holds it: a marked irqfd of any line routed to
 * it, KVM_IRQ_LINE, the PIT.  level_ioapic.c and level_pic.c recompute a pin
 * from all of them, under the chip's lock, in whatever context a mark changed;
 * this file knows which pins a line has.
 *
 * Invariant: a pin follows its sources as of the last recomputation, and a
 * recomputation follows each change.  Nothing passes a level in, so nothing can
 * be stale.
 *
 * Contexts.  Both chips' locks are taken with IRQs enabled, and some holders
 * signal eventfds, whose wake-up comes back here.  A caller in atomic context
 * therefore only tries the lock: to wait for it in a hard IRQ could wait for
 * the very CPU, and to wait for it under an eventfd's wqh->lock would close a
 * circle that a trylock hides from lockdep.
 *
 * Hand-over.  Who finds the lock taken posts the pin, and the holder recomputes
 * it right after it has unlocked.  Nobody waits, and no worker is needed.  The
 * two sides:
 *
 *	poster				holder
 *	set_bit(pin, &posted)		unlock
 *	smp_mb__after_atomic()		smp_mb()
 *	trylock				test posted, then trylock
 *
 * If the trylock fails, the lock was held after the bit was set.  The barriers
 * then show that holder the bit, or somebody has taken the bit meanwhile, who
 * recomputes from marks that were set before it.  Unlock and test are one
 * section without preemption, or the pin would wait for a time slice.
 */

#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>

#include "ioapic.h"
#include "irq.h"

#define PICS	(BIT(KVM_LINE_PIC_MASTER) | BIT(KVM_LINE_PIC_SLAVE))

/*
 * Whether the line may hold its pin on the chip up: by a mark, or by one that
 * an EOI has cleared without having come to recompute.
 */
bool kvm_irq_line_holds(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	bool marked = kvm_irq_line_marked(line);

	/* Pairs with test_and_clear_bit() in irqfd_ack(). */
	smp_rmb();
	return marked || READ_ONCE(line->acked) & BIT(chip);
}

/*
 * The bit in ->acked is taken, and then the marks are read.  Another EOI may
 * have set the bit too, and be about to clear a mark that is seen set here: it
 * still owes its recomputation, so the bit goes back.  It set the bit after it
 * had seen the mark, hence a bit that is taken from it comes with its mark, or
 * with the mark cleared already.
 */
void kvm_irq_line_sources(struct kvm_irq_line *line, enum kvm_line_chip chip,
			  struct kvm_pin_sources *s)
{
	bool acked = READ_ONCE(line->acked) & BIT(chip);
	unsigned long marked, sampled;
	struct kvm_line_marks *m;
	bool left = false;

	if (acked) {
		clear_bit(chip, &line->acked);
		/* The bit before the marks; pairs with irq_line_ack(). */
		smp_mb__after_atomic();
	}

	for (m = &line->marks; m; m = READ_ONCE(m->next)) {
		marked = READ_ONCE(m->marked);
		if (!marked)
			continue;
		sampled = marked & READ_ONCE(m->sampled);
		s->marked = true;
		if (sampled != marked)
			s->held = true;
		if (sampled)
			left = true;
	}

	if (READ_ONCE(line->irqfds))
		s->irqfds = true;
	if (!acked)
		return;
	s->acked = true;
	if (left)
		set_bit(chip, &line->acked);
}

/*
 * Lockless, for a line that was found marked: a pin goes down only where a
 * mark was cleared, or in a reset, and a signal after either must find it so.
 * A value that is read while the chip changes it costs a recomputation.
 */
bool kvm_arch_irq_line_is_up(struct kvm_irq_line *line)
{
	int chip;

	if (!kvm_ioapic_line_is_up(line))
		return false;
	for (chip = KVM_LINE_PIC_SLAVE; chip >= KVM_LINE_PIC_MASTER; chip--)
		if (!kvm_pic_line_is_up(line, chip))
			return false;
	return true;
}

/* Any context. */
void kvm_arch_irq_line_assert(struct kvm_irq_line *line)
{
	unsigned long routed = READ_ONCE(line->routed);
	int chip;

	if (unlikely(routed & PICS))
		for (chip = KVM_LINE_PIC_SLAVE; chip >= KVM_LINE_PIC_MASTER; chip--)
			if (routed & BIT(chip))
				kvm_pic_line_assert(line, chip);
	if (routed & BIT(KVM_LINE_IOAPIC))
		kvm_ioapic_line_assert(line);
}

void kvm_arch_irq_line_update(struct kvm_irq_line *line)
{
	unsigned long routed = READ_ONCE(line->routed);
	int chip;

	if (routed & PICS)
		for (chip = KVM_LINE_PIC_SLAVE; chip >= KVM_LINE_PIC_MASTER; chip--)
			kvm_pic_line_update(line, chip);
	if (routed & BIT(KVM_LINE_IOAPIC))
		kvm_ioapic_line_update(line);
}

/*
 * The IOAPIC pin that saw the EOI is left to kvm_ioapic_pin_eoi(), which comes
 * next and has the lock anyway.  Should the line leave that pin before, the
 * route change recomputes it, see kvm_irq_line_holds().
 */
void kvm_arch_irq_line_eoi(struct kvm_irq_line *line, int irqchip, int pin)
{
	int here, chip;

	/* The slave first: the master latches its output, and would keep it. */
	if (READ_ONCE(line->routed) & PICS)
		for (chip = KVM_LINE_PIC_SLAVE; chip >= KVM_LINE_PIC_MASTER; chip--)
			if (READ_ONCE(line->at[chip].pin) >= 0)
				kvm_pic_line_eoi(line, chip);

	here = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);
	if (here >= 0 && (irqchip != KVM_IRQCHIP_IOAPIC || pin != here))
		kvm_ioapic_line_eoi(line);
}

static enum kvm_line_chip entry_chip(struct kvm_kernel_irq_routing_entry *e)
{
	switch (e->irqchip.irqchip) {
	case KVM_IRQCHIP_PIC_MASTER:
		return KVM_LINE_PIC_MASTER;
	case KVM_IRQCHIP_PIC_SLAVE:
		return KVM_LINE_PIC_SLAVE;
	default:
		return KVM_LINE_IOAPIC;
	}
}

/*
 * The line moves between the pins' lists under the chip's lock, and takes its
 * marks along: the old pin is recomputed without it, the new one with it.  A
 * line that holds nothing touches neither: what a restored chip holds pending
 * is not ours to drop.
 *
 * A signal marks, and then reads ->routed and the pin, without the lock if that
 * is taken.  Here both are written, and then the marks are read.  With a full
 * barrier between on either side, one of the two sees the other.
 */
void kvm_arch_irq_line_route(struct kvm_irq_line *line,
			     struct kvm_kernel_irq_routing_entry *entries,
			     int n)
{
	struct kvm_kernel_irq_routing_entry *e;
	int pins[KVM_LINE_CHIPS] = { -1, -1, -1 };
	unsigned long routed = 0;
	int chip;

	lockdep_assert_held(&line->kvm->irq_lock);

	for (e = entries; e < entries + n; e++) {
		if (e->type != KVM_IRQ_ROUTING_IRQCHIP)
			continue;
		chip = entry_chip(e);
		pins[chip] = e->irqchip.pin;
		routed |= BIT(chip);
	}

	WRITE_ONCE(line->routed, routed);
	/* Pairs with the mark in irqfd_raise(). */
	smp_mb();

	kvm_ioapic_line_route(line, pins[KVM_LINE_IOAPIC]);
	for (chip = KVM_LINE_PIC_SLAVE; chip >= KVM_LINE_PIC_MASTER; chip--)
		kvm_pic_line_route(line, chip, pins[chip]);
}

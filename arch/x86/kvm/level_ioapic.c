// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds: the IOAPIC.
 *
 * The rules of level_pin.c, for the IOAPIC's pins.
 *
 * Invariant: after a recomputation, irr of a pin is set if a source holds the
 * pin, and clear if none does.  On an edge-programmed pin irr is no request but
 * the memory of its last level.
 */

#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>
#include <trace/events/kvm.h>

#include "ioapic.h"
#include "irq.h"
#include "lapic.h"

#define for_each_line_at_ioapic(line, ioapic, pin)			\
	hlist_for_each_entry(line, &(ioapic)->level.lines[pin],		\
			     at[KVM_LINE_IOAPIC].link)

bool kvm_ioapic_pin_marked(struct kvm_ioapic *ioapic, int pin)
{
	struct kvm_irq_line *line;

	lockdep_assert_held(&ioapic->lock);

	for_each_line_at_ioapic(line, ioapic, pin)
		if (kvm_irq_line_marked(line))
			return true;
	return false;
}

static void ioapic_update_pin(struct kvm_ioapic *ioapic, int pin)
{
	bool up;

	lockdep_assert_held(&ioapic->lock);

	up = ioapic->irq_states[pin] || kvm_ioapic_pin_marked(ioapic, pin);
	ioapic_set_irq(ioapic, pin, up, false);
}

/*
 * Deliver on behalf of ioapic_service().  The walk over all vCPUs, for a
 * destination that the APIC map cannot resolve, is not for atomic context: 0
 * leaves the interrupt pending, and the bit makes the worker ask again.
 */
int kvm_ioapic_deliver(struct kvm_ioapic *ioapic, int pin,
		       struct kvm_lapic_irq *irq)
{
	int r = -1;

	lockdep_assert_held(&ioapic->lock);

	if (kvm_irq_delivery_to_apic_fast(ioapic->kvm, NULL, irq, &r, NULL))
		return r;
	if (!ioapic->level.atomic)
		return kvm_irq_delivery_to_apic(ioapic->kvm, NULL, irq, NULL);

	ioapic->level.undelivered |= BIT(pin);
	return 0;
}

static bool ioapic_pin_is_edge(struct kvm_ioapic *ioapic, int pin)
{
	return ioapic->redirtbl[pin].fields.trig_mode == IOAPIC_EDGE_TRIG;
}

static void ioapic_defer(struct kvm_ioapic *ioapic, int pin)
{
	struct kvm_irq_line *line;

	for_each_line_at_ioapic(line, ioapic, pin) {
		kvm_irq_line_defer(line);
		return;
	}
}

/* In a context that is, or may be, atomic. */
static void ioapic_try_update_pin(struct kvm_ioapic *ioapic, int pin)
{
	/* An edge pin under APICv first looks for EOIs on all vCPUs. */
	if (ioapic_pin_is_edge(ioapic, pin) && kvm_apicv_activated(ioapic->kvm)) {
		ioapic_defer(ioapic, pin);
		return;
	}

	ioapic->level.atomic = true;
	ioapic_update_pin(ioapic, pin);
	ioapic->level.atomic = false;
	if (ioapic->level.undelivered & BIT(pin))
		ioapic_defer(ioapic, pin);
}

/* The same for a line that is marked, on the pin of a PCI interrupt. */
static void ioapic_assert_pin(struct kvm_ioapic *ioapic, int pin,
			      struct kvm_irq_line *line)
{
	union kvm_ioapic_redirect_entry *e = &ioapic->redirtbl[pin];
	int ret = -1;

	if (ioapic_pin_is_edge(ioapic, pin) || !kvm_irq_line_marked(line)) {
		ioapic_try_update_pin(ioapic, pin);
		return;
	}

	/* As ioapic_set_irq() does, up. */
	ioapic->irr |= BIT(pin);
	if (!e->fields.remote_irr) {
		ioapic->level.atomic = true;
		ret = ioapic_service(ioapic, pin, false);
		ioapic->level.atomic = false;
	}
	trace_kvm_ioapic_set_irq(e->bits, pin, ret == 0);
	if (ioapic->level.undelivered & BIT(pin))
		ioapic_defer(ioapic, pin);
}

/*
 * Any context, without the lock: see level_pin.c for the barriers.  Each round
 * serves irqfds that were acknowledged since the last one, see irqfd_raise().
 */
static void ioapic_drain(struct kvm_ioapic *ioapic)
{
	unsigned long pins;
	int pin;

	while (READ_ONCE(ioapic->level.posted) && spin_trylock(&ioapic->lock)) {
		pins = xchg(&ioapic->level.posted, 0);
		for_each_set_bit(pin, &pins, IOAPIC_NUM_PINS)
			ioapic_try_update_pin(ioapic, pin);
		spin_unlock(&ioapic->lock);
		/* As in kvm_ioapic_unlock(). */
		smp_mb();
	}
}

void kvm_ioapic_unlock(struct kvm_ioapic *ioapic)
	__releases(&ioapic->lock)
{
	preempt_disable();
	spin_unlock(&ioapic->lock);
	/* Pairs with smp_mb__after_atomic() in kvm_ioapic_line_assert(). */
	smp_mb();
	if (unlikely(READ_ONCE(ioapic->level.posted)))
		ioapic_drain(ioapic);
	preempt_enable();
}

bool kvm_ioapic_line_is_up(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	int pin = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);

	/* A torn value costs a recomputation, see kvm_arch_irq_line_is_up(). */
	return pin < 0 || data_race(ioapic->irr) & BIT(pin);
}

/* A free lock saves the atomic post.  The pin is read again under it. */
void kvm_ioapic_line_assert(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	int pin;

	if (spin_trylock(&ioapic->lock)) {
		pin = line->at[KVM_LINE_IOAPIC].pin;
		if (pin >= 0)
			ioapic_assert_pin(ioapic, pin, line);
		kvm_ioapic_unlock(ioapic);
		return;
	}

	pin = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);
	if (pin < 0)
		return;

	set_bit(pin, &ioapic->level.posted);
	/* Pairs with smp_mb() in kvm_ioapic_unlock() and ioapic_drain(). */
	smp_mb__after_atomic();
	preempt_disable();
	ioapic_drain(ioapic);
	preempt_enable();
}

/*
 * The worker's share: what an atomic context has latched on an edge pin, but
 * could not deliver, shows no edge any more.
 */
void kvm_ioapic_line_update(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	bool late;
	int pin;

	spin_lock(&ioapic->lock);
	pin = line->at[KVM_LINE_IOAPIC].pin;
	if (pin >= 0) {
		late = ioapic->level.undelivered & BIT(pin);
		ioapic->level.undelivered &= ~BIT(pin);
		ioapic_update_pin(ioapic, pin);
		if (late && ioapic_pin_is_edge(ioapic, pin) &&
		    ioapic->irr & ~ioapic->irr_delivered & BIT(pin))
			ioapic_service(ioapic, pin, false);
	}
	kvm_ioapic_unlock(ioapic);
}

/*
 * An EOI comes with a vector and wants its pins.  To compare all 24 costs more
 * than the rest of the search, so keep them by vector.  A pin may change its
 * vector while the lock is dropped for a notification: the one who walks the
 * pins compares again.
 */
void kvm_ioapic_index_pins(struct kvm_ioapic *ioapic)
{
	int pin;

	memset(ioapic->level.pins_of, 0, sizeof(ioapic->level.pins_of));
	for (pin = 0; pin < IOAPIC_NUM_PINS; pin++)
		ioapic->level.pins_of[ioapic->redirtbl[pin].fields.vector] |= BIT(pin);
}

/* KVM_SET_IRQCHIP has replaced the RTEs. */
void kvm_ioapic_restored(struct kvm_ioapic *ioapic)
{
	lockdep_assert_held(&ioapic->lock);

	kvm_ioapic_index_pins(ioapic);
	ioapic->level.eoi_masked = 0;
	ioapic->level.undelivered = 0;
}

void kvm_ioapic_pin_vector(struct kvm_ioapic *ioapic, int pin, u8 old_vector)
{
	lockdep_assert_held(&ioapic->lock);

	ioapic->level.pins_of[old_vector] &= ~BIT(pin);
	ioapic->level.pins_of[ioapic->redirtbl[pin].fields.vector] |= BIT(pin);
}

/*
 * What to add to the count of EOIs in a row that left the pin up: nothing if
 * an irqfd that can be re-sampled holds it, since a device that is busy in
 * earnest must not be taken for a line that is stuck.
 */
u32 kvm_ioapic_pin_stuck(struct kvm_ioapic *ioapic, int pin)
{
	struct kvm_irq_line *line;

	lockdep_assert_held(&ioapic->lock);

	for_each_line_at_ioapic(line, ioapic, pin)
		if (kvm_irq_line_sampled(line))
			return 0;
	return 1;
}

/*
 * The recomputation that an EOI owes.  Where marks were cleared and nothing
 * else holds the pin, it was low for a moment, whoever has raised it since:
 * only so does an edge-programmed pin see the next edge.  remote_irr of a level
 * pin may still be set, the caller delivers.
 *
 * An EOI that acknowledged an irqfd is no storm, see kvm_ioapic_pin_stuck().
 */
static void ioapic_pin_settle(struct kvm_ioapic *ioapic, int pin)
{
	struct kvm_pin_sources s = { .held = ioapic->irq_states[pin] };
	struct kvm_irq_line *line;

	lockdep_assert_held(&ioapic->lock);

	for_each_line_at_ioapic(line, ioapic, pin)
		kvm_irq_line_sources(line, KVM_LINE_IOAPIC, &s);
	if (!s.irqfds)
		return;

	if (s.acked) {
		ioapic->irq_eoi[pin] = 0;
		if (!s.held)
			ioapic->irr &= ~BIT(pin);
	}

	if (!s.marked && !s.held)
		ioapic->irr &= ~BIT(pin);
	else if (!ioapic_pin_is_edge(ioapic, pin))
		ioapic->irr |= BIT(pin);
	else
		ioapic_set_irq(ioapic, pin, 1, false);
}

/*
 * ioapic->lock was dropped for the notification and is held again.
 *
 * Oneshot guests mask, EOI, handle and unmask.  What is asserted between the
 * EOI and the unmask may be gone by then: the EOI already made the device, or
 * its model, look again.  Remember such an EOI until the unmask.
 */
void kvm_ioapic_pin_eoi(struct kvm_ioapic *ioapic, int pin)
{
	lockdep_assert_held(&ioapic->lock);

	if (ioapic->redirtbl[pin].fields.mask)
		ioapic->level.eoi_masked |= BIT(pin);

	if (!hlist_empty(&ioapic->level.lines[pin]))
		ioapic_pin_settle(ioapic, pin);
}

/*
 * Ask those who can be asked, then let the pin follow its sources.
 *
 * The signals go out with the lock held and IRQs on.  The device's IRQ on this
 * CPU finds the lock taken, and posts the pin; the marks are read after the
 * signals, and once more at the unlock.
 */
static void ioapic_resample(struct kvm_ioapic *ioapic, int pin)
{
	struct kvm_irq_line *line;
	bool asked = false;
	int idx;

	idx = srcu_read_lock(&ioapic->kvm->irq_srcu);
	for_each_line_at_ioapic(line, ioapic, pin)
		asked |= kvm_irq_line_resample(line);
	srcu_read_unlock(&ioapic->kvm->irq_srcu, idx);

	if (asked && !ioapic->irq_states[pin] &&
	    !kvm_ioapic_pin_marked(ioapic, pin))
		ioapic->irr &= ~BIT(pin);
}

/*
 * The guest has masked or unmasked the pin; for an unmasked level pin the
 * caller then delivers what is pending.  A new period under the mask begins
 * without an EOI, and so does one without a mask.
 *
 * At an unmask after an EOI under the mask, inject only what is asserted anew
 * or held by others.  Without such an EOI nobody has heard of the assertion.
 *
 * An edge-programmed pin that latched an assertion under its mask looks like
 * one whose interrupt is in service, and no EOI will tell: deliver it here.
 */
void kvm_ioapic_pin_mask(struct kvm_ioapic *ioapic, int pin, bool mask)
{
	union kvm_ioapic_redirect_entry *e = &ioapic->redirtbl[pin];
	bool acked = ioapic->level.eoi_masked & BIT(pin);

	lockdep_assert_held(&ioapic->lock);

	ioapic->level.eoi_masked &= ~BIT(pin);
	if (mask || !(ioapic->irr & BIT(pin)))
		return;

	if (e->fields.trig_mode == IOAPIC_EDGE_TRIG) {
		if (!(ioapic->irr_delivered & BIT(pin)) &&
		    kvm_ioapic_pin_marked(ioapic, pin))
			ioapic_service(ioapic, pin, false);
	} else if (acked && !e->fields.remote_irr) {
		ioapic_resample(ioapic, pin);
	}
}

/* An EOI of the line on the PIC, or on a pin that it has left. */
void kvm_ioapic_line_eoi(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	int pin;

	spin_lock(&ioapic->lock);
	pin = line->at[KVM_LINE_IOAPIC].pin;
	if (pin >= 0) {
		ioapic_pin_settle(ioapic, pin);
		/* Up since the marks were cleared, or all along: deliver. */
		if (ioapic->irr & BIT(pin) && !ioapic_pin_is_edge(ioapic, pin))
			ioapic_set_irq(ioapic, pin, 1, false);
	}
	kvm_ioapic_unlock(ioapic);
}

/* See kvm_arch_irq_line_route(). */
void kvm_ioapic_line_route(struct kvm_irq_line *line, int pin)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	bool held;
	int old;

	spin_lock(&ioapic->lock);
	old = line->at[KVM_LINE_IOAPIC].pin;
	if (old == pin)
		goto unlock;

	held = kvm_irq_line_holds(line, KVM_LINE_IOAPIC);
	clear_bit(KVM_LINE_IOAPIC, &line->acked);
	if (old >= 0) {
		hlist_del(&line->at[KVM_LINE_IOAPIC].link);
		if (held)
			ioapic_update_pin(ioapic, old);
	}

	WRITE_ONCE(line->at[KVM_LINE_IOAPIC].pin, pin);
	/* Pairs with the mark in irqfd_raise(). */
	smp_mb();
	if (pin >= 0) {
		hlist_add_head(&line->at[KVM_LINE_IOAPIC].link,
			       &ioapic->level.lines[pin]);
		if (kvm_irq_line_marked(line))
			ioapic_update_pin(ioapic, pin);
	}
unlock:
	kvm_ioapic_unlock(ioapic);
}

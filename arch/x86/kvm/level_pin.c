// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds: the chips' half, IOAPIC and PIC.
 *
 * A pin is up while any source holds it: a marked irqfd of any line routed to
 * it, KVM_IRQ_LINE, the PIT.  This file recomputes a pin from all of them,
 * under the chip's lock, in whatever context a mark changed.
 *
 * Invariant: irr of a pin (on an edge-programmed pin: the memory of its last
 * level) follows the sources as of the last recomputation, and a recomputation
 * follows each change.  Nothing passes a level in, so nothing can be stale.
 *
 * Contexts.  Both chips' locks are taken with IRQs enabled, and some holders
 * signal eventfds, whose wake-up comes back here.  A caller in atomic context
 * therefore only tries the lock: to wait for it in a hard IRQ could wait for
 * the very CPU, and to wait for it under an eventfd's wqh->lock would close a
 * circle that a trylock hides from lockdep.  What cannot be done goes to a
 * worker, which finds the marks and needs no other message.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>

#include "ioapic.h"
#include "irq.h"
#include "lapic.h"

/*
 * IOAPIC
 */

#define for_each_line_at_ioapic(line, ioapic, pin)			\
	hlist_for_each_entry(line, &(ioapic)->lines[pin],		\
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

	if (!ioapic->atomic)
		return kvm_irq_delivery_to_apic(ioapic->kvm, NULL, irq, NULL);

	if (kvm_irq_delivery_to_apic_fast(ioapic->kvm, NULL, irq, &r, NULL))
		return r;

	ioapic->undelivered |= BIT(pin);
	return 0;
}

/*
 * Any context.  The pin is read under the lock, so that a route change is
 * either complete here or follows with a recomputation of its own.
 */
static bool ioapic_try_update(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	int pin;
	bool done = true;

	if (!spin_trylock(&ioapic->lock))
		return false;

	pin = line->at[KVM_LINE_IOAPIC].pin;
	if (pin >= 0) {
		/* An edge pin under APICv first looks for EOIs on all vCPUs. */
		if (ioapic->redirtbl[pin].fields.trig_mode == IOAPIC_EDGE_TRIG &&
		    kvm_apicv_activated(line->kvm)) {
			done = false;
		} else {
			ioapic->atomic = true;
			ioapic_update_pin(ioapic, pin);
			ioapic->atomic = false;
			done = !(ioapic->undelivered & BIT(pin));
		}
	}
	spin_unlock(&ioapic->lock);
	return done;
}

static void ioapic_update(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	int pin;

	spin_lock(&ioapic->lock);
	pin = line->at[KVM_LINE_IOAPIC].pin;
	if (pin >= 0) {
		ioapic_update_pin(ioapic, pin);
		if (ioapic->undelivered & BIT(pin)) {
			ioapic->undelivered &= ~BIT(pin);
			if (ioapic->irr & BIT(pin))
				ioapic_service(ioapic, pin, false);
		}
	}
	spin_unlock(&ioapic->lock);
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

	memset(ioapic->pins_of, 0, sizeof(ioapic->pins_of));
	for (pin = 0; pin < IOAPIC_NUM_PINS; pin++)
		ioapic->pins_of[ioapic->redirtbl[pin].fields.vector] |= BIT(pin);
}

void kvm_ioapic_pin_vector(struct kvm_ioapic *ioapic, int pin, u8 old_vector)
{
	lockdep_assert_held(&ioapic->lock);

	ioapic->pins_of[old_vector] &= ~BIT(pin);
	ioapic->pins_of[ioapic->redirtbl[pin].fields.vector] |= BIT(pin);
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
		if (kvm_irq_line_marked_by(line, true))
			return 0;
	return 1;
}

/* What the lines on a pin say at an EOI. */
struct pin_sources {
	bool irqfds;	/* there is somebody to follow */
	bool acked;	/* this EOI cleared a mark */
	bool marked;	/* somebody holds the pin */
	bool held;	/* of those, somebody whom no EOI lowers */
};

static void line_sources(struct kvm_irq_line *line, struct pin_sources *s)
{
	struct kvm_line_marks *m;
	unsigned long marked;

	for (m = &line->marks; m; m = READ_ONCE(m->next)) {
		marked = READ_ONCE(m->marked);
		s->marked |= !!marked;
		s->held |= !!(marked & ~READ_ONCE(m->sampled));
	}

	s->irqfds |= !!READ_ONCE(line->irqfds);
	if (READ_ONCE(line->acked)) {
		WRITE_ONCE(line->acked, false);
		s->acked = true;
	}
}

/*
 * The recomputation that an EOI owes.  Where marks were cleared and nothing
 * else holds the pin, it was low for a moment, whoever has raised it since:
 * only so does an edge-programmed pin see the next edge.  remote_irr of a level
 * pin is still set, its caller delivers.
 *
 * An EOI that acknowledged an irqfd is no storm, see kvm_ioapic_pin_stuck().
 */
static void ioapic_pin_settle(struct kvm_ioapic *ioapic, int pin)
{
	struct pin_sources s = { .held = ioapic->irq_states[pin] };
	struct kvm_irq_line *line;

	lockdep_assert_held(&ioapic->lock);

	for_each_line_at_ioapic(line, ioapic, pin)
		line_sources(line, &s);
	if (!s.irqfds)
		return;

	if (s.acked) {
		ioapic->irq_eoi[pin] = 0;
		if (!s.held)
			ioapic->irr &= ~BIT(pin);
	}

	if (!s.marked && !s.held)
		ioapic->irr &= ~BIT(pin);
	else if (ioapic->redirtbl[pin].fields.trig_mode == IOAPIC_LEVEL_TRIG)
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
		ioapic->eoi_masked |= BIT(pin);

	if (!hlist_empty(&ioapic->lines[pin]))
		ioapic_pin_settle(ioapic, pin);
}

/* A new period under the mask begins without an EOI. */
void kvm_ioapic_pin_mask(struct kvm_ioapic *ioapic, int pin, bool mask)
{
	lockdep_assert_held(&ioapic->lock);

	if (mask)
		ioapic->eoi_masked &= ~BIT(pin);
}

/*
 * An unmasked level pin is pending.  After an EOI under the mask, ask those
 * who can be asked first, and inject only what is asserted anew or held by
 * others; otherwise nobody has heard of the assertion, inject it.
 *
 * The signals go out with the lock held and IRQs on.  The device's IRQ on this
 * CPU finds the lock taken and leaves its mark and a worker; the recomputation
 * that follows sees the mark.
 */
void kvm_ioapic_pin_unmask(struct kvm_ioapic *ioapic, int pin)
{
	struct kvm_irq_line *line;
	bool asked = false;
	int idx;

	lockdep_assert_held(&ioapic->lock);

	if (ioapic->eoi_masked & BIT(pin)) {
		ioapic->eoi_masked &= ~BIT(pin);
		idx = srcu_read_lock(&ioapic->kvm->irq_srcu);
		for_each_line_at_ioapic(line, ioapic, pin)
			asked |= kvm_irq_line_resample(line);
		srcu_read_unlock(&ioapic->kvm->irq_srcu, idx);
	}

	if (asked)
		ioapic_update_pin(ioapic, pin);
	else
		ioapic_service(ioapic, pin, false);
}

/*
 * PIC.  kvm_pic_set_irq() recomputes a pin when it is told that the source ID
 * of resample irqfds, which nobody holds on a kernel with marks, is low.
 */

bool kvm_pic_pin_marked(struct kvm_pic *pic, int pin)
{
	struct kvm_irq_line *line;

	lockdep_assert_held(&pic->lock);

	hlist_for_each_entry(line, &pic->lines[pin], at[KVM_LINE_PIC].link)
		if (kvm_irq_line_marked(line))
			return true;
	return false;
}

/*
 * Forget the level of an edge-programmed pin after an EOI that cleared marks,
 * as in ioapic_pin_settle().
 */
static void pic_lower_acked(struct kvm_irq_line *line)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	struct pin_sources s = { };
	struct kvm_irq_line *other;
	int pin;

	spin_lock(&pic->lock);
	pin = line->at[KVM_LINE_PIC].pin;
	if (pin >= 0) {
		s.held = pic->irq_states[pin];
		hlist_for_each_entry(other, &pic->lines[pin],
				     at[KVM_LINE_PIC].link)
			line_sources(other, &s);
		if (s.acked && !s.held)
			pic->pics[pin >> 3].last_irr &= ~BIT(pin & 7);
	}
	spin_unlock(&pic->lock);
}

/* As kvm_ioapic_pin_eoi(): pic->lock was dropped and is held again. */
void kvm_pic_pin_eoi(struct kvm_pic *pic, int pin)
{
	lockdep_assert_held(&pic->lock);

	if (pic->pics[pin >> 3].imr & BIT(pin & 7))
		pic->eoi_masked |= BIT(pin);
}

/* Ask those who can be asked, then let a level pin follow its sources. */
static void pic_resample(struct kvm_pic *pic, int pin)
{
	struct kvm_kpic_state *s = &pic->pics[pin >> 3];
	struct kvm_irq_line *line;
	bool asked = false;
	int idx;

	idx = srcu_read_lock(&pic->kvm->irq_srcu);
	hlist_for_each_entry(line, &pic->lines[pin], at[KVM_LINE_PIC].link)
		asked |= kvm_irq_line_resample(line);
	srcu_read_unlock(&pic->kvm->irq_srcu, idx);

	if (asked && !pic->irq_states[pin] && !kvm_pic_pin_marked(pic, pin)) {
		s->irr &= ~BIT(pin & 7);
		s->last_irr &= ~BIT(pin & 7);
	}
}

/*
 * As kvm_ioapic_pin_mask() and kvm_ioapic_pin_unmask(); the caller then looks
 * for an interrupt to deliver.  An edge-programmed pin keeps what it latched.
 */
void kvm_pic_pin_mask(struct kvm_pic *pic, int pin, bool mask)
{
	struct kvm_kpic_state *s = &pic->pics[pin >> 3];
	bool asked = pic->eoi_masked & BIT(pin);

	lockdep_assert_held(&pic->lock);

	pic->eoi_masked &= ~BIT(pin);
	if (!mask && asked && (s->elcr & s->irr & BIT(pin & 7)))
		pic_resample(pic, pin);
}

static void pic_update(struct kvm_irq_line *line)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin = READ_ONCE(line->at[KVM_LINE_PIC].pin);

	/* A pin that the line has just left is recomputed without it. */
	if (pin >= 0)
		kvm_pic_set_irq(pic, pin, KVM_IRQFD_RESAMPLE_IRQ_SOURCE_ID, 0);
}

/*
 * The line
 */

/*
 * Lockless, for a line that was found marked: a pin goes down only where a
 * mark was cleared, or in a reset, and a signal after either must find it so.
 */
bool kvm_arch_irq_line_is_up(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin;

	pin = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);
	if (pin >= 0 && !(READ_ONCE(ioapic->irr) & BIT(pin)))
		return false;

	pin = READ_ONCE(line->at[KVM_LINE_PIC].pin);
	if (pin >= 0 &&
	    !(READ_ONCE(pic->pics[pin >> 3].last_irr) & BIT(pin & 7)))
		return false;
	return true;
}

/* A line with a pin on the PIC too must not half succeed: leave it all. */
bool kvm_arch_irq_line_try_update(struct kvm_irq_line *line)
{
	if (READ_ONCE(line->routed) != BIT(KVM_LINE_IOAPIC))
		return false;

	return ioapic_try_update(line);
}

void kvm_arch_irq_line_update(struct kvm_irq_line *line)
{
	unsigned long routed = READ_ONCE(line->routed);

	if (routed & BIT(KVM_LINE_PIC))
		pic_update(line);
	if (routed & BIT(KVM_LINE_IOAPIC))
		ioapic_update(line);
}

/*
 * The IOAPIC pin that saw the EOI is left to kvm_ioapic_pin_eoi(), which comes
 * next and has the lock anyway.  Should the line leave that pin before, the
 * route change recomputes the new one, with the marks cleared already.
 */
void kvm_arch_irq_line_eoi(struct kvm_irq_line *line, int irqchip, int pin)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	unsigned long routed = READ_ONCE(line->routed);
	int here;

	if (routed & BIT(KVM_LINE_PIC)) {
		pic_lower_acked(line);
		pic_update(line);
	}

	here = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);
	if (here < 0 || (irqchip == KVM_IRQCHIP_IOAPIC && pin == here))
		return;

	spin_lock(&ioapic->lock);
	here = line->at[KVM_LINE_IOAPIC].pin;
	if (here >= 0)
		ioapic_pin_settle(ioapic, here);
	spin_unlock(&ioapic->lock);
}

/*
 * Routes.  The line moves between the pins' lists under the chip's lock, and
 * both pins are recomputed: the old one without the line, the new one with it.
 */

static void ioapic_route(struct kvm_irq_line *line, int pin)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	int old;

	spin_lock(&ioapic->lock);
	old = line->at[KVM_LINE_IOAPIC].pin;
	if (old != pin) {
		if (old >= 0) {
			hlist_del(&line->at[KVM_LINE_IOAPIC].link);
			ioapic_update_pin(ioapic, old);
		}
		WRITE_ONCE(line->at[KVM_LINE_IOAPIC].pin, pin);
		if (pin >= 0) {
			hlist_add_head(&line->at[KVM_LINE_IOAPIC].link,
				       &ioapic->lines[pin]);
			ioapic_update_pin(ioapic, pin);
		}
	}
	spin_unlock(&ioapic->lock);
}

static void pic_route(struct kvm_irq_line *line, int pin)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int old;

	spin_lock(&pic->lock);
	old = line->at[KVM_LINE_PIC].pin;
	if (old != pin) {
		if (old >= 0)
			hlist_del(&line->at[KVM_LINE_PIC].link);
		WRITE_ONCE(line->at[KVM_LINE_PIC].pin, pin);
		if (pin >= 0)
			hlist_add_head(&line->at[KVM_LINE_PIC].link,
				       &pic->lines[pin]);
	}
	spin_unlock(&pic->lock);

	if (old == pin)
		return;
	if (old >= 0)
		kvm_pic_set_irq(pic, old, KVM_IRQFD_RESAMPLE_IRQ_SOURCE_ID, 0);
	pic_update(line);
}

void kvm_arch_irq_line_route(struct kvm_irq_line *line,
			     struct kvm_kernel_irq_routing_entry *entries,
			     int n)
{
	struct kvm_kernel_irq_routing_entry *e;
	int pins[KVM_LINE_CHIPS] = { -1, -1 };
	unsigned long routed = 0;

	lockdep_assert_held(&line->kvm->irq_lock);

	for (e = entries; e < entries + n; e++) {
		int chip = KVM_LINE_PIC;

		if (e->type != KVM_IRQ_ROUTING_IRQCHIP)
			continue;
		if (e->irqchip.irqchip == KVM_IRQCHIP_IOAPIC)
			chip = KVM_LINE_IOAPIC;
		pins[chip] = e->irqchip.pin;
		routed |= BIT(chip);
	}

	WRITE_ONCE(line->routed, routed);
	/* Before the marks are read; pairs with the mark in irqfd_raise(). */
	smp_mb();

	ioapic_route(line, pins[KVM_LINE_IOAPIC]);
	pic_route(line, pins[KVM_LINE_PIC]);
}

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

/*
 * Whether the line may hold its pin on the chip up: by a mark, or by one that
 * an EOI has cleared without having come to recompute.
 */
static bool line_holds(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	bool marked = kvm_irq_line_marked(line);

	/* Pairs with test_and_clear_bit() in irqfd_ack(). */
	smp_rmb();
	return marked || READ_ONCE(line->at[chip].acked);
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

	if (!ioapic->level.atomic)
		return kvm_irq_delivery_to_apic(ioapic->kvm, NULL, irq, NULL);

	if (kvm_irq_delivery_to_apic_fast(ioapic->kvm, NULL, irq, &r, NULL))
		return r;

	ioapic->level.undelivered |= BIT(pin);
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
			ioapic->level.atomic = true;
			ioapic_update_pin(ioapic, pin);
			ioapic->level.atomic = false;
			done = !(ioapic->level.undelivered & BIT(pin));
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
		if (ioapic->level.undelivered & BIT(pin)) {
			ioapic->level.undelivered &= ~BIT(pin);
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

/* What the lines on a pin say at an EOI. */
struct pin_sources {
	bool irqfds;	/* there is somebody to follow */
	bool acked;	/* this EOI cleared a mark */
	bool marked;	/* somebody holds the pin */
	bool held;	/* of those, somebody whom no EOI lowers */
};

static void line_sources(struct kvm_irq_line *line, enum kvm_line_chip chip,
			 struct pin_sources *s)
{
	struct kvm_line_marks *m;
	unsigned long marked;

	for (m = &line->marks; m; m = READ_ONCE(m->next)) {
		marked = READ_ONCE(m->marked);
		s->marked |= !!marked;
		s->held |= !!(marked & ~READ_ONCE(m->sampled));
	}

	s->irqfds |= !!READ_ONCE(line->irqfds);
	if (READ_ONCE(line->at[chip].acked)) {
		WRITE_ONCE(line->at[chip].acked, false);
		s->acked = true;
	}
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
	struct pin_sources s = { .held = ioapic->irq_states[pin] };
	struct kvm_irq_line *line;

	lockdep_assert_held(&ioapic->lock);

	for_each_line_at_ioapic(line, ioapic, pin)
		line_sources(line, KVM_LINE_IOAPIC, &s);
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
		ioapic->level.eoi_masked |= BIT(pin);

	if (!hlist_empty(&ioapic->level.lines[pin]))
		ioapic_pin_settle(ioapic, pin);
}

/*
 * Ask those who can be asked, then let the pin follow its sources.
 *
 * The signals go out with the lock held and IRQs on.  The device's IRQ on this
 * CPU finds the lock taken and leaves its mark and a worker; the marks are read
 * after the signals.
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

/*
 * PIC.  kvm_pic_set_irq() recomputes a pin when it is told that the source ID
 * of resample irqfds, which nobody holds on a kernel with marks, is low.
 */

static enum kvm_line_chip pic_chip(int pin)
{
	return pin < 8 ? KVM_LINE_PIC_MASTER : KVM_LINE_PIC_SLAVE;
}

static struct kvm_irq_line *line_at_pic(struct hlist_node *node, int pin)
{
	if (pic_chip(pin) == KVM_LINE_PIC_MASTER)
		return container_of(node, struct kvm_irq_line,
				    at[KVM_LINE_PIC_MASTER].link);
	return container_of(node, struct kvm_irq_line,
			    at[KVM_LINE_PIC_SLAVE].link);
}

/* The slave first: the master latches its output, and would keep it. */
#define for_each_pic(chip)						\
	for (chip = KVM_LINE_PIC_SLAVE; chip >= KVM_LINE_PIC_MASTER; chip--)

#define for_each_line_at_pic(line, node, pic, pin)			\
	for (node = (pic)->level.lines[pin].first;				\
	     node && (line = line_at_pic(node, pin), true);		\
	     node = node->next)

bool kvm_pic_pin_marked(struct kvm_pic *pic, int pin)
{
	struct kvm_irq_line *line;
	struct hlist_node *node;

	lockdep_assert_held(&pic->lock);

	for_each_line_at_pic(line, node, pic, pin)
		if (kvm_irq_line_marked(line))
			return true;
	return false;
}

/*
 * Forget the level of an edge-programmed pin after an EOI that cleared marks,
 * as in ioapic_pin_settle().
 */
static void pic_lower_acked(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	struct pin_sources s = { };
	struct kvm_irq_line *other;
	struct hlist_node *node;
	int pin;

	spin_lock(&pic->lock);
	pin = line->at[chip].pin;
	if (pin >= 0) {
		s.held = pic->irq_states[pin];
		for_each_line_at_pic(other, node, pic, pin)
			line_sources(other, chip, &s);
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
		pic->level.eoi_masked |= BIT(pin);
}

/* Ask those who can be asked, then let a level pin follow its sources. */
static void pic_resample(struct kvm_pic *pic, int pin)
{
	struct kvm_kpic_state *s = &pic->pics[pin >> 3];
	struct kvm_irq_line *line;
	struct hlist_node *node;
	bool asked = false;
	int idx;

	idx = srcu_read_lock(&pic->kvm->irq_srcu);
	for_each_line_at_pic(line, node, pic, pin)
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
	bool asked = pic->level.eoi_masked & BIT(pin);

	lockdep_assert_held(&pic->lock);

	pic->level.eoi_masked &= ~BIT(pin);
	if (!mask && asked && (s->elcr & s->irr & BIT(pin & 7)))
		pic_resample(pic, pin);
}

/*
 * ICW1 (@reset) or a new ELCR has changed the pins of one chip: raise again
 * what irqfds hold.  The caller looks for an interrupt to deliver.
 */
void kvm_pic_follow_marks(struct kvm_kpic_state *s, bool reset)
{
	struct kvm_pic *pic = s->pics_state;
	int first = s == &pic->pics[0] ? 0 : 8, pin;

	lockdep_assert_held(&pic->lock);

	if (reset)
		pic->level.eoi_masked &= ~(0xff << first);

	for (pin = first; pin < first + 8; pin++)
		if (kvm_pic_pin_marked(pic, pin))
			pic_set_irq1(s, pin & 7, 1);
}

static void pic_update(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin = READ_ONCE(line->at[chip].pin);

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
 * A value that is read while the chip changes it costs a recomputation.
 */
bool kvm_arch_irq_line_is_up(struct kvm_irq_line *line)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin, chip;

	pin = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);
	if (pin >= 0 && !(data_race(ioapic->irr) & BIT(pin)))
		return false;

	for_each_pic(chip) {
		pin = READ_ONCE(line->at[chip].pin);
		if (pin >= 0 &&
		    !(data_race(pic->pics[pin >> 3].last_irr) & BIT(pin & 7)))
			return false;
	}
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
	int chip;

	for_each_pic(chip)
		if (routed & BIT(chip))
			pic_update(line, chip);
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
	int here, chip;

	for_each_pic(chip) {
		if (routed & BIT(chip)) {
			pic_lower_acked(line, chip);
			pic_update(line, chip);
		}
	}

	here = READ_ONCE(line->at[KVM_LINE_IOAPIC].pin);
	if (here < 0 || (irqchip == KVM_IRQCHIP_IOAPIC && pin == here))
		return;

	spin_lock(&ioapic->lock);
	here = line->at[KVM_LINE_IOAPIC].pin;
	if (here >= 0) {
		ioapic_pin_settle(ioapic, here);
		/* Up since the marks were cleared, or all along: deliver. */
		if (ioapic->irr & BIT(here) &&
		    ioapic->redirtbl[here].fields.trig_mode == IOAPIC_LEVEL_TRIG)
			ioapic_set_irq(ioapic, here, 1, false);
	}
	spin_unlock(&ioapic->lock);
}

/*
 * Routes.  The line moves between the pins' lists under the chip's lock, and
 * takes its marks along: the old pin is recomputed without it, the new one with
 * it.  A line that holds nothing touches neither: what a restored chip holds
 * pending is not ours to drop.  A mark that comes later recomputes by itself.
 */

static void ioapic_route(struct kvm_irq_line *line, int pin)
{
	struct kvm_ioapic *ioapic = line->kvm->arch.vioapic;
	bool holds;
	int old;

	spin_lock(&ioapic->lock);
	old = line->at[KVM_LINE_IOAPIC].pin;
	if (old != pin) {
		holds = line_holds(line, KVM_LINE_IOAPIC);
		WRITE_ONCE(line->at[KVM_LINE_IOAPIC].acked, false);
		if (old >= 0) {
			hlist_del(&line->at[KVM_LINE_IOAPIC].link);
			if (holds)
				ioapic_update_pin(ioapic, old);
		}
		WRITE_ONCE(line->at[KVM_LINE_IOAPIC].pin, pin);
		if (pin >= 0) {
			hlist_add_head(&line->at[KVM_LINE_IOAPIC].link,
				       &ioapic->level.lines[pin]);
			if (holds)
				ioapic_update_pin(ioapic, pin);
		}
	}
	spin_unlock(&ioapic->lock);
}

static void pic_route(struct kvm_irq_line *line, enum kvm_line_chip chip,
		      int pin)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	bool holds;
	int old;

	spin_lock(&pic->lock);
	holds = line_holds(line, chip);
	old = line->at[chip].pin;
	if (old != pin) {
		WRITE_ONCE(line->at[chip].acked, false);
		if (old >= 0)
			hlist_del(&line->at[chip].link);
		WRITE_ONCE(line->at[chip].pin, pin);
		if (pin >= 0)
			hlist_add_head(&line->at[chip].link, &pic->level.lines[pin]);
	}
	spin_unlock(&pic->lock);

	if (old == pin || !holds)
		return;
	if (old >= 0)
		kvm_pic_set_irq(pic, old, KVM_IRQFD_RESAMPLE_IRQ_SOURCE_ID, 0);
	pic_update(line, chip);
}

static enum kvm_line_chip line_chip(struct kvm_kernel_irq_routing_entry *e)
{
	if (e->irqchip.irqchip == KVM_IRQCHIP_IOAPIC)
		return KVM_LINE_IOAPIC;
	return pic_chip(e->irqchip.pin);
}

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
		chip = line_chip(e);
		pins[chip] = e->irqchip.pin;
		routed |= BIT(chip);
	}

	WRITE_ONCE(line->routed, routed);
	/* Before the marks are read; pairs with the mark in irqfd_raise(). */
	smp_mb();

	ioapic_route(line, pins[KVM_LINE_IOAPIC]);
	for_each_pic(chip)
		pic_route(line, chip, pins[chip]);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds: the PIC.
 *
 * The rules of level_pin.c, for the pins of both 8259s, which share pic->lock.
 *
 * Invariant: after a recomputation, a level-programmed pin's irr, and any pin's
 * last_irr, is set if a source holds the pin, and clear if none does.
 */

#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>

#include "irq.h"
#include "lapic.h"
#include "trace.h"

static_assert(KVM_LEVEL_PIC_PINS == PIC_NUM_PINS);

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

bool kvm_pic_pin_marked(struct kvm_pic *pic, int pin)
{
	struct hlist_node *node;

	lockdep_assert_held(&pic->lock);

	hlist_for_each(node, &pic->level.lines[pin])
		if (kvm_irq_line_marked(line_at_pic(node, pin)))
			return true;
	return false;
}

static __always_inline void pic_set_pin(struct kvm_pic *pic, int pin, bool up)
{
	struct kvm_kpic_state *s = &pic->pics[pin >> 3];
	int ret;

	ret = pic_set_irq1(s, pin & 7, up);
	trace_kvm_pic_set_irq(pin >> 3, pin & 7, s->elcr, s->imr, ret == 0);
}

static void pic_update_pin(struct kvm_pic *pic, int pin)
{
	lockdep_assert_held(&pic->lock);

	pic_set_pin(pic, pin,
		    pic->irq_states[pin] || kvm_pic_pin_marked(pic, pin));
}

/*
 * Any context.  The vCPU that takes the PIC's interrupts is the first one,
 * unless the guest is odd: then all vCPUs are walked, which is not for atomic
 * context.
 */
static bool pic_kick_first(struct kvm_pic *pic)
{
	struct kvm_vcpu *vcpu = kvm_get_vcpu(pic->kvm, 0);

	if (!vcpu || !kvm_apic_accept_pic_intr(vcpu))
		return false;

	kvm_make_request(KVM_REQ_EVENT, vcpu);
	kvm_vcpu_kick(vcpu);
	return true;
}

/* wakeup_needed is left to the worker's pic_unlock(), or any that comes first. */
static void pic_defer(struct kvm_pic *pic, int pin)
{
	struct hlist_node *node = pic->level.lines[pin].first;

	lockdep_assert_held(&pic->lock);

	if (node)
		kvm_irq_line_defer(line_at_pic(node, pin));
}

/* In a context that is, or may be, atomic. */
static noinline void pic_try_output(struct kvm_pic *pic, int pin)
{
	bool wakeup = pic->wakeup_needed;

	pic_update_irq(pic);
	if (!pic->wakeup_needed || wakeup)
		return;
	if (pic_kick_first(pic))
		pic->wakeup_needed = false;
	else
		pic_defer(pic, pin);
}

/*
 * A masked pin, as all are where the guest uses the IOAPIC, has no part in the
 * output.
 */
static __always_inline void pic_try_update_irq(struct kvm_pic *pic, int pin)
{
	if (!(pic->pics[pin >> 3].imr & BIT(pin & 7)))
		pic_try_output(pic, pin);
}

/* Any context, without the lock: see level_pin.c for the barriers. */
static void pic_drain(struct kvm_pic *pic)
{
	unsigned long pins;
	int pin;

	while (READ_ONCE(pic->level.posted) && spin_trylock(&pic->lock)) {
		pins = xchg(&pic->level.posted, 0);
		for_each_set_bit(pin, &pins, KVM_LEVEL_PIC_PINS) {
			pic_update_pin(pic, pin);
			pic_try_update_irq(pic, pin);
		}
		spin_unlock(&pic->lock);
		/* As in kvm_pic_unlock(). */
		smp_mb();
	}
}

/* pic_unlock() but for the kick of a vCPU, which may walk all. */
void kvm_pic_unlock(struct kvm_pic *pic)
	__releases(&pic->lock)
{
	preempt_disable();
	spin_unlock(&pic->lock);
	/* Pairs with smp_mb__after_atomic() in kvm_pic_line_assert(). */
	smp_mb();
	if (unlikely(READ_ONCE(pic->level.posted)))
		pic_drain(pic);
	preempt_enable();
}

bool kvm_pic_line_is_up(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin = READ_ONCE(line->at[chip].pin);

	if (pin < 0)
		return true;

	/* A torn value costs a recomputation, see kvm_arch_irq_line_is_up(). */
	return data_race(pic->pics[pin >> 3].last_irr) & BIT(pin & 7);
}

static void pic_assert(struct kvm_pic *pic, struct kvm_irq_line *line,
		       enum kvm_line_chip chip)
{
	int pin = line->at[chip].pin;

	if (pin < 0)
		return;

	/* Seldom is it not this line that holds the pin. */
	if (kvm_irq_line_marked(line))
		pic_set_pin(pic, pin, true);
	else
		pic_update_pin(pic, pin);
	pic_try_update_irq(pic, pin);
}

/* A free lock saves the atomic post.  The pin is read again under it. */
void kvm_pic_line_assert(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin;

	if (spin_trylock(&pic->lock)) {
		pic_assert(pic, line, chip);
		kvm_pic_unlock(pic);
		return;
	}

	pin = READ_ONCE(line->at[chip].pin);
	if (pin < 0)
		return;

	set_bit(pin, &pic->level.posted);
	/* Pairs with smp_mb() in kvm_pic_unlock() and pic_drain(). */
	smp_mb__after_atomic();
	preempt_disable();
	pic_drain(pic);
	preempt_enable();
}

void kvm_pic_line_update(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin;

	pic_lock(pic);
	pin = line->at[chip].pin;
	if (pin >= 0) {
		pic_update_pin(pic, pin);
		pic_update_irq(pic);
	}
	pic_unlock(pic);
}

/*
 * An edge-programmed pin was low for a moment if an EOI cleared its last mark,
 * as in ioapic_pin_settle(): forget its level.
 */
static void pic_lower_acked(struct kvm_pic *pic, int pin)
{
	struct kvm_pin_sources s = { .held = pic->irq_states[pin] };
	struct hlist_node *node;

	lockdep_assert_held(&pic->lock);

	hlist_for_each(node, &pic->level.lines[pin])
		kvm_irq_line_sources(line_at_pic(node, pin), pic_chip(pin), &s);
	if (s.acked && !s.held)
		pic->pics[pin >> 3].last_irr &= ~BIT(pin & 7);
}

void kvm_pic_line_eoi(struct kvm_irq_line *line, enum kvm_line_chip chip)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	int pin;

	pic_lock(pic);
	pin = line->at[chip].pin;
	if (pin >= 0) {
		pic_lower_acked(pic, pin);
		pic_update_pin(pic, pin);
		pic_update_irq(pic);
	}
	pic_unlock(pic);
}

/* pic->lock was dropped for the notification and is held again. */
void kvm_pic_pin_eoi(struct kvm_pic *pic, int pin)
{
	lockdep_assert_held(&pic->lock);

	if (pic->pics[pin >> 3].imr & BIT(pin & 7))
		pic->level.eoi_masked |= BIT(pin);
}

/* Ask those who can be asked, then let a level pin follow its sources. */
static void pic_resample(struct kvm_pic *pic, int pin)
{
	struct hlist_node *node;
	bool asked = false;
	int idx;

	idx = srcu_read_lock(&pic->kvm->irq_srcu);
	hlist_for_each(node, &pic->level.lines[pin])
		asked |= kvm_irq_line_resample(line_at_pic(node, pin));
	srcu_read_unlock(&pic->kvm->irq_srcu, idx);

	if (asked)
		pic_update_pin(pic, pin);
}

/*
 * As kvm_ioapic_pin_mask(); the caller then looks for an interrupt to deliver.
 * An edge-programmed pin keeps what it latched.
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
 * what irqfds hold.
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
	pic_update_irq(pic);
}

/* See kvm_arch_irq_line_route(). */
void kvm_pic_line_route(struct kvm_irq_line *line, enum kvm_line_chip chip,
			int pin)
{
	struct kvm_pic *pic = line->kvm->arch.vpic;
	bool held;
	int old;

	pic_lock(pic);
	old = line->at[chip].pin;
	if (old == pin)
		goto unlock;

	held = kvm_irq_line_holds(line, chip);
	clear_bit(chip, &line->acked);
	if (old >= 0) {
		hlist_del(&line->at[chip].link);
		if (held)
			pic_update_pin(pic, old);
	}

	WRITE_ONCE(line->at[chip].pin, pin);
	/* Pairs with the mark in irqfd_raise(). */
	smp_mb();
	if (pin >= 0) {
		hlist_add_head(&line->at[chip].link, &pic->level.lines[pin]);
		if (kvm_irq_line_marked(line))
			pic_update_pin(pic, pin);
	}
	pic_update_irq(pic);
unlock:
	pic_unlock(pic);
}

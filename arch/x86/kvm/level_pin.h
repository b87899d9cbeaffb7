/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the IOAPIC and the PIC keep for level_pin.c, and ask of it.  Included by
 * both chips' headers, before their structs.
 *
 * All fields and all calls are under the chip's lock.
 */
#ifndef __KVM_X86_LEVEL_PIN_H
#define __KVM_X86_LEVEL_PIN_H

#include <linux/types.h>

struct kvm_ioapic;
struct kvm_kpic_state;
struct kvm_lapic_irq;
struct kvm_pic;

#define KVM_LEVEL_IOAPIC_PINS	24
#define KVM_LEVEL_PIC_PINS	16

/* The masks have a bit for each pin. */
struct kvm_ioapic_level {
	struct hlist_head lines[KVM_LEVEL_IOAPIC_PINS];	/* struct kvm_irq_line */
	u32 pins_of[256];	/* by the vector in their RTE */
	u32 eoi_masked;		/* saw an EOI since it was masked */
	u32 undelivered;	/* left to a worker by an atomic caller */
	bool atomic;		/* the holder of lock must not walk all vCPUs */
};

struct kvm_pic_level {
	struct hlist_head lines[KVM_LEVEL_PIC_PINS];	/* struct kvm_irq_line */
	u16 eoi_masked;		/* pins that saw an EOI since they were masked */
};

bool kvm_ioapic_pin_marked(struct kvm_ioapic *ioapic, int pin);
int kvm_ioapic_deliver(struct kvm_ioapic *ioapic, int pin,
		       struct kvm_lapic_irq *irq);
void kvm_ioapic_index_pins(struct kvm_ioapic *ioapic);
void kvm_ioapic_pin_vector(struct kvm_ioapic *ioapic, int pin, u8 old_vector);
u32 kvm_ioapic_pin_stuck(struct kvm_ioapic *ioapic, int pin);
void kvm_ioapic_pin_eoi(struct kvm_ioapic *ioapic, int pin);
void kvm_ioapic_pin_mask(struct kvm_ioapic *ioapic, int pin, bool mask);
void kvm_ioapic_restored(struct kvm_ioapic *ioapic);

bool kvm_pic_pin_marked(struct kvm_pic *pic, int pin);
void kvm_pic_follow_marks(struct kvm_kpic_state *s, bool reset);
void kvm_pic_pin_eoi(struct kvm_pic *pic, int pin);
void kvm_pic_pin_mask(struct kvm_pic *pic, int pin, bool mask);

/* ioapic.c and i8259.c, for level_pin.c. */
int ioapic_set_irq(struct kvm_ioapic *ioapic, unsigned int irq, int irq_level,
		   bool line_status);
int ioapic_service(struct kvm_ioapic *ioapic, int irq, bool line_status);
int pic_set_irq1(struct kvm_kpic_state *s, int irq, int level);

#endif /* __KVM_X86_LEVEL_PIN_H */

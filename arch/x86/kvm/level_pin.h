/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the IOAPIC and the PIC keep for level irqfds, and ask of them.  Included
 * by both chips' headers, before their structs.
 */
#ifndef __KVM_X86_LEVEL_PIN_H
#define __KVM_X86_LEVEL_PIN_H

#include <linux/kvm.h>
#include <linux/types.h>

enum kvm_line_chip;
struct kvm_ioapic;
struct kvm_irq_line;
struct kvm_kpic_state;
struct kvm_lapic_irq;
struct kvm_pic;

#define KVM_LEVEL_PIC_PINS	16

/* The masks have a bit for each pin.  All under the chip's lock but posted. */
struct kvm_ioapic_level {
	/* Pins to recompute, from those who found the lock taken.  Atomic. */
	unsigned long posted;
	struct hlist_head lines[KVM_IOAPIC_NUM_PINS];	/* struct kvm_irq_line */
	u32 pins_of[256];	/* by the vector in their RTE */
	u32 eoi_masked;		/* saw an EOI since it was masked */
	u32 undelivered;	/* left to a worker by an atomic caller */
	bool atomic;		/* the holder of lock must not walk all vCPUs */
};

struct kvm_pic_level {
	unsigned long posted;	/* as above */
	struct hlist_head lines[KVM_LEVEL_PIC_PINS];	/* struct kvm_irq_line */
	u16 eoi_masked;		/* pins that saw an EOI since they were masked */
};

/* Hooks of the chips.  Under the chip's lock, which unlock drops. */
void kvm_ioapic_unlock(struct kvm_ioapic *ioapic) __releases(&ioapic->lock);
bool kvm_ioapic_pin_marked(struct kvm_ioapic *ioapic, int pin);
int kvm_ioapic_deliver(struct kvm_ioapic *ioapic, int pin,
		       struct kvm_lapic_irq *irq);
void kvm_ioapic_index_pins(struct kvm_ioapic *ioapic);
void kvm_ioapic_pin_vector(struct kvm_ioapic *ioapic, int pin, u8 old_vector);
u32 kvm_ioapic_pin_stuck(struct kvm_ioapic *ioapic, int pin);
void kvm_ioapic_pin_eoi(struct kvm_ioapic *ioapic, int pin);
void kvm_ioapic_pin_mask(struct kvm_ioapic *ioapic, int pin, bool mask);
void kvm_ioapic_restored(struct kvm_ioapic *ioapic);

void kvm_pic_unlock(struct kvm_pic *pic) __releases(&pic->lock);
bool kvm_pic_pin_marked(struct kvm_pic *pic, int pin);
void kvm_pic_follow_marks(struct kvm_kpic_state *s, bool reset);
void kvm_pic_pin_eoi(struct kvm_pic *pic, int pin);
void kvm_pic_pin_mask(struct kvm_pic *pic, int pin, bool mask);

/* ioapic.c and i8259.c, for the files below. */
int ioapic_set_irq(struct kvm_ioapic *ioapic, unsigned int irq, int irq_level,
		   bool line_status);
int ioapic_service(struct kvm_ioapic *ioapic, int irq, bool line_status);
void pic_lock(struct kvm_pic *pic) __acquires(&pic->lock);
void pic_unlock(struct kvm_pic *pic) __releases(&pic->lock);
int pic_set_irq1(struct kvm_kpic_state *s, int irq, int level);
void pic_update_irq(struct kvm_pic *s);

/*
 * level_ioapic.c and level_pic.c, for level_pin.c.  assert: any context; the
 * others: process or vCPU context without a chip's lock.
 */
bool kvm_ioapic_line_is_up(struct kvm_irq_line *line);
void kvm_ioapic_line_assert(struct kvm_irq_line *line);
void kvm_ioapic_line_update(struct kvm_irq_line *line);
void kvm_ioapic_line_eoi(struct kvm_irq_line *line);
void kvm_ioapic_line_route(struct kvm_irq_line *line, int pin);

bool kvm_pic_line_is_up(struct kvm_irq_line *line, enum kvm_line_chip chip);
void kvm_pic_line_assert(struct kvm_irq_line *line, enum kvm_line_chip chip);
void kvm_pic_line_update(struct kvm_irq_line *line, enum kvm_line_chip chip);
void kvm_pic_line_eoi(struct kvm_irq_line *line, enum kvm_line_chip chip);
void kvm_pic_line_route(struct kvm_irq_line *line, enum kvm_line_chip chip,
			int pin);

/* level_pin.c, for both: what the lines on a pin say at an EOI. */
struct kvm_pin_sources {
	bool irqfds;	/* there is somebody to follow */
	bool acked;	/* this EOI cleared a mark */
	bool marked;	/* somebody holds the pin */
	bool held;	/* of those, somebody whom no EOI lowers */
};

void kvm_irq_line_sources(struct kvm_irq_line *line, enum kvm_line_chip chip,
			  struct kvm_pin_sources *s);
bool kvm_irq_line_holds(struct kvm_irq_line *line, enum kvm_line_chip chip);

#endif /* __KVM_X86_LEVEL_PIN_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Level lines: what level irqfds, resample irqfds and eoifds of one GSI share.
 *
 * The rule behind everything: no path passes a level around.  A level or
 * resample irqfd owns one bit, its mark, that says whether it asserts its
 * line.  Whoever holds a chip's lock recomputes a pin of that chip from all
 * marks and from the other sources of the pin.  A recomputation that comes too
 * early, too late or twice is therefore harmless, as long as one follows each
 * change of a mark.
 */
#ifndef __LINUX_KVM_LEVEL_IRQFD_H
#define __LINUX_KVM_LEVEL_IRQFD_H

#include <linux/kvm.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct eventfd_ctx;
struct kvm;
struct kvm_irq_line;
struct kvm_kernel_eoifd;
struct kvm_kernel_irq_routing_entry;
struct kvm_kernel_irqfd;

/* eventfd.c; wqh->lock held, IRQs off. */
int irqfd_wakeup(wait_queue_entry_t *wait, unsigned int mode, int sync,
		 void *key);

#ifdef CONFIG_HAVE_KVM_LEVEL_IRQFD

/* The chips that can have a pin for a line; both PICs share a lock. */
enum kvm_line_chip {
	KVM_LINE_IOAPIC,
	KVM_LINE_PIC_MASTER,
	KVM_LINE_PIC_SLAVE,
	KVM_LINE_CHIPS,
};

/* The marks of up to BITS_PER_LONG irqfds of a line. */
struct kvm_line_marks {
	/* Who asserts the line.  Atomic bit operations, from any context. */
	unsigned long marked;
	/*
	 * Whose mark an EOI clears: resample irqfds, and level irqfds with an
	 * eoifd.  Written under resampler_lock.
	 */
	unsigned long sampled;
	/* Which bits have an owner.  resampler_lock. */
	unsigned long used;
	/* Update: resampler_lock.  Read: irq_srcu. */
	struct kvm_kernel_irqfd __rcu *irqfd[BITS_PER_LONG];
	/* Appended under resampler_lock; lives as long as the line. */
	struct kvm_line_marks *next;
};

struct kvm_irq_line {
	struct kvm *kvm;
	u32 gsi;
	/* Entry in kvm->irqfds.lines. */
	struct hlist_node link;
	/* Irqfds and eoifds on the line, and irqfds alone.  resampler_lock. */
	unsigned int users;
	unsigned int irqfds;
	/* Bit mask of enum kvm_line_chip.  Update: irq_lock. */
	unsigned long routed;
	/*
	 * Chips whose pin an EOI has yet to recompute, after it cleared marks.
	 * Set by the EOI, cleared by the chip.
	 */
	unsigned long acked;
	/* Pin on each chip or -1, and the entry in its list: the chip's lock. */
	struct {
		int pin;
		struct hlist_node link;
	} at[KVM_LINE_CHIPS];
	/* Resample irqfds, all notified at an EOI.  As kvm_line_marks.irqfd. */
	struct list_head resamplers;
	/* Eoifds without a level irqfd.  As kvm_line_marks.irqfd. */
	struct list_head eoifds;
	/* Recomputes all pins, for an atomic context that must not. */
	struct work_struct update;
	struct kvm_line_marks marks;
};

#define KVM_IRQFD_UNSENT	0

/* What an irqfd knows of its line; constant but for flags and eoifd. */
struct kvm_irqfd_source {
	struct kvm_irq_line *line;
	struct kvm_line_marks *marks;
	unsigned int bit;
	/* KVM_IRQFD_UNSENT: the worker has to send a signal without a mark. */
	unsigned long flags;
	struct list_head resampler_link;
	/* Update: resampler_lock.  Read: irq_srcu. */
	struct kvm_kernel_eoifd __rcu *eoifd;
};

/* The line's own callback keeps all others' free of it. */
wait_queue_func_t kvm_irqfd_wakeup_func(struct kvm_kernel_irqfd *irqfd);

/* Any context, hard IRQ included. */
bool kvm_irqfd_assert(struct kvm_kernel_irqfd *irqfd);

/* The irqfd's inject work. */
bool kvm_irqfd_inject_line(struct kvm_kernel_irqfd *irqfd);

/*
 * In the context of the EOI, under irq_srcu, with no chip's lock held.  The
 * chip's own code recomputes the pin that saw the EOI, all others are
 * recomputed here.  A negative @irqchip: the EOI is of no pin.
 */
void kvm_irq_line_eoi(struct kvm *kvm, int gsi, int irqchip, int pin);

/* Under irq_srcu, or a lock that keeps the line: see kvm->irqfds.lines. */
struct kvm_irq_line *kvm_irq_line_find(struct kvm *kvm, u32 gsi);

/* Any context, under the lock of a chip on which the line has a pin. */
void kvm_irq_line_defer(struct kvm_irq_line *line);

/* Tell who waits for the EOI: irq_srcu, any lock of a chip. */
void kvm_irq_line_notify(struct kvm *kvm, u32 gsi, struct eventfd_ctx *eventfd);

/* A pin of the line was unmasked; under irq_srcu, chip's lock held. */
bool kvm_irq_line_resample(struct kvm_irq_line *line);

/* Process context. */
bool kvm_irqfd_flags_valid(u32 flags);
int kvm_irq_line_attach(struct kvm_kernel_irqfd *irqfd, struct kvm_irqfd *args);
void kvm_irq_line_detach(struct kvm_kernel_irqfd *irqfd);
void kvm_irq_lines_init(struct kvm *kvm);
void kvm_irq_lines_reroute(struct kvm *kvm);
struct kvm_irq_line *kvm_irq_line_get(struct kvm *kvm, u32 gsi);
struct kvm_irq_line *kvm_irq_line_put(struct kvm_irq_line *line);
void kvm_irq_line_free(struct kvm_irq_line *line);

/* eoifd.c; process context, but the signal: irq_srcu, any lock of a chip. */
void kvm_eoifd_signal(struct kvm_kernel_eoifd *eoifd);
void kvm_eoifd_signal_all(struct kvm_irq_line *line);
void kvm_eoifd_orphan(struct kvm_kernel_irqfd *irqfd);
void kvm_eoifd_release(struct kvm *kvm);
int kvm_eoifd_ioctl(struct kvm *kvm, void __user *argp);

/* eventfd.c; shutdown of irqfds and eoifds. */
extern struct workqueue_struct *irqfd_cleanup_wq;

/*
 * The chips' half, arch/<arch>/kvm.  assert recomputes from any context, with
 * any lock of a chip held; is_up: any context.  update and eoi: process or vCPU
 * context without a chip's lock.  route: irq_lock.
 */
bool kvm_arch_irq_line_is_up(struct kvm_irq_line *line);
void kvm_arch_irq_line_assert(struct kvm_irq_line *line);
void kvm_arch_irq_line_update(struct kvm_irq_line *line);
void kvm_arch_irq_line_eoi(struct kvm_irq_line *line, int irqchip, int pin);
void kvm_arch_irq_line_route(struct kvm_irq_line *line,
			     struct kvm_kernel_irq_routing_entry *entries,
			     int n);

static inline bool kvm_irq_line_marked(struct kvm_irq_line *line)
{
	struct kvm_line_marks *m;

	for (m = &line->marks; m; m = READ_ONCE(m->next))
		if (READ_ONCE(m->marked))
			return true;
	return false;
}

/* Whether a mark is set that an EOI clears. */
static inline bool kvm_irq_line_sampled(struct kvm_irq_line *line)
{
	struct kvm_line_marks *m;

	for (m = &line->marks; m; m = READ_ONCE(m->next))
		if (READ_ONCE(m->marked) & READ_ONCE(m->sampled))
			return true;
	return false;
}

#else

struct kvm_irqfd_source { };

static inline wait_queue_func_t
kvm_irqfd_wakeup_func(struct kvm_kernel_irqfd *irqfd)
{
	return irqfd_wakeup;
}

static inline bool kvm_irqfd_assert(struct kvm_kernel_irqfd *irqfd)
{
	return false;
}

static inline bool kvm_irqfd_inject_line(struct kvm_kernel_irqfd *irqfd)
{
	return false;
}

static inline void kvm_irq_line_eoi(struct kvm *kvm, int gsi, int irqchip,
				    int pin) { }

static inline struct kvm_irq_line *kvm_irq_line_find(struct kvm *kvm, u32 gsi)
{
	return NULL;
}

static inline bool kvm_irqfd_flags_valid(u32 flags)
{
	return !(flags & ~(KVM_IRQFD_FLAG_DEASSIGN | KVM_IRQFD_FLAG_RESAMPLE));
}

static inline int kvm_irq_line_attach(struct kvm_kernel_irqfd *irqfd,
				      struct kvm_irqfd *args)
{
	return 0;
}

static inline void kvm_irq_line_detach(struct kvm_kernel_irqfd *irqfd) { }
static inline void kvm_irq_lines_init(struct kvm *kvm) { }
static inline void kvm_irq_lines_reroute(struct kvm *kvm) { }
static inline void kvm_eoifd_release(struct kvm *kvm) { }

#endif /* CONFIG_HAVE_KVM_LEVEL_IRQFD */

#endif /* __LINUX_KVM_LEVEL_IRQFD_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * When an eoifd is signalled, and when not.
 *
 * once_per_assertion	100 assertions, one signal each, each at its EOI
 * once_per_assertion_pic	the same, by the slave PIC
 * foreign_eoi		a bound eoifd does not hear the EOI of KVM_IRQ_LINE
 * each_eoi		an unbound one hears every EOI of its GSI, no other
 * many			50 unbound ones and a bound one on one GSI
 * line_redelivered	documented: KVM_IRQ_LINE and an unbound eoifd
 * close_bound		a closed eoifd makes the irqfd bare, the line stays up
 * close_unbound	a closed eoifd is gone
 * deassigned		a released eoifd is silent
 * at_once		case 4: signalled, and remote_irr 0, right after the EOI
 * chain		an eoifd that triggers another irqfd; a ring of two
 * same_gsi_ring	the same on one GSI
 * edge_ring	the same, the pin edge-programmed: no edge is lost in the EOI
 * edge_ring_pic	the same, by the slave PIC
 * edge_ring_dual	the same, GSI 10 taken by the IOAPIC, level on the PIC
 * dual_route		a GSI with two routes: one signal, from either chip
 */
#include "level_irqfd.h"

static void rounds(u32 gsi, bool pic)
{
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, gsi, pic);
	kvm_irqfd_level(li.vm, fd, gsi);
	kvm_eoifd_bind(li.vm, eoi, fd);
	for (i = 1; i <= 100; i++) {
		li_signal(fd);
		li_enter_isr(&li, i);
		LI_EQ(li_count(eoi), 0, "eoifd before the EOI");
		li.g->spins = 100;
		li_resume_to(&li, LI_IDLE);
		LI_EQ(li_count(eoi), 1, "eoifd after the EOI");
	}
	li_no_more(&li);
	LI_EQ(li.g->isr, 100, "interrupts");
	LI_EQ(li_count(eoi), 0, "eoifd at the end");
	li_line_is(&li, false);
}

static void once_per_assertion(void)
{
	rounds(20, false);
}

static void once_per_assertion_pic(void)
{
	rounds(10, true);
}

static void foreign_eoi(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	for (i = 1; i <= 10; i++) {
		li_irq_line(li.vm, 20, 1);
		li_enter_isr(&li, i);
		li_irq_line(li.vm, 20, 0);
		li_leave_isr(&li);
	}
	LI_EQ(li_count(eoi), 0, "eoifd after EOIs of KVM_IRQ_LINE");
	li_signal(fd);
	li_take(&li, 11);
	LI_EQ(li_count(eoi), 1, "eoifd after its own");
}

static void each_eoi(void)
{
	int fd = li_eventfd(), bound = li_eventfd(), eoi = li_eventfd();
	int other = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	LI_WANT(__kvm_eoifd(li.vm, eoi, 20, 0, 0), 0);
	LI_WANT(__kvm_eoifd(li.vm, other, 21, 0, 0), 0);
	/* Nobody else on the GSI. */
	li_irq_line(li.vm, 20, 1);
	li_enter_isr(&li, 1);
	li_irq_line(li.vm, 20, 0);
	LI_EQ(li_count(eoi), 0, "unbound eoifd before the EOI");
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "unbound eoifd after an EOI of KVM_IRQ_LINE");
	/* Beside a level irqfd. */
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, bound, fd);
	li_signal(fd);
	li_take(&li, 2);
	LI_EQ(li_count(eoi), 1, "unbound eoifd after an EOI of a level irqfd");
	LI_EQ(li_count(bound), 1, "bound eoifd");
	/* It lowers nothing: a bare irqfd stays up through it. */
	kvm_eoifd_unbind(li.vm, bound, fd);
	li_signal(fd);
	li_enter_isr(&li, 3);
	li_enter_isr(&li, 4);
	li_line_is(&li, true);
	LI_EQ(li_count(eoi), 1, "unbound eoifd, bare irqfd");
	kvm_irqfd_deassign(li.vm, fd, 20);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "unbound eoifd, last EOI");
	LI_EQ(li_count(other), 0, "eoifd of another GSI");
}

static void many(void)
{
	int fd = li_eventfd(), bound = li_eventfd(), eoi[50], i;
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, bound, fd);
	for (i = 0; i < ARRAY_SIZE(eoi); i++) {
		eoi[i] = li_eventfd();
		LI_WANT(__kvm_eoifd(li.vm, eoi[i], 20, 0, 0), 0);
	}
	li_signal(fd);
	li_take(&li, 1);
	for (i = 0; i < ARRAY_SIZE(eoi); i++) {
		LI_EQ(li_count(eoi[i]), 1, "unbound eoifd");
		if (i & 1)
			LI_WANT(__kvm_eoifd(li.vm, eoi[i], 20, KVM_EOIFD_FLAG_DEASSIGN, 0), 0);
	}
	li_signal(fd);
	li_take(&li, 2);
	for (i = 0; i < ARRAY_SIZE(eoi); i++)
		LI_EQ(li_count(eoi[i]), !(i & 1), "unbound eoifd, half of them released");
	LI_EQ(li_count(bound), 2, "bound eoifd");
}

static void line_redelivered(void)
{
	int eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	LI_WANT(__kvm_eoifd(li.vm, eoi, 20, 0, 0), 0);
	li_irq_line(li.vm, 20, 1);
	li_enter_isr(&li, 1);
	li_enter_isr(&li, 2);
	LI_EQ(li_count(eoi), 1, "unbound eoifd");
	li_line_is(&li, true);
	li_irq_line(li.vm, 20, 0);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "unbound eoifd");
	li_line_is(&li, false);
}

/* The close has been noticed as soon as the irqfd takes another eoifd. */
static int await_bind(struct li *li, int eoi, int fd)
{
	int i, err = 0;

	for (i = 0; i < 2000; i++) {
		err = __kvm_eoifd_bind(li->vm, eoi, fd);
		if (err != EBUSY)
			break;
		usleep(1000);
	}
	return err;
}

static void close_bound(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), next = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(fd);
	li_enter_isr(&li, 1);
	close(eoi);
	/* "It does not outlive its eventfd". */
	LI_WANT(await_bind(&li, next, fd), 0);
	kvm_eoifd_unbind(li.vm, next, fd);
	li_line_is(&li, true);
	li_enter_isr(&li, 2);
	li_enter_isr(&li, 3);
	li_line_is(&li, true);
	kvm_eoifd_bind(li.vm, next, fd);
	li_leave_isr(&li);
	li_line_is(&li, false);
	LI_EQ(li_count(next), 1, "the next eoifd");
	/* An orphan that is closed. */
	kvm_irqfd_deassign(li.vm, fd, 20);
	close(next);
	kvm_irqfd_level(li.vm, fd, 20);
	li_signal(fd);
	li_enter_isr(&li, 4);
	li_enter_isr(&li, 5);
	kvm_irqfd_deassign(li.vm, fd, 20);
	li_leave_isr(&li);
}

static void close_unbound(void)
{
	int eoi, i;
	struct li li;

	li_create(&li, 20, false);
	for (i = 1; i <= 20; i++) {
		eoi = li_eventfd();
		LI_WANT(__kvm_eoifd(li.vm, eoi, 20, 0, 0), 0);
		li_irq_line(li.vm, 20, 1);
		li_enter_isr(&li, i);
		li_irq_line(li.vm, 20, 0);
		close(eoi);
		li.g->spins = 100;
		li_resume_to(&li, LI_IDLE);
	}
	li_no_more(&li);
	li_line_is(&li, false);
}

static void deassigned(void)
{
	int fd = li_eventfd(), bound = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, bound, fd);
	LI_WANT(__kvm_eoifd(li.vm, eoi, 20, 0, 0), 0);
	li_signal(fd);
	li_enter_isr(&li, 1);
	LI_WANT(__kvm_eoifd(li.vm, eoi, 20, KVM_EOIFD_FLAG_DEASSIGN, 0), 0);
	kvm_eoifd_unbind(li.vm, bound, fd);
	kvm_irqfd_deassign(li.vm, fd, 20);
	li_leave_isr(&li);
	LI_EQ(li_count(bound), 0, "bound eoifd, released before the EOI");
	LI_EQ(li_count(eoi), 0, "unbound eoifd, released before the EOI");
	li_line_is(&li, false);
}

static void at_once(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li.g->isr_do = LI_ISR_EOI | LI_ISR_READ_RTE | LI_ISR_SYNC_AFTER;
	for (i = 1; i <= 20; i++) {
		li.g->rte = ~0;
		li_signal(fd);
		li_start(&li, i, LI_LONG);
		li_resume_to(&li, LI_AFTER_EOI);
		LI_EQ(li_count(eoi), 1, "eoifd one instruction after the EOI");
		LI_EQ(!!(li.g->rte & LI_RTE_REMOTE_IRR), 0, "remote_irr as the guest reads it");
		LI_EQ(li_pin_irr(li.vm, 20, false), 0, "irr one instruction after the EOI");
		li_resume_to(&li, LI_IDLE);
	}
}

static void chain(void)
{
	int a = li_eventfd(), b = li_eventfd(), end = li_eventfd(), i;
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_UNMASK, 21);
	kvm_irqfd_level(li.vm, a, 20);
	kvm_irqfd_level(li.vm, b, 21);
	kvm_eoifd_bind(li.vm, b, a);
	kvm_eoifd_bind(li.vm, end, b);
	li_signal(a);
	li_take(&li, 2);
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 20], 1, "interrupts of the first");
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 21], 1, "interrupts of the second");
	LI_EQ(li_count(end), 1, "eoifd of the second");
	/* A ring, until it is broken. */
	kvm_eoifd_unbind(li.vm, end, b);
	kvm_eoifd_bind(li.vm, a, b);
	li_signal(a);
	for (i = 3; i <= 42; i++)
		li_enter_isr(&li, i);
	kvm_irqfd_deassign(li.vm, a, 20);
	kvm_irqfd_deassign(li.vm, b, 21);
	li_leave_isr(&li);
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 21], 21, "interrupts of the second");
	li_pin_is(li.vm, 20, false, false);
	li_pin_is(li.vm, 21, false, false);
}

/* In each EOI one of the two asserts what the other has just let go. */
static void ring(u32 gsi, bool pic, bool edge)
{
	int a = li_eventfd(), b = li_eventfd(), i;
	struct li li;

	li_create(&li, gsi, pic);
	if (edge)
		li_do(&li, LI_EDGE, gsi);
	kvm_irqfd_level(li.vm, a, gsi);
	kvm_irqfd_level(li.vm, b, gsi);
	kvm_eoifd_bind(li.vm, b, a);
	kvm_eoifd_bind(li.vm, a, b);
	li_signal(a);
	for (i = 1; i <= 50; i++)
		li_enter_isr(&li, i);
	kvm_irqfd_deassign(li.vm, a, gsi);
	kvm_irqfd_deassign(li.vm, b, gsi);
	li_leave_isr(&li);
	li_line_is(&li, false);
}

static void same_gsi_ring(void)
{
	ring(20, false, false);
}

static void edge_ring(void)
{
	ring(20, false, true);
}

static void edge_ring_pic(void)
{
	ring(10, true, true);
}

static void edge_ring_dual(void)
{
	ring(10, false, true);
}

/* GSI 10 is taken by the PIC here, the IOAPIC's pin is masked, and back. */
static void dual_route(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), unbound = li_eventfd();
	struct li li;

	li_create(&li, 10, true);
	kvm_irqfd_level(li.vm, fd, 10);
	kvm_eoifd_bind(li.vm, eoi, fd);
	LI_WANT(__kvm_eoifd(li.vm, unbound, 10, 0, 0), 0);
	li_signal(fd);
	li_pin_is(li.vm, 10, true, true);
	li_pin_is(li.vm, 10, false, true);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "bound eoifd after the PIC's EOI");
	LI_EQ(li_count(unbound), 1, "unbound eoifd after the PIC's EOI");
	li_pin_is(li.vm, 10, true, false);
	li_pin_is(li.vm, 10, false, false);

	li_do(&li, LI_MASK, 10);
	li.g->pic = false;
	li_do(&li, LI_UNMASK, 10);
	li_signal(fd);
	li_take(&li, 2);
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 10], 1, "interrupts by the IOAPIC");
	LI_EQ(li_count(eoi), 1, "bound eoifd after the IOAPIC's EOI");
	LI_EQ(li_count(unbound), 1, "unbound eoifd after the IOAPIC's EOI");
	li_pin_is(li.vm, 10, true, false);
	li_pin_is(li.vm, 10, false, false);
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "once_per_assertion", once_per_assertion },
		{ "once_per_assertion_pic", once_per_assertion_pic },
		{ "foreign_eoi", foreign_eoi },
		{ "each_eoi", each_eoi },
		{ "many", many },
		{ "line_redelivered", line_redelivered },
		{ "close_bound", close_bound },
		{ "close_unbound", close_unbound },
		{ "deassigned", deassigned },
		{ "at_once", at_once },
		{ "chain", chain },
		{ "same_gsi_ring", same_gsi_ring },
		{ "edge_ring", edge_ring },
		{ "edge_ring_pic", edge_ring_pic },
		{ "edge_ring_dual", edge_ring_dual },
		{ "dual_route", dual_route },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

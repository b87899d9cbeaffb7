// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal of a level irqfd holds the line up until it is acknowledged.
 *
 * once_ioapic		GSI 20, IOAPIC alone: one ISR, up until the EOI
 * once_dual		GSI 10, PIC and IOAPIC, taken by the IOAPIC
 * once_pic_master	GSI 5, taken by the PIC
 * once_pic_slave	GSI 10, taken by the PIC
 * signal_twice		two signals before the EOI are one assertion
 * signal_in_service	a signal in the ISR of a marked irqfd adds nothing
 * bare			without eoifd: again after each EOI, until de-assigned
 * bare_pic		the same, taken by the PIC
 * bind_while_up	an eoifd bound to an asserted irqfd acknowledges it
 * pending_at_assign	a count that is pending at assign asserts at once
 * route_change		KVM_SET_GSI_ROUTING moves the line
 * route_in_service	the same between interrupt and EOI
 * route_removed	no route: the pin goes down; the next route takes the mark
 * route_msi		GSI routed to an MSI: a message a signal, no mark
 * unmask_injects	a bare irqfd asserted under the mask
 * storm		a line that nobody lowers leaves the guest time to run
 * busy			a line that is lowered and raised in each EOI is not slowed
 * chip_reset		after KVM_SET_IRQCHIP a signal asserts again
 * restored		what KVM_SET_IRQCHIP left pending is not dropped by others
 * pic_reset		a PIC pin follows the mark after ICW1 and an ELCR change
 */
#include "level_irqfd.h"

static void once(u32 gsi, bool pic)
{
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, gsi, pic);
	kvm_irqfd_level(li.vm, fd, gsi);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_no_more(&li);
	for (i = 1; i <= 5; i++) {
		li_signal(fd);
		li_line_is(&li, true);
		li_enter_isr(&li, i);
		li_line_is(&li, true);
		if (!pic)
			LI_EQ(li_remote_irr(li.vm, gsi), 1, "remote_irr before the EOI");
		LI_EQ(li_count(eoi), 0, "eoifd before the EOI");
		li_leave_isr(&li);
		LI_EQ(li_count(eoi), 1, "eoifd after the EOI");
		li_line_is(&li, false);
		if (gsi < 16)
			li_pin_is(li.vm, gsi, !pic, false);
		if (!pic)
			LI_EQ(li_remote_irr(li.vm, gsi), 0, "remote_irr after the EOI");
	}
	LI_EQ(li.g->per_vector[(pic ? LI_PIC_VECTOR : LI_IOAPIC_VECTOR) + gsi], 5,
	      "interrupts by the right vector");
	li_destroy(&li);
}

static void once_ioapic(void)
{
	once(20, false);
}

static void once_dual(void)
{
	once(10, false);
}

static void once_pic_master(void)
{
	once(5, true);
}

static void once_pic_slave(void)
{
	once(10, true);
}

static void signal_twice(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(fd);
	li_signal(fd);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd after two signals and one EOI");
	li_line_is(&li, false);
}

static void signal_in_service(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(fd);
	li_enter_isr(&li, 1);
	li_signal(fd);
	usleep(3000);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
	/* And not one lost after it. */
	li_signal(fd);
	li_take(&li, 2);
	LI_EQ(li_count(eoi), 1, "eoifd of the next");
}

static void bare_on(u32 gsi, bool pic)
{
	int fd = li_eventfd(), i;
	struct li li;

	li_create(&li, gsi, pic);
	kvm_irqfd_level(li.vm, fd, gsi);
	li_signal(fd);
	for (i = 1; i <= 10; i++) {
		li_enter_isr(&li, i);
		li_line_is(&li, true);
	}
	kvm_irqfd_deassign(li.vm, fd, gsi);
	LI_EQ(li_pin_irr(li.vm, gsi, pic), 0, "pin after the de-assign");
	li_leave_isr(&li);
	li_line_is(&li, false);
	li_signal(fd);
	li_no_more(&li);
}

static void bare(void)
{
	bare_on(20, false);
}

static void bare_pic(void)
{
	bare_on(10, true);
}

static void bind_while_up(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	li_signal(fd);
	li_enter_isr(&li, 1);
	li_enter_isr(&li, 2);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_line_is(&li, true);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
	/* Released, the irqfd is bare again. */
	kvm_eoifd_unbind(li.vm, eoi, fd);
	li_signal(fd);
	li_enter_isr(&li, 3);
	li_enter_isr(&li, 4);
	kvm_irqfd_deassign(li.vm, fd, 20);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 0, "eoifd after it was released");
}

static void pending_at_assign(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	li_signal(fd);
	li_signal(fd);
	kvm_irqfd_level(li.vm, fd, 20);
	li_line_is(&li, true);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
}

static void route_change(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_do(&li, LI_MASK, 20);
	li_signal(fd);
	li_line_is(&li, true);
	li_set_route(li.vm, 20, 21, false);
	li_pin_is(li.vm, 20, false, false);
	li_pin_is(li.vm, 21, false, true);
	/* The same table again changes nothing. */
	li_set_route(li.vm, 20, 21, false);
	li_pin_is(li.vm, 20, false, false);
	li_pin_is(li.vm, 21, false, true);
	li_do(&li, LI_UNMASK, 20);
	li_no_more(&li);
	li_do(&li, LI_UNMASK, 21);
	li_take(&li, 1);
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 21], 1, "interrupts of pin 21");
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_pin_is(li.vm, 21, false, false);
	/* From the new route. */
	li_signal(fd);
	li_take(&li, 2);
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 21], 2, "interrupts of pin 21");
	LI_EQ(li_count(eoi), 1, "eoifd");
}

static void route_in_service(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_do(&li, LI_UNMASK, 21);
	li_signal(fd);
	li_enter_isr(&li, 1);
	li_set_route(li.vm, 20, 21, false);
	li_pin_is(li.vm, 20, false, false);
	li_pin_is(li.vm, 21, false, true);
	/* Documented: a second interrupt, and the first EOI finds no GSI. */
	li_enter_isr(&li, 2);
	LI_EQ(li.g->per_vector[LI_IOAPIC_VECTOR + 21], 1, "interrupts of pin 21");
	LI_EQ(li_count(eoi), 0, "eoifd after the EOI of pin 20");
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "eoifd after the EOI of pin 21");
	li_pin_is(li.vm, 20, false, false);
	li_pin_is(li.vm, 21, false, false);
}

static void route_removed(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_do(&li, LI_MASK, 20);
	li_signal(fd);
	li_line_is(&li, true);
	li_set_route(li.vm, 22, 22, false);
	li_line_is(&li, false);
	li_signal(fd);
	li_line_is(&li, false);
	li_set_route(li.vm, 20, 20, false);
	li_line_is(&li, true);
	li_signal(fd);
	li_do(&li, LI_UNMASK, 20);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
}

static void route_msi(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, 20, false);
	li_set_route(li.vm, 20, 0, true);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	for (i = 1; i <= 5; i++) {
		li_signal(fd);
		li_take(&li, i);
	}
	LI_EQ(li.g->per_vector[LI_MSI_VECTOR], 5, "messages");
	LI_EQ(li_count(eoi), 0, "eoifd: an MSI has no EOI");
	li_set_route(li.vm, 20, 20, false);
	li_line_is(&li, false);
	li_signal(fd);
	li_take(&li, 6);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
}

static void unmask_injects(void)
{
	int fd = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	li_do(&li, LI_MASK, 20);
	li_signal(fd);
	li_line_is(&li, true);
	li_no_more(&li);
	LI_EQ(li.g->isr, 0, "interrupts under the mask");
	li_do(&li, LI_UNMASK, 20);
	li_enter_isr(&li, 1);
	li_enter_isr(&li, 2);
	kvm_irqfd_deassign(li.vm, fd, 20);
	li_leave_isr(&li);
}

/*
 * After 10,000 EOIs in a row the IOAPIC waits 10 ms, in which the guest's loop
 * runs, see eoi_inject.  Before that it does not.  No test waits for the end of
 * the 10 ms: under nested emulation the host's timer can be lost meanwhile.
 */
#define STORM_EOIS	10000
#define STORM_GAP	1000

static void storm(void)
{
	int fd = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	li_signal(fd);
	li_start(&li, LI_NEVER, STORM_GAP);
	li_resume_to(&li, LI_IDLE);
	TEST_ASSERT(li.g->isr >= STORM_EOIS, "interrupts: wanted %u, got %u", STORM_EOIS,
		    li.g->isr);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, fd, 20);
	/* One may be in the local APIC already. */
	li_start(&li, LI_NEVER, LI_SETTLE);
	li_resume_to(&li, LI_IDLE);
	li_no_more(&li);
	li_line_is(&li, false);
}

/* Each of the two asserts in the EOI of the other. */
static void busy(void)
{
	int a = li_eventfd(), b = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, a, 20);
	kvm_irqfd_level(li.vm, b, 20);
	kvm_eoifd_bind(li.vm, b, a);
	kvm_eoifd_bind(li.vm, a, b);
	li_signal(a);
	li_enter_isr(&li, 3 * STORM_EOIS);
	TEST_ASSERT(li.g->gap < STORM_GAP, "loops between interrupts: wanted few, got %lu",
		    (unsigned long)li.g->gap);
}

/* An irqchip reset behind a marked irqfd's back does not wedge the device. */
static void chip_reset(void)
{
	struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_IOAPIC };
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_do(&li, LI_MASK, 20);
	vm_ioctl(li.vm, KVM_GET_IRQCHIP, &chip);
	li_signal(fd);
	li_line_is(&li, true);
	vm_ioctl(li.vm, KVM_SET_IRQCHIP, &chip);
	li_signal(fd);
	li_line_is(&li, true);
	li_signal(fd);
	li_do(&li, LI_UNMASK, 20);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
}

/* A migrated device does not raise a line again that is up already. */
static void restored(void)
{
	struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_IOAPIC };
	int fd = li_eventfd(), bound = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	vm_ioctl(li.vm, KVM_GET_IRQCHIP, &chip);
	chip.chip.ioapic.irr |= BIT(20);
	vm_ioctl(li.vm, KVM_SET_IRQCHIP, &chip);
	li_line_is(&li, true);
	LI_WANT(__kvm_eoifd(li.vm, eoi, 20, 0, 0), 0);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, bound, fd);
	li_set_route(li.vm, 20, 20, false);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, fd, 20);
	LI_WANT(__kvm_eoifd(li.vm, eoi, 20, KVM_EOIFD_FLAG_DEASSIGN, 0), 0);
	li_line_is(&li, true);
	li_do(&li, LI_UNMASK, 20);
	li_enter_isr(&li, 1);
	li_irq_line(li.vm, 20, 0);
	li_leave_isr(&li);
	li_line_is(&li, false);
}

static void pic_reset(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 10, true);
	kvm_irqfd_level(li.vm, fd, 10);
	li_do(&li, LI_MASK, 10);
	li_do(&li, LI_EDGE, 10);
	li_signal(fd);
	li_line_is(&li, true);
	li_do(&li, LI_INIT_PIC, 10);
	li_line_is(&li, true);
	/* INTA takes the request of an edge pin; a level pin is up again. */
	li_do(&li, LI_UNMASK, 10);
	li_enter_isr(&li, 1);
	LI_EQ(li_pin_irr(li.vm, 10, true), 0, "edge pin after INTA");
	li_leave_isr(&li);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_do(&li, LI_LEVEL, 10);
	li_line_is(&li, true);
	li_take(&li, 2);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "once_ioapic", once_ioapic },
		{ "once_dual", once_dual },
		{ "once_pic_master", once_pic_master },
		{ "once_pic_slave", once_pic_slave },
		{ "signal_twice", signal_twice },
		{ "signal_in_service", signal_in_service },
		{ "bare", bare },
		{ "bare_pic", bare_pic },
		{ "bind_while_up", bind_while_up },
		{ "pending_at_assign", pending_at_assign },
		{ "route_change", route_change },
		{ "route_in_service", route_in_service },
		{ "route_removed", route_removed },
		{ "route_msi", route_msi },
		{ "unmask_injects", unmask_injects },
		{ "storm", storm },
		{ "busy", busy },
		{ "chip_reset", chip_reset },
		{ "restored", restored },
		{ "pic_reset", pic_reset },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

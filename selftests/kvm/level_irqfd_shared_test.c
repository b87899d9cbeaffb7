// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many sources of one line: what happens to one drops nothing of another.
 *
 * two_levels		an EOI acknowledges the marked ones only
 * deassign_one		a de-assign leaves what the other holds, and takes its own
 * two_levels_pic	both, by the slave PIC
 * bare_and_bound	an EOI does not lower a bare sharer
 * irq_line		KVM_IRQ_LINE and a level irqfd
 * irq_line_pic		the same, by the slave PIC
 * with_resample	RESAMPLE is told of each EOI, LEVEL of its own
 * resample_deassign	a de-assigned RESAMPLE irqfd takes its assertion along
 * plain		the pulse of a plain irqfd lowers nothing
 * two_pics		a GSI on a pin of each PIC raises both
 * two_pics_resample	the same, RESAMPLE
 * two_gsis		GSIs do not hear each other's EOI
 * thousand		1,000 level irqfds on one GSI
 */
#include <sys/resource.h>

#include "level_irqfd.h"

static void two_levels_on(u32 gsi, bool pic)
{
	int a = li_eventfd(), b = li_eventfd(), eoi_a = li_eventfd(), eoi_b = li_eventfd();
	struct li li;

	li_create(&li, gsi, pic);
	kvm_irqfd_level(li.vm, a, gsi);
	kvm_irqfd_level(li.vm, b, gsi);
	kvm_eoifd_bind(li.vm, eoi_a, a);
	kvm_eoifd_bind(li.vm, eoi_b, b);

	li_signal(a);
	li_take(&li, 1);
	LI_EQ(li_count(eoi_a), 1, "eoifd of the marked one");
	LI_EQ(li_count(eoi_b), 0, "eoifd of the other");

	li_signal(a);
	li_signal(b);
	li_take(&li, 2);
	LI_EQ(li_count(eoi_a), 1, "eoifd of the first of two marked");
	LI_EQ(li_count(eoi_b), 1, "eoifd of the second of two marked");

	/* Marked while the other is in service: acknowledged, too. */
	li_signal(a);
	li_enter_isr(&li, 3);
	li_signal(b);
	usleep(3000);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi_a), 1, "eoifd of the one in service");
	LI_EQ(li_count(eoi_b), 1, "eoifd of the one marked in service");
	li_line_is(&li, false);

	/* A de-assign in the ISR. */
	li_signal(a);
	li_signal(b);
	li_enter_isr(&li, 4);
	kvm_irqfd_deassign(li.vm, a, gsi);
	li_line_is(&li, true);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi_a), 0, "eoifd of the one that is gone");
	LI_EQ(li_count(eoi_b), 1, "eoifd of the one that is left");
	li_line_is(&li, false);
}

static void two_levels(void)
{
	two_levels_on(20, false);
}

static void two_levels_pic(void)
{
	two_levels_on(10, true);
}

static void deassign_one(void)
{
	int a = li_eventfd(), b = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	kvm_irqfd_level(li.vm, a, 20);
	kvm_irqfd_level(li.vm, b, 20);
	li_signal(a);
	li_signal(b);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, a, 20);
	li_line_is(&li, true);
	li_irq_line(li.vm, 20, 1);
	kvm_irqfd_deassign(li.vm, b, 20);
	li_line_is(&li, true);
	kvm_irqfd_level(li.vm, a, 20);
	li_irq_line(li.vm, 20, 0);
	li_line_is(&li, false);
	/* The one that asserted takes its assertion along, the other stays. */
	kvm_irqfd_level(li.vm, b, 20);
	li_signal(b);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, b, 20);
	LI_EQ(li_pin_irr(li.vm, 20, false), 0, "pin after the de-assign");
	/* One that was never marked lowers nothing either. */
	kvm_irqfd_level(li.vm, b, 20);
	li_signal(b);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, a, 20);
	li_line_is(&li, true);
	close(b);
	TEST_ASSERT(li_pin_becomes(li.vm, 20, false, false), "pin: wanted down, got up");
}

static void bare_and_bound(void)
{
	int bare = li_eventfd(), fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, bare, 20);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(bare);
	li_signal(fd);
	li_enter_isr(&li, 1);
	li_enter_isr(&li, 2);
	LI_EQ(li_count(eoi), 1, "eoifd after the first EOI");
	li_enter_isr(&li, 3);
	LI_EQ(li_count(eoi), 0, "eoifd after an EOI of the bare one");
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, bare, 20);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 0, "eoifd after the last EOI");
	li_line_is(&li, false);
}

static void irq_line_on(u32 gsi, bool pic)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, gsi, pic);
	kvm_irqfd_level(li.vm, fd, gsi);
	kvm_eoifd_bind(li.vm, eoi, fd);

	/* KVM_IRQ_LINE 0 does not lower what the irqfd holds. */
	li_signal(fd);
	li_line_is(&li, true);
	li_irq_line(li.vm, gsi, 0);
	li_line_is(&li, true);
	li_irq_line(li.vm, gsi, 1);
	li_irq_line(li.vm, gsi, 0);
	li_line_is(&li, true);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);

	/* The irqfd's EOI does not lower what KVM_IRQ_LINE holds. */
	li_irq_line(li.vm, gsi, 1);
	li_signal(fd);
	li_enter_isr(&li, 2);
	li_enter_isr(&li, 3);
	LI_EQ(li_count(eoi), 1, "eoifd after the first EOI");
	li_line_is(&li, true);
	li_irq_line(li.vm, gsi, 0);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 0, "eoifd after an EOI of KVM_IRQ_LINE");
	li_line_is(&li, false);

	/* Nor does its de-assign. */
	li_irq_line(li.vm, gsi, 1);
	li_signal(fd);
	kvm_irqfd_deassign(li.vm, fd, gsi);
	li_line_is(&li, true);
	li_irq_line(li.vm, gsi, 0);
	li_line_is(&li, false);
}

static void irq_line(void)
{
	irq_line_on(20, false);
}

static void irq_line_pic(void)
{
	irq_line_on(10, true);
}

static void with_resample(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	int res = li_eventfd(), notify = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	kvm_irqfd_resample(li.vm, res, 20, notify);

	li_signal(fd);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd, level irqfd marked");
	LI_EQ(li_count(notify), 1, "resamplefd, level irqfd marked");

	li_signal(res);
	li_take(&li, 2);
	LI_EQ(li_count(eoi), 0, "eoifd, resample irqfd marked");
	LI_EQ(li_count(notify), 1, "resamplefd, resample irqfd marked");

	li_signal(res);
	li_signal(fd);
	li_take(&li, 3);
	LI_EQ(li_count(eoi), 1, "eoifd, both marked");
	LI_EQ(li_count(notify), 1, "resamplefd, both marked");

	li_irq_line(li.vm, 20, 1);
	li_enter_isr(&li, 4);
	li_irq_line(li.vm, 20, 0);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 0, "eoifd, EOI of KVM_IRQ_LINE");
	LI_EQ(li_count(notify), 1, "resamplefd, EOI of KVM_IRQ_LINE");
	li_line_is(&li, false);
}

static void resample_deassign(void)
{
	int a = li_eventfd(), b = li_eventfd(), notify_a = li_eventfd(), notify_b = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	kvm_irqfd_resample(li.vm, a, 20, notify_a);
	kvm_irqfd_resample(li.vm, b, 20, notify_b);
	li_signal(a);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, b, 20);
	li_line_is(&li, true);
	kvm_irqfd_resample(li.vm, b, 20, notify_b);
	kvm_irqfd_deassign(li.vm, a, 20);
	li_line_is(&li, false);
	li_signal(b);
	li_line_is(&li, true);
	li_do(&li, LI_UNMASK, 20);
	li_take(&li, 1);
	LI_EQ(li_count(notify_a), 0, "resamplefd of the one that is gone");
	LI_EQ(li_count(notify_b), 1, "resamplefd of the one that is left");
	li_line_is(&li, false);
}

static void plain(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), pulse = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	LI_WANT(__kvm_irqfd(li.vm, pulse, 20, 0, 0), 0);
	li_signal(pulse);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 0, "eoifd after the EOI of a pulse");
	li_line_is(&li, false);

	li_signal(fd);
	li_enter_isr(&li, 2);
	li_signal(pulse);
	usleep(3000);
	li_line_is(&li, true);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_line_is(&li, false);
	kvm_irqfd_deassign(li.vm, pulse, 20);
}

static void two_gsis(void)
{
	int a = li_eventfd(), b = li_eventfd(), eoi_a = li_eventfd(), eoi_b = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, a, 20);
	kvm_irqfd_level(li.vm, b, 21);
	kvm_eoifd_bind(li.vm, eoi_a, a);
	kvm_eoifd_bind(li.vm, eoi_b, b);
	li_signal(b);
	li_signal(a);
	li_take(&li, 1);
	LI_EQ(li_count(eoi_a), 1, "eoifd of GSI 20");
	LI_EQ(li_count(eoi_b), 0, "eoifd of GSI 21");
	li_pin_is(li.vm, 21, false, true);
	li_do(&li, LI_UNMASK, 21);
	li_take(&li, 2);
	LI_EQ(li_count(eoi_a), 0, "eoifd of GSI 20");
	LI_EQ(li_count(eoi_b), 1, "eoifd of GSI 21");
}

#define HORDE	1000

static void thousand(void)
{
	struct rlimit limit = { 2048, 4096 };
	int fd[HORDE], eoi[HORDE], i, j;
	struct li li;

	setrlimit(RLIMIT_NOFILE, &limit);
	li_create(&li, 20, false);
	for (i = 0; i < HORDE; i++) {
		fd[i] = li_eventfd();
		eoi[i] = li_eventfd();
		kvm_irqfd_level(li.vm, fd[i], 20);
		kvm_eoifd_bind(li.vm, eoi[i], fd[i]);
	}
	for (i = 0; i < HORDE; i++)
		li_signal(fd[i]);
	li_take(&li, 1);
	for (i = 0; i < HORDE; i++)
		LI_EQ(li_count(eoi[i]), 1, "eoifd, all marked");
	li_line_is(&li, false);
	for (i = 0; i < HORDE; i += 37) {
		li_signal(fd[i]);
		li_enter_isr(&li, li.g->isr + 1);
		li.g->spins = 100;
		li_resume_to(&li, LI_IDLE);
		for (j = 0; j < HORDE; j++)
			LI_EQ(li_count(eoi[j]), i == j, "eoifd, one marked");
	}
	/* They hold it up together, down to the last. */
	li_do(&li, LI_MASK, 20);
	for (i = 0; i < HORDE; i++)
		li_signal(fd[i]);
	li_line_is(&li, true);
	for (i = 0; i < HORDE; i++) {
		LI_EQ(li_pin_irr(li.vm, 20, false), 1, "pin while one is left");
		kvm_irqfd_deassign(li.vm, fd[i], 20);
	}
	li_line_is(&li, false);
}

static void two_pics_by(bool resample)
{
	struct kvm_irq_routing *table;
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, 10, true);
	li_do(&li, LI_MASK, 10);
	table = calloc(1, sizeof(*table) + 2 * sizeof(table->entries[0]));
	TEST_ASSERT(table, "out of memory");
	table->nr = 2;
	for (i = 0; i < 2; i++) {
		table->entries[i].gsi = 5;
		table->entries[i].type = KVM_IRQ_ROUTING_IRQCHIP;
		table->entries[i].u.irqchip.irqchip = i ? KVM_IRQCHIP_PIC_SLAVE :
						      KVM_IRQCHIP_PIC_MASTER;
		table->entries[i].u.irqchip.pin = i ? 2 : 5;
	}
	vm_ioctl(li.vm, KVM_SET_GSI_ROUTING, table);
	free(table);
	if (resample) {
		kvm_irqfd_resample(li.vm, fd, 5, eoi);
	} else {
		kvm_irqfd_level(li.vm, fd, 5);
		kvm_eoifd_bind(li.vm, eoi, fd);
	}
	li_signal(fd);
	li_pin_is(li.vm, 5, true, true);
	li_pin_is(li.vm, 10, true, true);
	/* Acknowledged by one, lowered on both. */
	li_do(&li, LI_UNMASK, 10);
	li_take(&li, 1);
	LI_EQ(li_count(eoi), 1, "eoifd");
	li_pin_is(li.vm, 5, true, false);
	li_pin_is(li.vm, 10, true, false);
	kvm_irqfd_deassign(li.vm, fd, 5);
}

static void two_pics(void)
{
	two_pics_by(false);
}

static void two_pics_resample(void)
{
	two_pics_by(true);
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "two_levels", two_levels },
		{ "deassign_one", deassign_one },
		{ "two_levels_pic", two_levels_pic },
		{ "bare_and_bound", bare_and_bound },
		{ "irq_line", irq_line },
		{ "irq_line_pic", irq_line_pic },
		{ "with_resample", with_resample },
		{ "resample_deassign", resample_deassign, true },
		{ "plain", plain },
		{ "two_pics", two_pics },
		{ "two_pics_resample", two_pics_resample, true },
		{ "two_gsis", two_gsis },
		{ "thousand", thousand },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

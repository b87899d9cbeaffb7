// SPDX-License-Identifier: GPL-2.0-only
/*
 * Masked pins, oneshot guests and edge-programmed pins.
 *
 * Each of these runs for LEVEL and RESAMPLE on the IOAPIC, and on the PIC:
 *
 * masked		asserted under the mask, delivered at the unmask, once
 * oneshot_quiet	EOI under the mask, signal, device quiet: the unmask
 *			re-samples and injects nothing
 * oneshot_busy		the same, device still up: the unmask re-samples, the
 *			device signals again, one interrupt
 * oneshot_idle		no signal under the mask: the unmask is silent
 * stale_once		a mark without an EOI under this mask is injected, not
 *			re-sampled, whatever an earlier mask has seen
 *
 * bare_oneshot		a bare level irqfd is injected at the unmask
 * own_chip		an EOI on the PIC does not make the IOAPIC's pin stale
 * irq_line_unmask	the unmask keeps what KVM_IRQ_LINE holds, LEVEL
 * irq_line_resample	the same, RESAMPLE
 * edge			edge-programmed pin: one interrupt, one eoifd a round
 * edge_resample	the same, RESAMPLE
 * edge_masked		asserted under the mask, delivered at the unmask; masked and
 *			unmasked in service, delivered once
 */
#include "level_irqfd.h"

static const struct li_kind level = { 20, false, false };
static const struct li_kind resample = { 20, false, true };
static const struct li_kind pic = { 10, true, false };
static const struct li_kind pic_resample = { 10, true, true };

struct dev {
	struct li li;
	int fd, eoi;
};

static void dev_create(struct dev *dev, const struct li_kind *kind)
{
	dev->fd = li_eventfd();
	dev->eoi = li_eventfd();
	li_create(&dev->li, kind->gsi, kind->pic);
	if (kind->resample) {
		kvm_irqfd_resample(dev->li.vm, dev->fd, kind->gsi, dev->eoi);
	} else {
		kvm_irqfd_level(dev->li.vm, dev->fd, kind->gsi);
		kvm_eoifd_bind(dev->li.vm, dev->eoi, dev->fd);
	}
}

static void masked(const struct li_kind *kind)
{
	struct dev dev;
	int i;

	dev_create(&dev, kind);
	for (i = 1; i <= 5; i++) {
		li_do(&dev.li, LI_MASK, kind->gsi);
		li_signal(dev.fd);
		li_line_is(&dev.li, true);
		li_no_more(&dev.li);
		LI_EQ(li_count(dev.eoi), 0, "eoifd under the mask");
		li_do(&dev.li, LI_UNMASK, kind->gsi);
		LI_EQ(li_count(dev.eoi), 0, "eoifd at the unmask");
		li_take(&dev.li, i);
		LI_EQ(li_count(dev.eoi), 1, "eoifd after the EOI");
		li_line_is(&dev.li, false);
	}
}

/* Interrupt @n: ack, mask, EOI. */
static void take_oneshot(struct dev *dev, u32 n)
{
	dev->li.g->isr_do = LI_ISR_MASK | LI_ISR_EOI;
	li_signal(dev->fd);
	li_take(&dev->li, n);
	LI_EQ(li_count(dev->eoi), 1, "eoifd after the EOI under the mask");
	li_line_is(&dev->li, false);
}

static void oneshot_quiet(const struct li_kind *kind)
{
	struct dev dev;
	int i;

	dev_create(&dev, kind);
	for (i = 1; i <= 5; i++) {
		take_oneshot(&dev, i);
		li_signal(dev.fd);
		li_line_is(&dev.li, true);
		LI_EQ(li_count(dev.eoi), 0, "eoifd under the mask");
		li_do(&dev.li, LI_UNMASK, kind->gsi);
		li_no_more(&dev.li);
		LI_EQ(dev.li.g->isr, i, "interrupts after the unmask");
		LI_EQ(li_count(dev.eoi), 1, "eoifd after the unmask");
		li_line_is(&dev.li, false);
	}
}

static void oneshot_busy(const struct li_kind *kind)
{
	struct dev dev;
	int i;

	dev_create(&dev, kind);
	for (i = 1; i <= 9; i += 2) {
		take_oneshot(&dev, i);
		li_signal(dev.fd);
		li_line_is(&dev.li, true);
		li_do(&dev.li, LI_UNMASK, kind->gsi);
		LI_EQ(li_count(dev.eoi), 1, "eoifd after the unmask");
		dev.li.g->isr_do = LI_ISR_EOI;
		li_signal(dev.fd);
		li_take(&dev.li, i + 1);
		LI_EQ(li_count(dev.eoi), 1, "eoifd after the second interrupt");
		li_line_is(&dev.li, false);
	}
}

static void oneshot_idle(const struct li_kind *kind)
{
	struct dev dev;
	int i;

	dev_create(&dev, kind);
	for (i = 1; i <= 5; i++) {
		take_oneshot(&dev, i);
		li_do(&dev.li, LI_UNMASK, kind->gsi);
		li_no_more(&dev.li);
		LI_EQ(dev.li.g->isr, i, "interrupts after the unmask");
		LI_EQ(li_count(dev.eoi), 0, "eoifd after the unmask");
	}
}

static void stale_once(const struct li_kind *kind)
{
	struct dev dev;

	dev_create(&dev, kind);
	take_oneshot(&dev, 1);
	li_do(&dev.li, LI_UNMASK, kind->gsi);
	li_no_more(&dev.li);
	LI_EQ(li_count(dev.eoi), 0, "eoifd after the first unmask");
	/* No EOI under this second mask. */
	li_do(&dev.li, LI_MASK, kind->gsi);
	li_signal(dev.fd);
	li_line_is(&dev.li, true);
	li_do(&dev.li, LI_UNMASK, kind->gsi);
	LI_EQ(li_count(dev.eoi), 0, "eoifd after the second unmask");
	dev.li.g->isr_do = LI_ISR_EOI;
	li_take(&dev.li, 2);
	LI_EQ(li_count(dev.eoi), 1, "eoifd after the EOI");
	li_line_is(&dev.li, false);
}

static void bare_oneshot(void)
{
	int fd = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	li.g->isr_do = LI_ISR_MASK | LI_ISR_EOI;
	li_signal(fd);
	li_take(&li, 1);
	li_line_is(&li, true);
	li_do(&li, LI_UNMASK, 20);
	li_take(&li, 2);
	li_line_is(&li, true);
	kvm_irqfd_deassign(li.vm, fd, 20);
	li_do(&li, LI_UNMASK, 20);
	li_no_more(&li);
	li_line_is(&li, false);
}

static void own_chip(void)
{
	struct dev dev;

	dev_create(&dev, &pic);
	li_signal(dev.fd);
	li_take(&dev.li, 1);
	LI_EQ(li_count(dev.eoi), 1, "eoifd after the PIC's EOI");
	li_do(&dev.li, LI_MASK, 10);
	li_signal(dev.fd);
	li_pin_is(dev.li.vm, 10, false, true);
	/* The guest changes over to the IOAPIC, whose pin was masked so far. */
	dev.li.g->pic = false;
	li_do(&dev.li, LI_UNMASK, 10);
	LI_EQ(li_count(dev.eoi), 0, "eoifd after the unmask of the IOAPIC's pin");
	li_take(&dev.li, 2);
	LI_EQ(dev.li.g->per_vector[LI_IOAPIC_VECTOR + 10], 1, "interrupts by the IOAPIC");
	LI_EQ(li_count(dev.eoi), 1, "eoifd after the IOAPIC's EOI");
}

static void line_unmask(const struct li_kind *kind)
{
	struct dev dev;
	struct kvm_vm *vm;

	dev_create(&dev, kind);
	vm = dev.li.vm;
	/* KVM_IRQ_LINE alone, then with a stale irqfd. */
	li_do(&dev.li, LI_MASK, kind->gsi);
	li_irq_line(vm, kind->gsi, 1);
	li_line_is(&dev.li, true);
	li_do(&dev.li, LI_UNMASK, kind->gsi);
	li_line_is(&dev.li, true);
	li_enter_isr(&dev.li, 1);
	li_irq_line(vm, kind->gsi, 0);
	li_leave_isr(&dev.li);
	li_count(dev.eoi);

	take_oneshot(&dev, 2);
	li_irq_line(vm, kind->gsi, 1);
	li_signal(dev.fd);
	li_line_is(&dev.li, true);
	li_do(&dev.li, LI_UNMASK, kind->gsi);
	LI_EQ(li_count(dev.eoi), 1, "eoifd after the unmask");
	li_line_is(&dev.li, true);
	dev.li.g->isr_do = LI_ISR_EOI;
	li_enter_isr(&dev.li, 3);
	li_irq_line(vm, kind->gsi, 0);
	li_leave_isr(&dev.li);
	li_line_is(&dev.li, false);
}

static void edge_rounds(const struct li_kind *kind)
{
	struct dev dev;
	int i;

	dev_create(&dev, kind);
	li_do(&dev.li, LI_EDGE, kind->gsi);
	for (i = 1; i <= 100; i++) {
		li_signal(dev.fd);
		li_start(&dev.li, i, LI_LONG);
		li_resume_to(&dev.li, LI_IDLE);
		LI_EQ(dev.li.g->isr, i, "interrupts of an edge pin");
		LI_EQ(li_count(dev.eoi), 1, "eoifd of an edge pin");
	}
	li_no_more(&dev.li);
	li_line_is(&dev.li, false);
	/* Back to level. */
	li_do(&dev.li, LI_LEVEL, kind->gsi);
	li_no_more(&dev.li);
	li_signal(dev.fd);
	li_take(&dev.li, 101);
	LI_EQ(li_count(dev.eoi), 1, "eoifd of a level pin");
}

static void edge_masked(void)
{
	struct dev dev;
	int i;

	dev_create(&dev, &level);
	li_do(&dev.li, LI_EDGE, 20);
	dev.li.g->isr_do = LI_ISR_REMASK | LI_ISR_EOI;
	for (i = 1; i <= 5; i++) {
		li_do(&dev.li, LI_MASK, 20);
		li_signal(dev.fd);
		li_no_more(&dev.li);
		li_do(&dev.li, LI_UNMASK, 20);
		li_enter_isr(&dev.li, i);
		li_leave_isr(&dev.li);
		LI_EQ(li_count(dev.eoi), 1, "eoifd");
	}
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "bare_oneshot", bare_oneshot },
		{ "masked_level", NULL, false, masked, &level },
		{ "masked_resample", NULL, true, masked, &resample },
		{ "masked_pic", NULL, false, masked, &pic },
		{ "masked_pic_resample", NULL, true, masked, &pic_resample },
		{ "oneshot_quiet_level", NULL, false, oneshot_quiet, &level },
		{ "oneshot_quiet_resample", NULL, true, oneshot_quiet, &resample },
		{ "oneshot_quiet_pic", NULL, false, oneshot_quiet, &pic },
		{ "oneshot_quiet_pic_resample", NULL, true, oneshot_quiet, &pic_resample },
		{ "oneshot_busy_level", NULL, false, oneshot_busy, &level },
		{ "oneshot_busy_resample", NULL, true, oneshot_busy, &resample },
		{ "oneshot_busy_pic", NULL, false, oneshot_busy, &pic },
		{ "oneshot_busy_pic_resample", NULL, true, oneshot_busy, &pic_resample },
		{ "oneshot_idle_level", NULL, false, oneshot_idle, &level },
		{ "oneshot_idle_resample", NULL, true, oneshot_idle, &resample },
		{ "oneshot_idle_pic", NULL, false, oneshot_idle, &pic },
		{ "oneshot_idle_pic_resample", NULL, true, oneshot_idle, &pic_resample },
		{ "stale_once_level", NULL, false, stale_once, &level },
		{ "stale_once_resample", NULL, true, stale_once, &resample },
		{ "stale_once_pic", NULL, false, stale_once, &pic },
		{ "stale_once_pic_resample", NULL, true, stale_once, &pic_resample },
		{ "own_chip", own_chip },
		{ "irq_line_unmask", NULL, false, line_unmask, &level },
		{ "irq_line_resample", NULL, true, line_unmask, &resample },
		{ "edge", NULL, false, edge_rounds, &level },
		{ "edge_resample", NULL, true, edge_rounds, &resample },
		{ "edge_masked", edge_masked },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

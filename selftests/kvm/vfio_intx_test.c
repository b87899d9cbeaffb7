// SPDX-License-Identifier: GPL-2.0-only
/*
 * The INTx of an assigned PCI device (QEMU's edu), from the device's register
 * to the guest's ISR and back, through a RESAMPLE irqfd and through a LEVEL
 * irqfd with an eoifd; the last one's subtests skip on a kernel without them.
 *
 * thousand	1,000 interrupts are 1,000 ISR runs, and then all is quiet
 * dual		the same on GSI 10, which has a PIC and an IOAPIC route
 * held		N EOIs with the line still up are N more ISR runs
 * masked	what the device raises under the mask comes at unmask
 * oneshot	EOI under the mask, device quiet at unmask: no spurious interrupt
 * oneshot_busy	EOI under the mask, device still up at unmask: it is not lost
 * withdrawn	raised and acknowledged under the mask, behind no EOI
 * gone_masked	de-assign while asserted, masked: the line goes down
 * gone_served	de-assign between interrupt and EOI: the line goes down
 * again	a new irqfd works after a de-assign while asserted
 * eoifd_first	the eoifd goes first: the line stays up until the irqfd goes
 */
#include "vfio_intx.h"

#define VI_INTERRUPTS	1000
#define VI_HELD		100

/* Guest side. */

static void guest_thousand(void)
{
	u32 i;

	vi_start();
	for (i = 1; i <= VI_INTERRUPTS; i++) {
		vi_raise();
		vi_wait(i);
	}
	vi_quiet(VI_INTERRUPTS);
	GUEST_DONE();
}

static void guest_held(void)
{
	vi_start();
	vi_guest.hold = VI_HELD;
	vi_raise();
	vi_wait(VI_HELD + 1);
	vi_quiet(VI_HELD + 1);
	GUEST_DONE();
}

static void guest_masked(void)
{
	vi_start();
	vi_rte(LI_RTE_MASKED);
	vi_raise();
	vi_quiet(0);
	vi_rte(0);
	vi_wait(1);
	vi_quiet(1);
	vi_raise();
	vi_wait(2);
	vi_quiet(2);
	GUEST_DONE();
}

/* The device is acknowledged behind the EOI, as a threaded handler does. */
static void guest_oneshot(void)
{
	vi_start();
	vi_guest.mask = 1;
	vi_guest.hold = 1;
	vi_raise();
	vi_wait(1);
	vi_quiet(1);
	vi_guest.mask = 0;
	edu_write(EDU_ACK, 1);
	vi_rte(0);
	vi_quiet(1);
	vi_raise();
	vi_wait(2);
	vi_quiet(2);
	GUEST_DONE();
}

static void guest_oneshot_busy(void)
{
	vi_start();
	vi_guest.mask = 1;
	vi_guest.hold = 1;
	vi_raise();
	vi_wait(1);
	vi_quiet(1);
	vi_guest.mask = 0;
	vi_rte(0);
	vi_wait(2);
	vi_quiet(2);
	GUEST_DONE();
}

/*
 * The line fell with nobody told: whether the interrupt still comes at unmask
 * depends on the kind of irqfd, but the next one must come in any case.
 */
static void guest_withdrawn(void)
{
	u32 before;

	vi_start();
	vi_rte(LI_RTE_MASKED);
	vi_raise();
	vi_quiet(0);
	edu_write(EDU_ACK, 1);
	vi_rte(0);
	GUEST_SYNC(VI_STEP);
	before = vi_guest.isr;
	GUEST_ASSERT(before <= 1);
	vi_raise();
	vi_wait(before + 1);
	vi_quiet(before + 1);
	GUEST_DONE();
}

static void guest_gone_masked(void)
{
	vi_start();
	vi_rte(LI_RTE_MASKED);
	vi_raise();
	GUEST_SYNC(VI_STEP);
	vi_rte(0);
	vi_quiet(0);
	GUEST_DONE();
}

static void guest_gone_served(void)
{
	vi_start();
	vi_guest.sync = 1;
	vi_guest.hold = 1;
	vi_raise();
	vi_wait(1);
	vi_quiet(1);
	GUEST_DONE();
}

static void guest_again(void)
{
	vi_start();
	vi_rte(LI_RTE_MASKED);
	vi_raise();
	GUEST_SYNC(VI_STEP);
	edu_write(EDU_ACK, 1);
	vi_rte(0);
	vi_quiet(0);
	vi_raise();
	vi_wait(1);
	vi_quiet(1);
	GUEST_DONE();
}

/* Host side. */

static void thousand(bool level)
{
	vi_alone(level, 20, guest_thousand);
}

static void dual(bool level)
{
	vi_alone(level, 10, guest_thousand);
}

static void held(bool level)
{
	vi_alone(level, 20, guest_held);
}

static void masked(bool level)
{
	vi_alone(level, 20, guest_masked);
}

static void oneshot(bool level)
{
	vi_alone(level, 20, guest_oneshot);
}

static void oneshot_busy(bool level)
{
	vi_alone(level, 20, guest_oneshot_busy);
}

static void withdrawn(bool level)
{
	vi_alone(level, 20, guest_withdrawn);
}

static void gone_masked(bool level)
{
	struct vi vi;

	vi_create(&vi, level, 20, guest_gone_masked);
	vi_run_to(&vi, VI_STEP);
	li_pin_is(vi.vm, 20, false, true);
	vi_deassign(&vi);
	vi_finish(&vi);
	LI_EQ(vi_status(&vi), 1, "interrupt status of the device");
	li_pin_is(vi.vm, 20, false, false);
	vi_destroy(&vi);
}

static void gone_served(bool level)
{
	struct vi vi;

	vi_create(&vi, level, 20, guest_gone_served);
	vi_run_to(&vi, VI_IN_ISR);
	li_pin_is(vi.vm, 20, false, true);
	vi_deassign(&vi);
	vi_finish(&vi);
	li_pin_is(vi.vm, 20, false, false);
	LI_EQ(li_remote_irr(vi.vm, 20), 0, "remote_irr");
	vi_destroy(&vi);
}

/* VFIO left the device masked; what the old irqfd held must not come back. */
static void again(bool level)
{
	struct vi vi;

	vi_create(&vi, level, 20, guest_again);
	vi_run_to(&vi, VI_STEP);
	li_pin_is(vi.vm, 20, false, true);
	vi_deassign(&vi);
	edu_disable_irq(&vi.edu, VFIO_PCI_INTX_IRQ_INDEX);
	vi_run_to(&vi, VI_STEP);
	/* An eoifd without its irqfd is replaced by a new one. */
	vi_assign(&vi);
	edu_enable_intx(&vi.edu);
	vi_finish(&vi);
	LI_EQ(vi_status(&vi), 0, "interrupt status of the device");
	li_pin_is(vi.vm, 20, false, false);
	vi_destroy(&vi);
}

static void eoifd_first(bool level)
{
	struct vi vi;

	vi_create(&vi, level, 20, guest_gone_masked);
	vi_run_to(&vi, VI_STEP);
	kvm_eoifd_unbind(vi.vm, vi.edu.unmask, vi.edu.trigger);
	li_pin_is(vi.vm, 20, false, true);
	vi_deassign(&vi);
	vi_finish(&vi);
	vi_destroy(&vi);
}

int main(int argc, char **argv)
{
	static const struct vi_test tests[] = {
		{ "thousand", thousand },
		{ "dual", dual },
		{ "held", held },
		{ "masked", masked },
		{ "oneshot", oneshot },
		{ "oneshot_busy", oneshot_busy },
		{ "withdrawn", withdrawn },
		{ "gone_masked", gone_masked },
		{ "gone_served", gone_served },
		{ "again", again },
		{ "eoifd_first", eoifd_first, true },
	};

	vi_main(argc, argv, tests, ARRAY_SIZE(tests));
}

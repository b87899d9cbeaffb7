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
#include "level_irqfd.h"
#include "vfio_edu.h"

#define VI_VECTOR	0x51
#define VI_INTERRUPTS	1000
#define VI_HELD		100
#define VI_SPINS	300000000UL

enum vi_stage { VI_STEP = 1, VI_IN_ISR };

struct vi_guest {
	u32 pin;
	volatile u32 isr;	/* interrupts so far */
	volatile u32 hold;	/* so many leave the device as it is */
	volatile u32 mask;	/* the ISR masks the pin */
	volatile u32 sync;	/* the ISR goes to the host before its EOI */
};

static struct vi_guest vi_guest;

struct vi {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu;
	struct vi_guest *g;
	struct edu edu;
	u32 gsi;
	bool level;
};

/* Guest side. */

static void vi_rte(u32 flags)
{
	li_ioapic_write(0x10 + 2 * vi_guest.pin, flags | LI_RTE_LEVEL | VI_VECTOR);
}

static void vi_isr(struct ex_regs *regs)
{
	if (edu_reinjected(regs))
		return;
	vi_guest.isr++;
	if (vi_guest.mask)
		vi_rte(LI_RTE_MASKED);
	if (vi_guest.hold)
		vi_guest.hold--;
	else
		edu_write(EDU_ACK, 1);
	if (vi_guest.sync)
		GUEST_SYNC(VI_IN_ISR);
	x2apic_write_reg(APIC_EOI, 0);
}

/* Spins: under emulated virtualization a guest can sleep in HLT for ever. */
static void vi_wait(u32 wanted)
{
	u64 i;

	for (i = 0; i < VI_SPINS && vi_guest.isr < wanted; i++)
		barrier();
	GUEST_ASSERT_EQ(vi_guest.isr, wanted);
}

/* Nothing more comes: the host sleeps at a sync, so that a worker could run. */
static void vi_quiet(u32 wanted)
{
	u64 i;

	GUEST_SYNC(VI_STEP);
	for (i = 0; i < LI_SETTLE; i++)
		barrier();
	GUEST_ASSERT_EQ(vi_guest.isr, wanted);
}

static void vi_start(void)
{
	x2apic_enable();
	li_outb(0x21, 0xff);
	li_outb(0xa1, 0xff);
	li_ioapic_write(0x10 + 2 * vi_guest.pin + 1, 0);
	vi_rte(0);
	asm volatile("sti; nop" : : : "memory");
}

static void vi_raise(void)
{
	edu_write(EDU_RAISE, 1);
}

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

static void vi_assign(struct vi *vi)
{
	if (vi->level) {
		kvm_irqfd_level(vi->vm, vi->edu.trigger, vi->gsi);
		kvm_eoifd_bind(vi->vm, vi->edu.unmask, vi->edu.trigger);
	} else {
		kvm_irqfd_resample(vi->vm, vi->edu.trigger, vi->gsi, vi->edu.unmask);
	}
}

static void vi_deassign(struct vi *vi)
{
	kvm_irqfd_deassign(vi->vm, vi->edu.trigger, vi->gsi);
	LI_EQ(li_pin_irr(vi->vm, vi->gsi, false), 0, "pin after the de-assign");
}

static void vi_create(struct vi *vi, bool level, u32 gsi, void (*guest)(void))
{
	memset(vi, 0, sizeof(*vi));
	vi->level = level;
	vi->gsi = gsi;
	edu_open(&vi->edu);
	vi->vm = vm_create_with_one_vcpu(&vi->vcpu, guest);
	edu_map_guest(&vi->edu, vi->vm);
	virt_pg_map(vi->vm, LI_IOAPIC_GPA, LI_IOAPIC_GPA);
	vm_install_exception_handler(vi->vm, VI_VECTOR, vi_isr);
	vi->g = addr_gva2hva(vi->vm, (vm_vaddr_t)&vi_guest);
	vi->g->pin = gsi;
	vi_assign(vi);
	edu_enable_intx(&vi->edu);
}

/* The stage that the guest waits in, or 0 if it is done. */
static int vi_run(struct vi *vi)
{
	struct ucall uc;

	vcpu_run(vi->vcpu);
	switch (get_ucall(vi->vcpu, &uc)) {
	case UCALL_SYNC:
		usleep(3000);
		return uc.args[1];
	case UCALL_DONE:
		return 0;
	case UCALL_ABORT:
		REPORT_GUEST_ASSERT(uc);
	default:
		TEST_FAIL("unexpected exit: %s", exit_reason_str(vi->vcpu->run->exit_reason));
	}
	return -1;
}

static void vi_run_to(struct vi *vi, enum vi_stage stage)
{
	LI_EQ(vi_run(vi), stage, "stage of the guest");
}

static void vi_finish(struct vi *vi)
{
	while (vi_run(vi))
		;
}

static void vi_destroy(struct vi *vi)
{
	kvm_vm_free(vi->vm);
	edu_close(&vi->edu);
}

static u32 vi_status(struct vi *vi)
{
	return *(volatile u32 *)(vi->edu.bar + EDU_STATUS);
}

/* From the start to the end the guest is alone, and then all is quiet. */
static void vi_alone(bool level, u32 gsi, void (*guest)(void))
{
	struct vi vi;

	vi_create(&vi, level, gsi, guest);
	vi_finish(&vi);
	LI_EQ(vi_status(&vi), 0, "interrupt status of the device");
	li_pin_is(vi.vm, gsi, false, false);
	LI_EQ(li_remote_irr(vi.vm, gsi), 0, "remote_irr");
	vi_destroy(&vi);
}

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

static const struct {
	const char *name;
	void (*fn)(bool level);
	bool level_only;
} tests[] = {
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

/* In a process of its own, so that one that fails does not end the rest. */
static void run_one(const char *name, void (*fn)(bool level), bool level)
{
	const char *kind = level ? "level" : "resample";
	int status;
	pid_t pid;

	if (level && !li_has_caps()) {
		ksft_test_result_skip("%s_%s: no KVM_CAP_IRQFD_LEVEL\n", kind, name);
		return;
	}
	fflush(NULL);
	pid = fork();
	TEST_ASSERT(pid >= 0, "fork");
	if (!pid) {
		alarm(60);
		fn(level);
		exit(0);
	}
	TEST_ASSERT(waitpid(pid, &status, 0) == pid, "waitpid");
	if (WIFSIGNALED(status))
		ksft_print_msg("%s_%s: signal %d\n", kind, name, WTERMSIG(status));
	ksft_test_result(!status, "%s_%s\n", kind, name);
}

static bool chosen(int i, bool level, const char *one)
{
	return (!one || !strcmp(one, tests[i].name)) &&
	       (level || !tests[i].level_only);
}

/* A name runs one subtest. */
int main(int argc, char **argv)
{
	const char *one = argc > 1 ? argv[1] : NULL;
	char bdf[NAME_MAX + 1];
	int i, level, plan = 0;

	__TEST_REQUIRE(edu_find(bdf, sizeof(bdf)), "no edu device");
	__TEST_REQUIRE(!access("/dev/vfio/vfio", R_OK | W_OK), "no /dev/vfio/vfio");
	for (level = 0; level < 2; level++)
		for (i = 0; i < ARRAY_SIZE(tests); i++)
			plan += chosen(i, level, one);
	ksft_print_header();
	ksft_set_plan(plan);
	for (level = 0; level < 2; level++)
		for (i = 0; i < ARRAY_SIZE(tests); i++)
			if (chosen(i, level, one))
				run_one(tests[i].name, tests[i].fn, level);
	ksft_finished();
}

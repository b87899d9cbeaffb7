/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that takes the INTx of an assigned device (QEMU's edu), through a
 * LEVEL irqfd with an eoifd or through a RESAMPLE irqfd.
 *
 * The guest is a function of the test.  It is in the host at VI_STEP, where it
 * stops by itself, and at VI_IN_ISR, before the EOI of an interrupt.
 *
 * A subtest runs twice, once for each kind, each time in a process of its own.
 */
#ifndef SELFTEST_VFIO_INTX_H
#define SELFTEST_VFIO_INTX_H

#include "level_irqfd.h"
#include "vfio_edu.h"

#define VI_VECTOR	0x51
#define VI_SPINS	300000000UL
#define VI_LATE		1000	/* loops: what a limiter delays takes far more */

enum vi_stage { VI_STEP = 1, VI_IN_ISR };

struct vi_guest {
	u32 pin;
	volatile u32 isr;	/* interrupts so far */
	volatile u32 hold;	/* so many leave the device as it is */
	volatile u32 mask;	/* the ISR masks the pin */
	volatile u32 sync;	/* the ISR goes to the host before its EOI */
	volatile u64 loops, loops_seen;	/* of vi_wait(), and at the last interrupt */
	volatile u32 late;	/* the first interrupt with VI_LATE loops before it */
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

static inline void vi_rte(u32 flags)
{
	li_ioapic_write(0x10 + 2 * vi_guest.pin, flags | LI_RTE_LEVEL | VI_VECTOR);
}

static inline void vi_isr(struct ex_regs *regs)
{
	if (edu_reinjected(regs))
		return;
	if (vi_guest.isr++ && !vi_guest.late &&
	    vi_guest.loops - vi_guest.loops_seen > VI_LATE)
		vi_guest.late = vi_guest.isr;
	vi_guest.loops_seen = vi_guest.loops;
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
static inline void vi_wait(u32 wanted)
{
	u64 i;

	for (i = 0; i < VI_SPINS && vi_guest.isr < wanted; i++)
		vi_guest.loops++;
	GUEST_ASSERT_EQ(vi_guest.isr, wanted);
}

/* Nothing more comes: the host sleeps at a sync, so that a worker could run. */
static inline void vi_quiet(u32 wanted)
{
	u64 i;

	GUEST_SYNC(VI_STEP);
	for (i = 0; i < LI_SETTLE; i++)
		barrier();
	GUEST_ASSERT_EQ(vi_guest.isr, wanted);
}

static inline void vi_start(void)
{
	x2apic_enable();
	li_outb(0x21, 0xff);
	li_outb(0xa1, 0xff);
	li_ioapic_write(0x10 + 2 * vi_guest.pin + 1, 0);
	vi_rte(0);
	asm volatile("sti; nop" : : : "memory");
}

static inline void vi_raise(void)
{
	edu_write(EDU_RAISE, 1);
}

/* Host side. */

static inline void vi_assign(struct vi *vi)
{
	if (vi->level) {
		kvm_irqfd_level(vi->vm, vi->edu.trigger, vi->gsi);
		kvm_eoifd_bind(vi->vm, vi->edu.unmask, vi->edu.trigger);
	} else {
		kvm_irqfd_resample(vi->vm, vi->edu.trigger, vi->gsi, vi->edu.unmask);
	}
}

static inline void vi_deassign(struct vi *vi)
{
	kvm_irqfd_deassign(vi->vm, vi->edu.trigger, vi->gsi);
	LI_EQ(li_pin_irr(vi->vm, vi->gsi, false), 0, "pin after the de-assign");
}

static inline void vi_create(struct vi *vi, bool level, u32 gsi, void (*guest)(void))
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
static inline int vi_run(struct vi *vi)
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

static inline void vi_run_to(struct vi *vi, enum vi_stage stage)
{
	LI_EQ(vi_run(vi), stage, "stage of the guest");
}

static inline void vi_finish(struct vi *vi)
{
	while (vi_run(vi))
		;
}

static inline void vi_destroy(struct vi *vi)
{
	kvm_vm_free(vi->vm);
	edu_close(&vi->edu);
}

static inline u32 vi_status(struct vi *vi)
{
	return *(volatile u32 *)(vi->edu.bar + EDU_STATUS);
}

/* From the start to the end the guest is alone, and then all is quiet. */
static inline void vi_alone(bool level, u32 gsi, void (*guest)(void))
{
	struct vi vi;

	vi_create(&vi, level, gsi, guest);
	vi_finish(&vi);
	LI_EQ(vi_status(&vi), 0, "interrupt status of the device");
	li_pin_is(vi.vm, gsi, false, false);
	LI_EQ(li_remote_irr(vi.vm, gsi), 0, "remote_irr");
	vi_destroy(&vi);
}

struct vi_test {
	const char *name;
	void (*fn)(bool level);
	bool level_only;
};

/* In a process of its own, so that one that fails does not end the rest. */
static inline void vi_run_one(const char *name, void (*fn)(bool level), bool level)
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

static inline bool vi_chosen(const struct vi_test *test, bool level, const char *one)
{
	return (!one || !strcmp(one, test->name)) &&
	       (level || !test->level_only);
}

/* A name runs one subtest. */
static inline void vi_main(int argc, char **argv, const struct vi_test *tests, int nr)
{
	const char *one = argc > 1 ? argv[1] : NULL;
	char bdf[NAME_MAX + 1];
	int i, level, plan = 0;

	__TEST_REQUIRE(edu_find(bdf, sizeof(bdf)), "no edu device");
	__TEST_REQUIRE(!access("/dev/vfio/vfio", R_OK | W_OK), "no /dev/vfio/vfio");
	for (level = 0; level < 2; level++)
		for (i = 0; i < nr; i++)
			plan += vi_chosen(&tests[i], level, one);
	ksft_print_header();
	ksft_set_plan(plan);
	for (level = 0; level < 2; level++)
		for (i = 0; i < nr; i++)
			if (vi_chosen(&tests[i], level, one))
				vi_run_one(tests[i].name, tests[i].fn, level);
	ksft_finished();
}

#endif /* SELFTEST_VFIO_INTX_H */

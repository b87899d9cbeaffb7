// SPDX-License-Identifier: GPL-2.0-only
/*
 * The INTx of an assigned device (QEMU's edu) against everybody who takes the
 * chips' locks: its hard IRQ meets them on its own CPU and on others.
 *
 * vCPU 0 raises and takes each interrupt; vCPU 1 masks and unmasks its pin, vCPU
 * 2 writes the PICs' registers, vCPU 3 reads them, and a thread of the host
 * reads all chips.  No interrupt is lost or doubled, and on a kernel with level
 * irqfds none goes to a worker.
 *
 * level		GSI 20
 * level_dual		GSI 10, which has a PIC and an IOAPIC pin, taken by the latter
 * level_pic		the same, taken by the PIC, whose pin vCPU 2 masks
 * resample		the same three for RESAMPLE
 * resample_dual
 * resample_pic
 * once			GSI 20: the host lowers another GSI as the device interrupts, and
 *			then leaves the chips alone, so that nobody repairs a lost post
 * once_pic		the same, GSI 10 taken by the PIC
 */
#include "level_irqfd.h"
#include "vfio_edu.h"

#define VS_VECTOR	0x51
#define VS_VCPUS	4
#define VS_INTERRUPTS	3000
#define VS_SPINS	300000000UL

struct vs_guest {
	u32 pin, pic;
	volatile u32 isr, round;
	volatile u32 stop;
};

static struct vs_guest vs_guest;

struct vs {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu[VS_VCPUS];
	struct vs_guest *g;
	struct edu edu;
};

/* Guest side. */

static void vs_rte(u32 flags)
{
	if (vs_guest.pic)
		flags = LI_RTE_MASKED;
	li_ioapic_write(0x10 + 2 * vs_guest.pin, flags | LI_RTE_LEVEL | VS_VECTOR);
}

static void vs_pic_eoi(bool slave)
{
	if (slave)
		li_outb(0xa0, 0x20);
	li_outb(0x20, 0x20);
}

static void vs_isr(struct ex_regs *regs)
{
	if (edu_reinjected(regs))
		return;
	vs_guest.isr++;
	edu_write(EDU_ACK, 1);
	if (vs_guest.pic)
		vs_pic_eoi(true);
	else
		x2apic_write_reg(APIC_EOI, 0);
}

/* The pin was masked between the PIC's request and the vCPU's INTA. */
static void vs_spurious(struct ex_regs *regs)
{
	if (regs->vector == LI_PIC_VECTOR + 15)
		vs_pic_eoi(false);
}

static void vs_init_pic(void)
{
	li_guest_init_pic(vs_guest.pic);
	li_outb(0x4d0, 0xf8);
	li_outb(0x4d1, 0xde);
	x2apic_write_reg(LI_LVT0, vs_guest.pic ? APIC_DM_EXTINT : APIC_LVT_MASKED);
	if (vs_guest.pic)
		li_outb(0xa1, 0xff & ~BIT(vs_guest.pin - 8));
}

static void vs_take(void)
{
	u32 i;
	u64 n;

	x2apic_enable();
	vs_init_pic();
	li_ioapic_write(0x10 + 2 * vs_guest.pin + 1, 0);
	vs_rte(0);
	GUEST_SYNC(0);
	asm volatile("sti; nop" : : : "memory");
	for (i = 1; i <= VS_INTERRUPTS; i++) {
		vs_guest.round = i;
		edu_write(EDU_RAISE, 1);
		for (n = 0; n < VS_SPINS && vs_guest.isr < i; n++)
			barrier();
		GUEST_ASSERT_EQ(vs_guest.isr, i);
	}
	for (n = 0; n < LI_SETTLE; n++)
		barrier();
	GUEST_ASSERT_EQ(vs_guest.isr, VS_INTERRUPTS);
	vs_guest.stop = 1;
	GUEST_DONE();
}

/* The only one that uses the IOAPIC's index register from now on. */
static void vs_hammer_rte(void)
{
	x2apic_enable();
	while (!vs_guest.stop) {
		vs_rte(LI_RTE_MASKED);
		vs_rte(0);
	}
	GUEST_DONE();
}

static void vs_hammer_pic(void)
{
	u8 live = vs_guest.pic ? 0xff & ~BIT(vs_guest.pin - 8) : 0xff;

	x2apic_enable();
	while (!vs_guest.stop) {
		li_outb(0xa1, 0xff);
		li_outb(0x4d1, 0xde);
		li_outb(0xa1, live);
	}
	GUEST_DONE();
}

static void vs_read_pic(void)
{
	x2apic_enable();
	while (!vs_guest.stop) {
		li_inb(0x21);
		li_inb(0xa1);
	}
	GUEST_DONE();
}

/* Host side. */

static void vs_finish(struct kvm_vcpu *vcpu)
{
	struct vs_guest *g = addr_gva2hva(vcpu->vm, (vm_vaddr_t)&vs_guest);
	struct ucall uc;

	for (;;) {
		vcpu_run(vcpu);
		switch (get_ucall(vcpu, &uc)) {
		case UCALL_DONE:
			return;
		case UCALL_ABORT:
			REPORT_GUEST_ASSERT(uc);
		default:
			TEST_FAIL("vCPU %u, round %u: unexpected exit: %s", vcpu->id, g->round,
				  exit_reason_str(vcpu->run->exit_reason));
		}
	}
}

static void *vs_vcpu_thread(void *arg)
{
	vs_finish(arg);
	return NULL;
}

static void *vs_chips_thread(void *arg)
{
	struct vs *vs = arg;
	u32 id = 0;

	while (!vs->g->stop) {
		struct kvm_irqchip chip = { .chip_id = id++ % 3 };

		vm_ioctl(vs->vm, KVM_GET_IRQCHIP, &chip);
	}
	return NULL;
}

static void *vs_once_thread(void *arg)
{
	struct vs *vs = arg;
	u32 seen = 0, i;

	while (!vs->g->stop) {
		if (vs->g->round == seen)
			continue;
		seen = vs->g->round;
		for (i = 0; i <= seen % 32; i++)
			li_irq_line(vs->vm, 11, 0);
	}
	return NULL;
}

static void vs_create(struct vs *vs, const struct li_kind *kind)
{
	static void (*const code[VS_VCPUS])(void) = {
		vs_take, vs_hammer_rte, vs_hammer_pic, vs_read_pic };
	int i;

	memset(vs, 0, sizeof(*vs));
	edu_open(&vs->edu);
	vs->vm = vm_create_with_vcpus(VS_VCPUS, vs_take, vs->vcpu);
	for (i = 1; i < VS_VCPUS; i++)
		vcpu_arch_set_entry_point(vs->vcpu[i], code[i]);
	edu_map_guest(&vs->edu, vs->vm);
	virt_pg_map(vs->vm, LI_IOAPIC_GPA, LI_IOAPIC_GPA);
	vm_install_exception_handler(vs->vm, VS_VECTOR, vs_isr);
	vm_install_exception_handler(vs->vm, LI_PIC_VECTOR + kind->gsi, vs_isr);
	vm_install_exception_handler(vs->vm, LI_PIC_VECTOR + 7, vs_spurious);
	vm_install_exception_handler(vs->vm, LI_PIC_VECTOR + 15, vs_spurious);
	vs->g = addr_gva2hva(vs->vm, (vm_vaddr_t)&vs_guest);
	vs->g->pin = kind->gsi;
	vs->g->pic = kind->pic;
	if (kind->resample) {
		kvm_irqfd_resample(vs->vm, vs->edu.trigger, kind->gsi, vs->edu.unmask);
	} else {
		kvm_irqfd_level(vs->vm, vs->edu.trigger, kind->gsi);
		kvm_eoifd_bind(vs->vm, vs->edu.unmask, vs->edu.trigger);
	}
	edu_enable_intx(&vs->edu);
}

static void vs_check(struct vs *vs, const struct li_kind *kind)
{
	LI_EQ(vs->g->isr, VS_INTERRUPTS, "interrupts");
	li_pin_is(vs->vm, kind->gsi, kind->pic, false);
	if (li_has_caps())
		LI_EQ(vm_get_stat(vs->vm, "irqfd_level_deferred"), 0,
		      "signals left to a worker");
	kvm_vm_free(vs->vm);
	edu_close(&vs->edu);
}

static void once(const struct li_kind *kind)
{
	pthread_t chips;
	struct ucall uc;
	struct vs vs;

	vs_create(&vs, kind);
	vcpu_run(vs.vcpu[0]);
	LI_EQ(get_ucall(vs.vcpu[0], &uc), UCALL_SYNC, "first exit");
	pthread_create(&chips, NULL, vs_once_thread, &vs);
	vs_finish(vs.vcpu[0]);
	pthread_join(chips, NULL);
	vs_check(&vs, kind);
}

static void stress(const struct li_kind *kind)
{
	pthread_t threads[VS_VCPUS], chips;
	struct ucall uc;
	struct vs vs;
	int i;

	vs_create(&vs, kind);
	vcpu_run(vs.vcpu[0]);
	LI_EQ(get_ucall(vs.vcpu[0], &uc), UCALL_SYNC, "first exit");
	for (i = 1; i < VS_VCPUS; i++)
		pthread_create(&threads[i], NULL, vs_vcpu_thread, vs.vcpu[i]);
	pthread_create(&chips, NULL, vs_chips_thread, &vs);
	vs_finish(vs.vcpu[0]);
	for (i = 1; i < VS_VCPUS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(chips, NULL);
	vs_check(&vs, kind);
}

int main(int argc, char **argv)
{
	static const struct li_kind level = { 20 }, level_dual = { 10 };
	static const struct li_kind level_pic = { 10, .pic = true };
	static const struct li_kind resample = { 20, .resample = true };
	static const struct li_kind resample_dual = { 10, .resample = true };
	static const struct li_kind resample_pic = { 10, .pic = true, .resample = true };
	static const struct li_subtest tests[] = {
		{ "level", NULL, false, stress, &level },
		{ "level_dual", NULL, false, stress, &level_dual },
		{ "level_pic", NULL, false, stress, &level_pic },
		{ "resample", NULL, true, stress, &resample },
		{ "resample_dual", NULL, true, stress, &resample_dual },
		{ "resample_pic", NULL, true, stress, &resample_pic },
		{ "once", NULL, false, once, &level },
		{ "once_pic", NULL, false, once, &level_pic },
	};
	char bdf[NAME_MAX + 1];

	__TEST_REQUIRE(edu_find(bdf, sizeof(bdf)), "no edu device");
	__TEST_REQUIRE(!access("/dev/vfio/vfio", R_OK | W_OK), "no /dev/vfio/vfio");
	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

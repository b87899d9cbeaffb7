/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Level irqfds, eoifds and a guest that takes their interrupts.
 *
 * The guest obeys one command at a time (LI_RUN, LI_MASK, ...) and is back in
 * the host at a GUEST_SYNC: LI_IDLE with interrupts off between two commands,
 * LI_IN_ISR before and LI_AFTER_EOI behind the EOI of an interrupt, if the host
 * asked for that.  It never executes HLT.  The vector names chip and pin, so
 * that spurious interrupts are counted, too.
 *
 * A subtest runs in a process of its own: one that fails does not end the rest.
 */
#ifndef SELFTEST_KVM_LEVEL_IRQFD_H
#define SELFTEST_KVM_LEVEL_IRQFD_H

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kvm.h>

#include "apic.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define LI_IOAPIC_GPA		0xfec00000UL
#define LI_IOAPIC_VECTOR	0x40	/* + pin */
#define LI_PIC_VECTOR		0x60	/* + irq */
#define LI_MSI_VECTOR		0x70
#define LI_PINS			24
#define LI_LVT0			0x350

#define LI_RTE_LOWEST_PRIO	BIT(8)
#define LI_RTE_LOGICAL		BIT(11)
#define LI_RTE_REMOTE_IRR	BIT(14)
#define LI_RTE_LEVEL		BIT(15)
#define LI_RTE_MASKED		BIT(16)

/* Iterations of the guest's waiting loop. */
#define LI_LONG			100000000UL
#define LI_SETTLE		300000UL
#define LI_NEVER		0xffffffffu

enum li_cmd { LI_RUN, LI_MASK, LI_UNMASK, LI_READ_RTE, LI_EDGE, LI_LEVEL, LI_WRITE_RTE,
	      LI_INIT_PIC };
enum li_stage { LI_IDLE = 1, LI_IN_ISR, LI_AFTER_EOI };

/* What the ISR does besides counting; the order is that of the bits. */
#define LI_ISR_MASK		BIT(0)
#define LI_ISR_SYNC		BIT(1)
#define LI_ISR_EOI		BIT(2)
#define LI_ISR_READ_RTE		BIT(3)
#define LI_ISR_SYNC_AFTER	BIT(4)
#define LI_ISR_REMASK		BIT(5)	/* first of all: mask and unmask */
#define LI_ISR_WRITE_RTE	BIT(6)	/* between LI_IN_ISR and the EOI */

struct li_guest {
	volatile u32 cmd, pin, isr_do;
	volatile u32 want;		/* LI_RUN ends at so many interrupts */
	volatile u64 spins;		/* or after so many loops */
	volatile u64 loops, loops_seen;	/* so far, and at the last interrupt */
	volatile u64 gap;		/* the most loops between two interrupts */
	volatile u32 sync_at;		/* LI_IN_ISR at that interrupt */
	volatile u32 isr;		/* interrupts so far */
	volatile u32 per_vector[256];
	volatile u32 rte;		/* as read */
	volatile u32 new_rte, new_dest;	/* to be written */
	volatile u32 pic;		/* interrupts come by the PIC */
};

static struct li_guest li_guest;

struct li {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu;
	struct li_guest *g;
	u32 gsi;
	bool pic;
};

/* Guest side. */

static inline void li_outb(u16 port, u8 value)
{
	asm volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline u8 li_inb(u16 port)
{
	u8 value;

	asm volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline void li_ioapic_write(u32 reg, u32 value)
{
	*(volatile u32 *)LI_IOAPIC_GPA = reg;
	*(volatile u32 *)(LI_IOAPIC_GPA + 0x10) = value;
}

static inline u32 li_ioapic_read(u32 reg)
{
	*(volatile u32 *)LI_IOAPIC_GPA = reg;
	return *(volatile u32 *)(LI_IOAPIC_GPA + 0x10);
}

static inline void li_guest_rte(u32 pin, u32 flags)
{
	li_ioapic_write(0x10 + 2 * pin, flags | (LI_IOAPIC_VECTOR + pin));
}

static void li_guest_write_rte(u32 pin)
{
	li_ioapic_write(0x10 + 2 * pin + 1, li_guest.new_dest << 24);
	li_ioapic_write(0x10 + 2 * pin, li_guest.new_rte);
}

static void li_guest_mask(u32 pin, bool mask)
{
	if (li_guest.pic) {
		u16 port = pin < 8 ? 0x21 : 0xa1;
		u8 bit = 1 << (pin & 7), imr = li_inb(port);

		li_outb(port, mask ? imr | bit : imr & ~bit);
		return;
	}
	li_ioapic_write(0x10 + 2 * pin,
			(li_ioapic_read(0x10 + 2 * pin) & ~LI_RTE_MASKED) |
			(mask ? LI_RTE_MASKED : 0));
}

static void li_guest_trigger(u32 pin, bool level)
{
	if (li_guest.pic) {
		u16 port = pin < 8 ? 0x4d0 : 0x4d1;
		u8 bit = 1 << (pin & 7), elcr = li_inb(port);

		li_outb(port, level ? elcr | bit : elcr & ~bit);
		return;
	}
	li_guest_rte(pin, level ? LI_RTE_LEVEL : 0);
}

static void li_guest_isr(struct ex_regs *regs)
{
	bool pic = regs->vector >= LI_PIC_VECTOR && regs->vector < LI_PIC_VECTOR + 16;
	u32 pin = regs->vector - (pic ? LI_PIC_VECTOR : LI_IOAPIC_VECTOR);
	u32 what = li_guest.isr_do;
	u32 n = ++li_guest.isr;

	li_guest.per_vector[regs->vector]++;
	if (n > 1 && li_guest.loops - li_guest.loops_seen > li_guest.gap)
		li_guest.gap = li_guest.loops - li_guest.loops_seen;
	li_guest.loops_seen = li_guest.loops;
	if (what & (LI_ISR_MASK | LI_ISR_REMASK))
		li_guest_mask(pin, true);
	if (what & LI_ISR_REMASK)
		li_guest_mask(pin, false);
	if (what & LI_ISR_SYNC || n == li_guest.sync_at)
		GUEST_SYNC(LI_IN_ISR);
	if (what & LI_ISR_WRITE_RTE)
		li_guest_write_rte(pin);
	if (what & LI_ISR_EOI && pic) {
		if (pin >= 8)
			li_outb(0xa0, 0x20);
		li_outb(0x20, 0x20);
	} else if (what & LI_ISR_EOI) {
		wrmsr(APIC_BASE_MSR + (APIC_EOI >> 4), 0);
	}
	if (what & LI_ISR_READ_RTE)
		li_guest.rte = li_ioapic_read(0x10 + 2 * pin);
	if (what & LI_ISR_SYNC_AFTER)
		GUEST_SYNC(LI_AFTER_EOI);
}

/* ICW1 to ICW4; all but the cascade masked. */
static void li_guest_init_pic(bool used)
{
	li_outb(0x20, 0x11);
	li_outb(0x21, LI_PIC_VECTOR);
	li_outb(0x21, 4);
	li_outb(0x21, 1);
	li_outb(0xa0, 0x11);
	li_outb(0xa1, LI_PIC_VECTOR + 8);
	li_outb(0xa1, 2);
	li_outb(0xa1, 1);
	li_outb(0x21, used ? 0xfb : 0xff);
	li_outb(0xa1, 0xff);
}

static void li_guest_code(void)
{
	u32 pin;
	u64 i;

	x2apic_enable();
	li_guest_init_pic(li_guest.pic);
	/* All level triggered, as firmware sets up PCI's; 0-2, 8 and 13 cannot. */
	li_outb(0x4d0, 0xf8);
	li_outb(0x4d1, 0xde);
	x2apic_write_reg(LI_LVT0, li_guest.pic ? APIC_DM_EXTINT : APIC_LVT_MASKED);
	for (pin = 0; pin < LI_PINS; pin++)
		li_guest_rte(pin, LI_RTE_LEVEL | LI_RTE_MASKED);
	li_guest_mask(li_guest.pin, false);

	for (;;) {
		GUEST_SYNC(LI_IDLE);
		pin = li_guest.pin;
		switch (li_guest.cmd) {
		case LI_RUN:
			asm volatile("sti; nop" : : : "memory");
			for (i = 0; i < li_guest.spins && li_guest.isr < li_guest.want; i++)
				li_guest.loops++;
			asm volatile("cli" : : : "memory");
			break;
		case LI_MASK:
		case LI_UNMASK:
			li_guest_mask(pin, li_guest.cmd == LI_MASK);
			break;
		case LI_READ_RTE:
			li_guest.rte = li_ioapic_read(0x10 + 2 * pin);
			break;
		case LI_EDGE:
		case LI_LEVEL:
			li_guest_trigger(pin, li_guest.cmd == LI_LEVEL);
			break;
		case LI_WRITE_RTE:
			li_guest_write_rte(pin);
			break;
		case LI_INIT_PIC:
			li_guest_init_pic(li_guest.pic);
			break;
		}
	}
}

/* Host side: the ioctls. */

static inline int __kvm_irqfd(struct kvm_vm *vm, int fd, u32 gsi, u32 flags, int resamplefd)
{
	struct kvm_irqfd irqfd = {
		.fd = fd, .gsi = gsi, .flags = flags, .resamplefd = resamplefd };

	return __vm_ioctl(vm, KVM_IRQFD, &irqfd) ? errno : 0;
}

static inline int __kvm_irqfd_level(struct kvm_vm *vm, int fd, u32 gsi)
{
	return __kvm_irqfd(vm, fd, gsi, KVM_IRQFD_FLAG_LEVEL, 0);
}

static inline int __kvm_eoifd(struct kvm_vm *vm, int fd, u32 gsi, u32 flags, int irqfd)
{
	struct kvm_eoifd eoifd = { .fd = fd, .gsi = gsi, .flags = flags, .irqfd = irqfd };

	return __vm_ioctl(vm, KVM_EOIFD, &eoifd) ? errno : 0;
}

static inline int __kvm_eoifd_bind(struct kvm_vm *vm, int fd, int irqfd)
{
	return __kvm_eoifd(vm, fd, 0, KVM_EOIFD_FLAG_LEVEL_IRQFD, irqfd);
}

/* Compares an errno: 0 is success. */
#define LI_WANT(call, wanted)							\
do {										\
	int __got = (call), __wanted = (wanted);				\
										\
	TEST_ASSERT(__got == __wanted, "%s: wanted %d (%s), got %d (%s)", #call,	\
		    __wanted, strerror(__wanted), __got, strerror(__got));	\
} while (0)

#define LI_EQ(got, wanted, what)						\
do {										\
	unsigned long __got = (got), __wanted = (wanted);			\
										\
	TEST_ASSERT(__got == __wanted, "%s: wanted %lu, got %lu", what,		\
		    __wanted, __got);						\
} while (0)

static inline void kvm_irqfd_level(struct kvm_vm *vm, int fd, u32 gsi)
{
	LI_WANT(__kvm_irqfd_level(vm, fd, gsi), 0);
}

static inline void kvm_irqfd_resample(struct kvm_vm *vm, int fd, u32 gsi, int resamplefd)
{
	LI_WANT(__kvm_irqfd(vm, fd, gsi, KVM_IRQFD_FLAG_RESAMPLE, resamplefd), 0);
}

static inline void kvm_irqfd_deassign(struct kvm_vm *vm, int fd, u32 gsi)
{
	LI_WANT(__kvm_irqfd(vm, fd, gsi, KVM_IRQFD_FLAG_DEASSIGN, 0), 0);
}

static inline void kvm_eoifd_bind(struct kvm_vm *vm, int fd, int irqfd)
{
	LI_WANT(__kvm_eoifd_bind(vm, fd, irqfd), 0);
}

static inline void kvm_eoifd_unbind(struct kvm_vm *vm, int fd, int irqfd)
{
	LI_WANT(__kvm_eoifd(vm, fd, 0, KVM_EOIFD_FLAG_LEVEL_IRQFD | KVM_EOIFD_FLAG_DEASSIGN,
			    irqfd), 0);
}

static inline void li_irq_line(struct kvm_vm *vm, u32 gsi, int level)
{
	struct kvm_irq_level line = { .irq = gsi, .level = level };

	vm_ioctl(vm, KVM_IRQ_LINE, &line);
}

static inline int li_eventfd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	TEST_ASSERT(fd >= 0, "eventfd: %s", strerror(errno));
	return fd;
}

static inline void li_signal(int fd)
{
	u64 one = 1;

	TEST_ASSERT(write(fd, &one, sizeof(one)) == sizeof(one), "eventfd write");
}

/* Signals since the last call. */
static inline u64 li_count(int fd)
{
	u64 n;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

/* Host side: the chips. */

static inline bool li_pin_irr(struct kvm_vm *vm, u32 pin, bool pic)
{
	struct kvm_irqchip chip = {
		.chip_id = !pic ? KVM_IRQCHIP_IOAPIC :
			   pin < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE };

	vm_ioctl(vm, KVM_GET_IRQCHIP, &chip);
	return pic ? chip.chip.pic.irr & (1 << (pin & 7)) : chip.chip.ioapic.irr & (1 << pin);
}

static inline bool li_remote_irr(struct kvm_vm *vm, u32 pin)
{
	struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_IOAPIC };

	vm_ioctl(vm, KVM_GET_IRQCHIP, &chip);
	return chip.chip.ioapic.redirtbl[pin].fields.remote_irr;
}

/* The pin reaches @up within 2 s: an assertion may go through a worker. */
static inline bool li_pin_becomes(struct kvm_vm *vm, u32 pin, bool pic, bool up)
{
	int i;

	for (i = 0; i < 2000; i++) {
		if (li_pin_irr(vm, pin, pic) == up)
			return true;
		usleep(1000);
	}
	return false;
}

/* The pin reaches @up and stays there. */
static inline void li_pin_is(struct kvm_vm *vm, u32 pin, bool pic, bool up)
{
	const char *chip = pic ? "PIC" : "IOAPIC", *wanted = up ? "up" : "down";

	TEST_ASSERT(li_pin_becomes(vm, pin, pic, up), "%s pin %u: wanted %s, got %s",
		    chip, pin, wanted, up ? "down" : "up");
	usleep(2000);
	TEST_ASSERT(li_pin_irr(vm, pin, pic) == up, "%s pin %u: wanted to stay %s",
		    chip, pin, wanted);
}

static inline void li_line_is(struct li *li, bool up)
{
	li_pin_is(li->vm, li->gsi, li->pic, up);
}

struct li_route {
	u32 gsi, pin;
	bool msi;
};

/* Route these GSIs, by the IOAPIC or as MSI, and no others. */
static inline void li_set_routes(struct kvm_vm *vm, const struct li_route *routes, int nr)
{
	struct kvm_irq_routing *table;
	int i;

	table = calloc(1, sizeof(*table) + nr * sizeof(table->entries[0]));
	TEST_ASSERT(table, "out of memory");
	table->nr = nr;
	for (i = 0; i < nr; i++) {
		struct kvm_irq_routing_entry *e = &table->entries[i];

		e->gsi = routes[i].gsi;
		if (routes[i].msi) {
			e->type = KVM_IRQ_ROUTING_MSI;
			e->u.msi.address_lo = 0xfee00000;
			e->u.msi.data = LI_MSI_VECTOR;
		} else {
			e->type = KVM_IRQ_ROUTING_IRQCHIP;
			e->u.irqchip.irqchip = KVM_IRQCHIP_IOAPIC;
			e->u.irqchip.pin = routes[i].pin;
		}
	}
	vm_ioctl(vm, KVM_SET_GSI_ROUTING, table);
	free(table);
}

static inline void li_set_route(struct kvm_vm *vm, u32 gsi, u32 pin, bool msi)
{
	struct li_route route = { .gsi = gsi, .pin = pin, .msi = msi };

	li_set_routes(vm, &route, 1);
}

/* Host side: the guest. */

static inline enum li_stage li_resume(struct li *li)
{
	struct ucall uc;

	vcpu_run(li->vcpu);
	switch (get_ucall(li->vcpu, &uc)) {
	case UCALL_SYNC:
		return uc.args[1];
	case UCALL_ABORT:
		REPORT_GUEST_ASSERT(uc);
	default:
		TEST_FAIL("unexpected exit: %s", exit_reason_str(li->vcpu->run->exit_reason));
	}
	return 0;
}

static inline void li_resume_to(struct li *li, enum li_stage wanted)
{
	LI_EQ(li_resume(li), wanted, "stage of the guest");
}

/* A command that takes no interrupt. */
static inline void li_do(struct li *li, enum li_cmd cmd, u32 pin)
{
	li->g->cmd = cmd;
	li->g->pin = pin;
	li_resume_to(li, LI_IDLE);
}

static inline void li_start(struct li *li, u32 want, u64 spins)
{
	li->g->cmd = LI_RUN;
	li->g->want = want;
	li->g->spins = spins;
}

/* No interrupt follows; one on its way through a worker has time to arrive. */
static inline void li_no_more(struct li *li)
{
	u32 before = li->g->isr;

	usleep(3000);
	li_start(li, LI_NEVER, LI_SETTLE);
	li_resume_to(li, LI_IDLE);
	LI_EQ(li->g->isr, before, "interrupts after the last one");
}

/* Run until the guest has taken @wanted interrupts in all, and not one more. */
static inline void li_take(struct li *li, u32 wanted)
{
	li_start(li, wanted, LI_LONG);
	li_resume_to(li, LI_IDLE);
	LI_EQ(li->g->isr, wanted, "interrupts");
	li_no_more(li);
}

/* Run into the ISR: interrupt @wanted has been taken, its EOI is to come. */
static inline void li_enter_isr(struct li *li, u32 wanted)
{
	li->g->sync_at = wanted;
	li_start(li, LI_NEVER, LI_LONG);
	li_resume_to(li, LI_IN_ISR);
	LI_EQ(li->g->isr, wanted, "interrupts");
}

/* Out of the ISR, through its EOI: nothing may follow. */
static inline void li_leave_isr(struct li *li)
{
	u32 before = li->g->isr;

	li->g->spins = LI_SETTLE;
	li_resume_to(li, LI_IDLE);
	LI_EQ(li->g->isr, before, "interrupts after the EOI");
	li_no_more(li);
}

/* The first of @nr vCPUs is the guest's. */
static inline void li_create_vcpus(struct li *li, u32 gsi, bool pic, struct kvm_vcpu **vcpus,
				   int nr)
{
	int v;

	memset(li, 0, sizeof(*li));
	li->gsi = gsi;
	li->pic = pic;
	li->vm = vm_create_with_vcpus(nr, li_guest_code, vcpus);
	li->vcpu = vcpus[0];
	for (v = LI_IOAPIC_VECTOR; v <= LI_MSI_VECTOR; v++)
		vm_install_exception_handler(li->vm, v, li_guest_isr);
	virt_pg_map(li->vm, LI_IOAPIC_GPA, LI_IOAPIC_GPA);
	li->g = addr_gva2hva(li->vm, (vm_vaddr_t)&li_guest);
	li->g->pin = gsi;
	li->g->pic = pic;
	li->g->isr_do = LI_ISR_EOI;
	li_resume_to(li, LI_IDLE);
}

static inline void li_create(struct li *li, u32 gsi, bool pic)
{
	struct kvm_vcpu *vcpu;

	li_create_vcpus(li, gsi, pic, &vcpu, 1);
}

static inline void li_destroy(struct li *li)
{
	kvm_vm_free(li->vm);
}

/* Host side: subtests. */

struct li_kind {
	u32 gsi;
	bool pic, resample;
};

struct li_subtest {
	const char *name;
	void (*fn)(void);
	bool stock;		/* needs no capability */
	/* Instead of fn. */
	void (*fn_of)(const struct li_kind *kind);
	const struct li_kind *kind;
};

static inline bool li_chosen(const struct li_subtest *test, bool stock, const char *one)
{
	return (!stock || test->stock) && (!one || !strcmp(one, test->name));
}

static inline bool li_has_caps(void)
{
	return kvm_check_cap(KVM_CAP_IRQFD_LEVEL) && kvm_check_cap(KVM_CAP_EOIFD) &&
	       kvm_check_cap(KVM_CAP_EOIFD_LEVEL_IRQFD);
}

/*
 * -r runs the subtests of irqfds that a kernel without level irqfds has, too;
 * a name runs one subtest.
 */
static inline void li_main(int argc, char **argv, const struct li_subtest *tests, int nr)
{
	const char *one = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
	bool stock = argc > 1 && !strcmp(argv[1], "-r");
	int i, plan = 0, status;
	pid_t pid;

	__TEST_REQUIRE(stock || li_has_caps(), "no KVM_CAP_IRQFD_LEVEL and KVM_CAP_EOIFD");
	for (i = 0; i < nr; i++)
		plan += li_chosen(&tests[i], stock, one);
	ksft_print_header();
	ksft_set_plan(plan);
	for (i = 0; i < nr; i++) {
		if (!li_chosen(&tests[i], stock, one))
			continue;
		fflush(NULL);
		pid = fork();
		TEST_ASSERT(pid >= 0, "fork");
		if (!pid) {
			alarm(100);
			if (tests[i].fn_of)
				tests[i].fn_of(tests[i].kind);
			else
				tests[i].fn();
			exit(0);
		}
		TEST_ASSERT(waitpid(pid, &status, 0) == pid, "waitpid");
		if (WIFSIGNALED(status))
			ksft_print_msg("%s: signal %d\n", tests[i].name, WTERMSIG(status));
		ksft_test_result(!status, "%s\n", tests[i].name);
	}
	ksft_finished();
}

#endif /* SELFTEST_KVM_LEVEL_IRQFD_H */

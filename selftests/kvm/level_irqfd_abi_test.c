// SPDX-License-Identifier: GPL-2.0-only
/*
 * What KVM_IRQFD_FLAG_LEVEL and KVM_EOIFD accept and refuse.
 *
 * capabilities		/dev/kvm and each irqchip mode
 * no_irqchip		both refused as a plain irqfd is
 * split_irqchip	both refused with EINVAL, RESAMPLE too
 * irqfd_errors		KVM_IRQFD with LEVEL
 * eoifd_errors		KVM_EOIFD, bound
 * eoifd_unbound	KVM_EOIFD, unbound
 * error_order		two errors at once: the first check answers
 * refused_is_nothing	a refused call leaves nothing behind
 * deassign_flags	DEASSIGN ignores LEVEL
 * gsi_range		GSI 4,095, 4,096 and 2^30: refused or inert
 * release_orders	irqfd first, eoifd first
 * orphan		de-assigned by .fd, replaced, behind a live binding
 * client_2012		the calls of a VMM written for the 2012 proposal
 */
#include "level_irqfd.h"

#define LEVEL	KVM_IRQFD_FLAG_LEVEL
#define BOUND	KVM_EOIFD_FLAG_LEVEL_IRQFD
#define GSI	20

enum mode { NONE, SPLIT, FULL };

static struct kvm_vm *create(enum mode mode)
{
	struct kvm_vm *vm = vm_create_barebones();

	if (mode == SPLIT)
		vm_enable_cap(vm, KVM_CAP_SPLIT_IRQCHIP, 24);
	else if (mode == FULL)
		vm_ioctl(vm, KVM_CREATE_IRQCHIP, NULL);
	return vm;
}

static int closed_fd(void)
{
	int fd = li_eventfd();

	close(fd);
	return fd;
}

static int not_eventfd(void)
{
	int fd = open("/dev/null", O_RDWR);

	TEST_ASSERT(fd >= 0, "cannot open /dev/null");
	return fd;
}

static void capabilities(void)
{
	static const long caps[] = {
		4120, 4121, 4122, KVM_CAP_IRQFD_RESAMPLE };
	struct kvm_vm *vm[] = { create(NONE), create(SPLIT), create(FULL) };
	int i;

	LI_EQ(KVM_CAP_IRQFD_LEVEL, 4120, "KVM_CAP_IRQFD_LEVEL");
	LI_EQ(KVM_CAP_EOIFD, 4121, "KVM_CAP_EOIFD");
	LI_EQ(KVM_CAP_EOIFD_LEVEL_IRQFD, 4122, "KVM_CAP_EOIFD_LEVEL_IRQFD");
	LI_EQ(sizeof(struct kvm_eoifd), 32, "sizeof(struct kvm_eoifd)");
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		printf("# capability %ld\n", caps[i]);
		LI_EQ(kvm_check_cap(caps[i]), 1, "on /dev/kvm");
		LI_EQ(vm_check_cap(vm[NONE], caps[i]), 1, "without irqchip");
		LI_EQ(vm_check_cap(vm[SPLIT], caps[i]), 0, "with split irqchip");
		LI_EQ(vm_check_cap(vm[FULL], caps[i]), 1, "with full irqchip");
	}
}

static void no_irqchip(void)
{
	struct kvm_vm *vm = create(NONE);
	int fd = li_eventfd(), eoi = li_eventfd();
	int plain = __kvm_irqfd(vm, fd, GSI, 0, 0);

	TEST_ASSERT(plain, "a plain irqfd was accepted without an irqchip");
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), plain);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, fd), plain);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, 0, 0), plain);
	/* Flags are looked at before. */
	LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | KVM_IRQFD_FLAG_RESAMPLE, eoi), EINVAL);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, 1 << 2, 0), EINVAL);
	/* File descriptors behind. */
	LI_WANT(__kvm_eoifd(vm, closed_fd(), GSI, 0, 0), plain);
	/* An irqchip that comes later makes all of it work. */
	vm_ioctl(vm, KVM_CREATE_IRQCHIP, NULL);
	kvm_irqfd_level(vm, fd, GSI);
	kvm_eoifd_bind(vm, eoi, fd);
}

static void split_irqchip(void)
{
	struct kvm_vm *vm = create(SPLIT);
	int fd = li_eventfd(), eoi = li_eventfd();

	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EINVAL);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, KVM_IRQFD_FLAG_RESAMPLE, eoi), EINVAL);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, fd), EINVAL);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, 0, 0), EINVAL);
	LI_WANT(__kvm_eoifd(vm, closed_fd(), GSI, 0, 0), EINVAL);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, 0, 0), 0);
	/* The plain irqfd did not become a level irqfd. */
	LI_WANT(__kvm_eoifd_bind(vm, eoi, fd), EINVAL);
}

static void irqfd_errors(void)
{
	struct kvm_vm *vm = create(FULL), *other = create(FULL);
	int fd = li_eventfd(), second = li_eventfd(), resample = li_eventfd();
	int plain, i;

	LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | KVM_IRQFD_FLAG_RESAMPLE, resample), EINVAL);
	for (i = 3; i < 32; i++) {
		LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | (1u << i), 0), EINVAL);
		LI_WANT(__kvm_irqfd(vm, fd, GSI, 1u << i, 0), EINVAL);
	}
	LI_WANT(__kvm_irqfd_level(vm, closed_fd(), GSI), EBADF);
	LI_WANT(__kvm_irqfd_level(vm, -1, GSI), EBADF);
	LI_WANT(__kvm_irqfd_level(vm, not_eventfd(), GSI), EINVAL);

	kvm_irqfd_level(vm, fd, GSI);
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EBUSY);
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI + 1), EBUSY);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, 0, 0), EBUSY);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, KVM_IRQFD_FLAG_RESAMPLE, resample), EBUSY);
	LI_WANT(__kvm_irqfd_level(vm, dup(fd), GSI), EBUSY);
	kvm_irqfd_deassign(vm, fd, GSI);

	LI_WANT(__kvm_irqfd(vm, fd, GSI, 0, 0), 0);
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EBUSY);
	LI_WANT(__kvm_irqfd(vm, second, GSI, KVM_IRQFD_FLAG_RESAMPLE, resample), 0);
	LI_WANT(__kvm_irqfd_level(vm, second, GSI), EBUSY);
	kvm_irqfd_deassign(vm, fd, GSI);
	kvm_irqfd_deassign(vm, second, GSI);

	/* In another VM: what a plain irqfd does there. */
	kvm_irqfd_level(vm, fd, GSI);
	plain = __kvm_irqfd(other, fd, GSI, 0, 0);
	if (!plain)
		kvm_irqfd_deassign(other, fd, GSI);
	LI_WANT(__kvm_irqfd_level(other, fd, GSI), plain);
	/* The first VM's has survived that. */
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EBUSY);
}

static void eoifd_errors(void)
{
	struct kvm_vm *vm = create(FULL), *other = create(FULL);
	int fd = li_eventfd(), eoi = li_eventfd(), second = li_eventfd();
	int plain = li_eventfd(), resample = li_eventfd(), foreign = li_eventfd();
	struct kvm_eoifd arg;
	int i, err;

	kvm_irqfd_level(vm, fd, GSI);
	kvm_irqfd_level(other, foreign, GSI);
	LI_WANT(__kvm_irqfd(vm, plain, GSI, 0, 0), 0);
	kvm_irqfd_resample(vm, resample, GSI, second);

	for (i = 2; i < 32; i++) {
		LI_WANT(__kvm_eoifd(vm, eoi, 0, BOUND | (1u << i), fd), EINVAL);
		LI_WANT(__kvm_eoifd(vm, eoi, 0, KVM_EOIFD_FLAG_DEASSIGN | (1u << i), fd), EINVAL);
	}
	for (i = 0; i < sizeof(arg.pad); i++) {
		arg = (struct kvm_eoifd) { .fd = eoi, .flags = BOUND, .irqfd = fd };
		arg.pad[i] = 0x80;
		LI_WANT(__vm_ioctl(vm, KVM_EOIFD, &arg) ? errno : 0, EINVAL);
		arg.flags |= KVM_EOIFD_FLAG_DEASSIGN;
		LI_WANT(__vm_ioctl(vm, KVM_EOIFD, &arg) ? errno : 0, EINVAL);
	}
	LI_WANT(__vm_ioctl(vm, KVM_EOIFD, (struct kvm_eoifd *)8) ? errno : 0, EFAULT);

	LI_WANT(__kvm_eoifd_bind(vm, closed_fd(), fd), EBADF);
	LI_WANT(__kvm_eoifd_bind(vm, -1, fd), EBADF);
	LI_WANT(__kvm_eoifd_bind(vm, not_eventfd(), fd), EINVAL);
	err = __kvm_eoifd_bind(vm, eoi, closed_fd());
	TEST_ASSERT(err == EBADF || err == ENOENT,
		    ".irqfd closed: wanted EBADF or ENOENT, got %d", err);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, not_eventfd()), ENOENT);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, second), ENOENT);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, plain), ENOENT);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, resample), ENOENT);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, foreign), ENOENT);
	LI_WANT(__kvm_eoifd_bind(vm, fd, fd), EINVAL);
	LI_WANT(__kvm_eoifd_bind(vm, dup(fd), fd), EINVAL);

	LI_WANT(__kvm_eoifd(vm, eoi, 0, BOUND | KVM_EOIFD_FLAG_DEASSIGN, fd), ENOENT);
	/* .gsi comes from the irqfd. */
	LI_WANT(__kvm_eoifd(vm, eoi, 1 << 30, BOUND, fd), 0);
	LI_WANT(__kvm_eoifd_bind(vm, eoi, fd), EBUSY);
	LI_WANT(__kvm_eoifd_bind(vm, second, fd), EBUSY);
	LI_WANT(__kvm_eoifd(vm, second, 0, BOUND | KVM_EOIFD_FLAG_DEASSIGN, fd), ENOENT);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, KVM_EOIFD_FLAG_DEASSIGN, 0), ENOENT);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, KVM_EOIFD_FLAG_DEASSIGN, fd), ENOENT);
	kvm_eoifd_unbind(vm, eoi, fd);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, BOUND | KVM_EOIFD_FLAG_DEASSIGN, fd), ENOENT);
	LI_WANT(__kvm_eoifd(vm, closed_fd(), 0, BOUND | KVM_EOIFD_FLAG_DEASSIGN, fd), EBADF);
	LI_WANT(__kvm_eoifd(vm, not_eventfd(), 0, BOUND | KVM_EOIFD_FLAG_DEASSIGN, fd), EINVAL);
	kvm_eoifd_bind(vm, second, fd);
}

static void eoifd_unbound(void)
{
	struct kvm_vm *vm = create(FULL);
	int eoi = li_eventfd();

	LI_WANT(__kvm_eoifd(vm, closed_fd(), GSI, 0, 0), EBADF);
	LI_WANT(__kvm_eoifd(vm, not_eventfd(), GSI, 0, 0), EINVAL);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, KVM_EOIFD_FLAG_DEASSIGN, 0), ENOENT);
	/* .irqfd is not looked at. */
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, 0, -1), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, 0, 0), EBUSY);
	LI_WANT(__kvm_eoifd(vm, dup(eoi), GSI, 0, 0), EBUSY);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI + 1, 0, 0), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI + 1, 0, 0), EBUSY);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI + 2, KVM_EOIFD_FLAG_DEASSIGN, 0), ENOENT);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, KVM_EOIFD_FLAG_DEASSIGN, 0), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, KVM_EOIFD_FLAG_DEASSIGN, 0), ENOENT);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI + 1, KVM_EOIFD_FLAG_DEASSIGN, 0), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, GSI, 0, 0), 0);
}

static void error_order(void)
{
	struct kvm_vm *vm = create(FULL);
	int fd = li_eventfd(), eoi = li_eventfd(), plain = li_eventfd();

	LI_WANT(__kvm_irqfd(vm, plain, GSI, 0, 0), 0);
	/* Flag before .fd, .fd before .irqfd, .irqfd before own eventfd. */
	LI_WANT(__kvm_eoifd(vm, closed_fd(), GSI, 1 << 5, 0), EINVAL);
	LI_WANT(__kvm_eoifd_bind(vm, not_eventfd(), plain), EINVAL);
	LI_WANT(__kvm_eoifd_bind(vm, -1, not_eventfd()), EBADF);
	LI_WANT(__kvm_eoifd_bind(vm, plain, plain), ENOENT);
	/* Own eventfd before a second eoifd. */
	kvm_irqfd_level(vm, fd, GSI);
	kvm_eoifd_bind(vm, eoi, fd);
	LI_WANT(__kvm_eoifd_bind(vm, fd, fd), EINVAL);
	/* LEVEL with RESAMPLE before either eventfd. */
	LI_WANT(__kvm_irqfd(vm, closed_fd(), GSI, LEVEL | KVM_IRQFD_FLAG_RESAMPLE, -1), EINVAL);
}

static void refused_is_nothing(void)
{
	struct kvm_vm *vm = create(FULL);
	int fd = li_eventfd(), eoi = li_eventfd();
	int i;

	kvm_irqfd_level(vm, fd, GSI);
	for (i = 0; i < 1000; i++) {
		LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EBUSY);
		LI_WANT(__kvm_eoifd_bind(vm, fd, fd), EINVAL);
		LI_WANT(__kvm_eoifd_bind(vm, fd, eoi), ENOENT);
		LI_WANT(__kvm_eoifd(vm, eoi, 0, BOUND | (1 << 3), fd), EINVAL);
	}
	li_signal(fd);
	li_pin_is(vm, GSI, false, true);
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EBUSY);
	LI_WANT(__kvm_eoifd_bind(vm, fd, fd), EINVAL);
	li_pin_is(vm, GSI, false, true);
	kvm_eoifd_bind(vm, eoi, fd);
	kvm_eoifd_unbind(vm, eoi, fd);
	kvm_irqfd_deassign(vm, fd, GSI);
	LI_EQ(li_pin_irr(vm, GSI, false), 0, "pin after the de-assign");
	LI_EQ(li_count(eoi), 0, "signals of the eoifd");
}

static void deassign_flags(void)
{
	struct kvm_vm *vm = create(FULL);
	int fd = li_eventfd();

	kvm_irqfd_level(vm, fd, GSI);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, KVM_IRQFD_FLAG_DEASSIGN, 0), 0);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, 0, 0), 0);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | KVM_IRQFD_FLAG_DEASSIGN, 0), 0);
	kvm_irqfd_level(vm, fd, GSI);
	/* Another GSI is another irqfd. */
	LI_WANT(__kvm_irqfd(vm, fd, GSI + 1, LEVEL | KVM_IRQFD_FLAG_DEASSIGN, 0), 0);
	LI_WANT(__kvm_irqfd_level(vm, fd, GSI), EBUSY);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | KVM_IRQFD_FLAG_DEASSIGN, 0), 0);
	/* As today: nothing there is no error. */
	LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | KVM_IRQFD_FLAG_DEASSIGN, 0), 0);
	LI_WANT(__kvm_irqfd(vm, closed_fd(), GSI, LEVEL | KVM_IRQFD_FLAG_DEASSIGN, 0), EBADF);
	LI_WANT(__kvm_irqfd(vm, fd, GSI, LEVEL | KVM_IRQFD_FLAG_DEASSIGN | (1 << 3), 0), EINVAL);
}

static void gsi_range(void)
{
	static const u32 gsis[] = { 24, 4095, 4096, 1 << 30, 0xffffffff };
	struct kvm_vm *vm = create(FULL);
	int i, j;

	for (i = 0; i < ARRAY_SIZE(gsis); i++) {
		int fd = li_eventfd(), eoi = li_eventfd(), unbound = li_eventfd();
		int err = __kvm_irqfd_level(vm, fd, gsis[i]);

		TEST_ASSERT(!err || err == EINVAL, "GSI %u: %d", gsis[i], err);
		if (!err)
			kvm_eoifd_bind(vm, eoi, fd);
		else
			LI_WANT(__kvm_eoifd_bind(vm, eoi, fd), ENOENT);
		err = __kvm_eoifd(vm, unbound, gsis[i], 0, 0);
		TEST_ASSERT(!err || err == EINVAL, "unbound, GSI %u: %d", gsis[i], err);
		for (j = 0; j < 3; j++)
			li_signal(fd);
		usleep(5000);
		LI_EQ(li_count(eoi) + li_count(unbound), 0, "signals");
		if (!err)
			LI_WANT(__kvm_eoifd(vm, unbound, gsis[i], KVM_EOIFD_FLAG_DEASSIGN, 0), 0);
		kvm_irqfd_deassign(vm, fd, gsis[i]);
	}
	for (i = 0; i < LI_PINS; i++)
		LI_EQ(li_pin_irr(vm, i, false), 0, "pin of nobody");
}

static void release_orders(void)
{
	struct kvm_vm *vm = create(FULL);
	int fd = li_eventfd(), eoi = li_eventfd();
	int i;

	for (i = 0; i < 8; i++) {
		kvm_irqfd_level(vm, fd, GSI);
		kvm_eoifd_bind(vm, eoi, fd);
		if (i & 2)
			li_signal(fd);
		if (i & 1) {
			kvm_irqfd_deassign(vm, fd, GSI);
			kvm_eoifd_unbind(vm, eoi, fd);
		} else {
			kvm_eoifd_unbind(vm, eoi, fd);
			kvm_irqfd_deassign(vm, fd, GSI);
		}
		LI_WANT(__kvm_eoifd(vm, eoi, 0, BOUND | KVM_EOIFD_FLAG_DEASSIGN, fd), ENOENT);
		LI_EQ(li_pin_irr(vm, GSI, false), 0, "pin after both de-assigns");
	}
	LI_EQ(li_count(eoi), 0, "signals of the eoifd");
}

static void orphan(void)
{
	struct kvm_vm *vm = create(FULL);
	int a = li_eventfd(), b = li_eventfd(), eoi = li_eventfd();
	const u32 deassign = BOUND | KVM_EOIFD_FLAG_DEASSIGN;

	/* By .fd alone. */
	kvm_irqfd_level(vm, a, GSI);
	kvm_eoifd_bind(vm, eoi, a);
	kvm_irqfd_deassign(vm, a, GSI);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, closed_fd()), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, a), ENOENT);

	/* Replaced by an assign with the same .fd, of the same irqfd or another. */
	kvm_irqfd_level(vm, a, GSI);
	kvm_eoifd_bind(vm, eoi, a);
	kvm_irqfd_deassign(vm, a, GSI);
	kvm_irqfd_level(vm, a, GSI);
	kvm_eoifd_bind(vm, eoi, a);
	kvm_irqfd_deassign(vm, a, GSI);
	kvm_irqfd_level(vm, b, GSI);
	kvm_eoifd_bind(vm, eoi, b);
	kvm_eoifd_unbind(vm, eoi, b);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, b), ENOENT);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, a), ENOENT);

	/* A live binding is found first. */
	kvm_irqfd_level(vm, a, GSI + 1);
	kvm_eoifd_bind(vm, eoi, a);
	kvm_eoifd_bind(vm, eoi, b);
	kvm_irqfd_deassign(vm, a, GSI + 1);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, b), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, a), 0);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, a), ENOENT);

	/* A live binding to another irqfd is no orphan. */
	kvm_irqfd_level(vm, a, GSI + 1);
	kvm_eoifd_bind(vm, eoi, b);
	LI_WANT(__kvm_eoifd(vm, eoi, 0, deassign, a), ENOENT);
	LI_WANT(__kvm_eoifd_bind(vm, a, b), EBUSY);
}

/* struct and flags as that VMM leaves them: only DEASSIGN is added. */
static void client_2012(void)
{
	struct kvm_vm *vm = create(FULL);
	int fd = li_eventfd(), unmask = li_eventfd();
	int i;

	for (i = 0; i < 4; i++) {
		struct kvm_irqfd irqfd = {
			.fd = fd, .gsi = GSI, .flags = KVM_IRQFD_FLAG_LEVEL };
		struct kvm_eoifd eoifd = {
			.fd = unmask, .flags = KVM_EOIFD_FLAG_LEVEL_IRQFD, .irqfd = fd };

		vm_ioctl(vm, KVM_IRQFD, &irqfd);
		vm_ioctl(vm, KVM_EOIFD, &eoifd);
		li_signal(fd);
		li_pin_is(vm, GSI, false, true);
		irqfd.flags |= KVM_IRQFD_FLAG_DEASSIGN;
		eoifd.flags |= KVM_EOIFD_FLAG_DEASSIGN;
		if (i & 1)
			vm_ioctl(vm, KVM_EOIFD, &eoifd);
		vm_ioctl(vm, KVM_IRQFD, &irqfd);
		if (!(i & 1))
			vm_ioctl(vm, KVM_EOIFD, &eoifd);
		LI_EQ(li_pin_irr(vm, GSI, false), 0, "pin after both de-assigns");
	}
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "capabilities", capabilities },
		{ "no_irqchip", no_irqchip },
		{ "split_irqchip", split_irqchip },
		{ "irqfd_errors", irqfd_errors },
		{ "eoifd_errors", eoifd_errors },
		{ "eoifd_unbound", eoifd_unbound },
		{ "error_order", error_order },
		{ "refused_is_nothing", refused_is_nothing },
		{ "deassign_flags", deassign_flags },
		{ "gsi_range", gsi_range },
		{ "release_orders", release_orders },
		{ "orphan", orphan },
		{ "client_2012", client_2012 },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

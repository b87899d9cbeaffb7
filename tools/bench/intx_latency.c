// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an interrupt of an assigned device costs, as the guest sees it.
 *
 * The guest maps the device's BAR, so the store that makes the device raise its
 * line causes no exit, and the time from before that store to the first act of
 * the ISR is the interrupt's path and nothing else.  Three kinds of irqfd run
 * the same guest: MSI, RESAMPLE and LEVEL with an eoifd.
 *
 *   isr    store -> first act of the ISR
 *   eoi    the EOI write, with de-assert and unmask where the line is a level
 *   again  EOI write with the line still up (MSI: one more pending) -> ISR
 *   cycle  isr + eoi of the same interrupt
 *
 * Each interrupt is counted: an ISR too many or too few fails the run, except
 * for what the emulator doubles (edu_reinjected()), which is reported.
 */
#include <getopt.h>
#include <linux/kvm.h>
#include <sys/resource.h>

#include "apic.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "vfio_edu.h"

#ifndef KVM_EOIFD
#include <linux/kvm_eoifd.h>
#endif

#define VECTOR		0x51
#define WARMUP		16
#define MAX_ROUNDS	10000
#define IOAPIC		0xfec00000UL
#define MSI_GSI		24
#define LIMIT		1000000000UL	/* loops until an interrupt is lost */
#define SETTLE		300000UL	/* loops in which no other may come */

enum kind { MSI, RESAMPLE, LEVEL };
static const char * const kind_names[] = { "msi", "resample", "level" };

enum metric { M_ISR, M_EOI, M_AGAIN, M_CYCLE, METRICS };
static const char * const metric_names[] = { "isr", "eoi", "again", "cycle" };

/* Shared with the guest; its binary is ours. */
static u32 g_rounds, g_gsi;
static bool g_msi;
static volatile u32 g_count, g_hold;
static u32 g_reinjected;
static volatile u64 g_now, g_before_eoi, g_eoi;
static u32 g_samples[METRICS][MAX_ROUNDS + WARMUP];

static void isr(struct ex_regs *regs)
{
	u64 now = rdtsc(), start;

	if (edu_reinjected(regs)) {
		g_reinjected++;
		return;
	}
	g_now = now;
	if (g_hold) {
		/* MSI: a second message, so that one more is pending. */
		g_hold--;
		if (g_msi)
			edu_write(EDU_RAISE, 1);
		g_before_eoi = rdtsc();
		x2apic_write_reg(APIC_EOI, 0);
	} else {
		edu_write(EDU_ACK, 1);
		start = rdtsc();
		x2apic_write_reg(APIC_EOI, 0);
		g_eoi = rdtsc() - start;
	}
	g_count++;
}

static void mask_pic(void)
{
	asm volatile("outb %%al, $0x21\n\toutb %%al, $0xa1" : : "a"(0xff));
}

static void ioapic_write(u32 reg, u32 value)
{
	*(volatile u32 *)IOAPIC = reg;
	*(volatile u32 *)(IOAPIC + 0x10) = value;
}

/* A spin without PAUSE, which the host may intercept, and without HLT. */
static void wait_for(u32 count)
{
	u64 i;

	for (i = 0; g_count < count && i < LIMIT; i++)
		barrier();
	GUEST_ASSERT_EQ(g_count, count);
}

static void settle(void)
{
	u64 i;

	for (i = 0; i < SETTLE; i++)
		barrier();
}

static void guest_code(void)
{
	u32 i, n = g_rounds + WARMUP;
	u64 start;

	x2apic_enable();
	mask_pic();
	if (!g_msi) {
		ioapic_write(0x10 + 2 * g_gsi + 1, 0);
		ioapic_write(0x10 + 2 * g_gsi, VECTOR | 1 << 15);
	}
	asm volatile("sti");

	for (i = 0; i < n; i++) {
		u32 count = g_count;

		start = rdtsc();
		edu_write(EDU_RAISE, 1);
		wait_for(count + 1);
		g_samples[M_ISR][i] = g_now - start;
		g_samples[M_EOI][i] = g_eoi;
		g_samples[M_CYCLE][i] = g_now - start + g_eoi;
	}
	for (i = 0; i < n; i++) {
		u32 count = g_count;

		g_hold = 1;
		edu_write(EDU_RAISE, 1);
		wait_for(count + 2);
		g_samples[M_AGAIN][i] = g_now - g_before_eoi;
	}
	settle();
	GUEST_ASSERT_EQ(edu_read(EDU_STATUS), 0);
	GUEST_ASSERT_EQ(g_count, 3 * n);
	GUEST_DONE();
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static void report(FILE *json, const char *name, enum metric m, u32 n)
{
	u32 *s = g_samples[m] + WARMUP;

	qsort(s, n, sizeof(*s), compare);
	printf("%s: %s, tsc, n %u, min %u, median %u, p90 %u, p99 %u, max %u\n",
	       name, metric_names[m], n, s[0], s[n / 2], s[(u64)n * 90 / 100],
	       s[(u64)n * 99 / 100], s[n - 1]);
	fprintf(json, "{\"path\": \"%s\", \"metric\": \"%s\", \"unit\": \"tsc\", "
		"\"n\": %u, \"min\": %u, \"median\": %u, \"p90\": %u, "
		"\"p99\": %u, \"max\": %u}\n", name, metric_names[m], n, s[0],
		s[n / 2], s[(u64)n * 90 / 100], s[(u64)n * 99 / 100], s[n - 1]);
}

static void route_msi(struct kvm_vm *vm)
{
	struct {
		struct kvm_irq_routing table;
		struct kvm_irq_routing_entry entry;
	} r = {
		.table.nr = 1,
		.entry = {
			.gsi = MSI_GSI,
			.type = KVM_IRQ_ROUTING_MSI,
			.u.msi = { .address_lo = 0xfee00000, .data = VECTOR },
		},
	};

	vm_ioctl(vm, KVM_SET_GSI_ROUTING, &r.table);
}

static void assign(struct kvm_vm *vm, enum kind kind, u32 gsi, int trigger,
		   int unmask)
{
	struct kvm_irqfd irqfd = { .fd = trigger, .gsi = gsi };
	struct kvm_eoifd eoifd = {
		.fd = unmask, .irqfd = trigger,
		.flags = KVM_EOIFD_FLAG_LEVEL_IRQFD,
	};

	if (kind == RESAMPLE) {
		irqfd.flags = KVM_IRQFD_FLAG_RESAMPLE;
		irqfd.resamplefd = unmask;
	} else if (kind == LEVEL) {
		irqfd.flags = KVM_IRQFD_FLAG_LEVEL;
	}
	vm_ioctl(vm, KVM_IRQFD, &irqfd);
	if (kind == LEVEL)
		vm_ioctl(vm, KVM_EOIFD, &eoifd);
}

static void run(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	vcpu_run(vcpu);
	switch (get_ucall(vcpu, &uc)) {
	case UCALL_DONE:
		return;
	case UCALL_ABORT:
		REPORT_GUEST_ASSERT(uc);
	default:
		TEST_FAIL("exit reason %u", vcpu->run->exit_reason);
	}
}

/* Kernels without the statistics have nothing to say here. */
static void report_stats(FILE *json, struct kvm_vm *vm, const char *name)
{
	uint64_t in = ~0ULL, deferred = ~0ULL;

	__vm_get_stat(vm, "irqfd_level_inplace", &in, 1);
	__vm_get_stat(vm, "irqfd_level_deferred", &deferred, 1);
	if (in != ~0ULL) {
		printf("%s: signals, %lu in place, %lu deferred\n", name, in,
		       deferred);
		fprintf(json, "{\"path\": \"%s\", \"inplace\": %lu, "
			"\"deferred\": %lu}\n", name, in, deferred);
	}
}

/* Each idle irqfd takes two files. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int new_eventfd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	TEST_ASSERT(fd >= 0, "eventfd: %s", strerror(errno));
	return fd;
}

static void require_caps(enum kind kind)
{
	__TEST_REQUIRE(kvm_has_cap(KVM_CAP_IRQFD), "no KVM_CAP_IRQFD");
	__TEST_REQUIRE(kind != RESAMPLE || kvm_has_cap(KVM_CAP_IRQFD_RESAMPLE),
		       "no KVM_CAP_IRQFD_RESAMPLE");
	__TEST_REQUIRE(kind != LEVEL || kvm_has_cap(KVM_CAP_IRQFD_LEVEL),
		       "no KVM_CAP_IRQFD_LEVEL");
	__TEST_REQUIRE(kind != LEVEL || kvm_has_cap(KVM_CAP_EOIFD_LEVEL_IRQFD),
		       "no KVM_CAP_EOIFD_LEVEL_IRQFD");
}

static void usage(const char *prog)
{
	printf("Usage: %s --mode msi|resample|level [--name NAME] [--gsi N]\n"
	       "  [-n N] [--sharers N] [--others N] [--json FILE]\n"
	       "  -n         interrupts, also --rounds (1000)\n"
	       "  --gsi      GSI of the line (20: IOAPIC alone; 10: PIC and IOAPIC)\n"
	       "  --sharers  idle irqfds of the same kind on the GSI\n"
	       "  --others   idle irqfds of the same kind on GSI 21\n"
	       "  --json     one JSON object a line into FILE (stdout)\n"
	       "All figures are TSC ticks: instructions, under icount.\n", prog);
	exit(KSFT_FAIL);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "mode", 1, NULL, 'm' }, { "name", 1, NULL, 'N' },
		{ "gsi", 1, NULL, 'g' }, { "rounds", 1, NULL, 'n' },
		{ "sharers", 1, NULL, 's' }, { "others", 1, NULL, 'o' },
		{ "json", 1, NULL, 'j' }, { }
	};
	u32 gsi = 20, rounds = 1000, sharers = 0, others = 0, i;
	const char *name = NULL;
	FILE *json = stdout;
	struct kvm_vcpu *vcpu;
	int kind = -1, c;
	struct kvm_vm *vm;
	struct edu edu;

	while ((c = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			for (kind = LEVEL; kind >= 0; kind--)
				if (!strcmp(optarg, kind_names[kind]))
					break;
			break;
		case 'N':
			name = optarg;
			break;
		case 'g':
			gsi = atoi_non_negative("--gsi", optarg);
			break;
		case 'n':
			rounds = atoi_positive("-n", optarg);
			break;
		case 'j':
			json = fopen(optarg, "w");
			TEST_ASSERT(json, "cannot write %s", optarg);
			break;
		case 's':
			sharers = atoi_non_negative("--sharers", optarg);
			break;
		case 'o':
			others = atoi_non_negative("--others", optarg);
			break;
		default:
			usage(argv[0]);
		}
	}
	if (kind < 0 || gsi > 23 || rounds > MAX_ROUNDS)
		usage(argv[0]);
	if (!name)
		name = kind_names[kind];

	require_caps(kind);
	raise_file_limit();
	edu_open(&edu);
	vm = vm_create_with_one_vcpu(&vcpu, guest_code);
	edu_map_guest(&edu, vm);
	virt_pg_map(vm, IOAPIC, IOAPIC);
	vm_install_exception_handler(vm, VECTOR, isr);

	g_rounds = rounds;
	g_gsi = gsi;
	g_msi = kind == MSI;
	sync_global_to_guest(vm, g_rounds);
	sync_global_to_guest(vm, g_gsi);
	sync_global_to_guest(vm, g_msi);

	for (i = 0; i < sharers; i++)
		assign(vm, kind, gsi, new_eventfd(), new_eventfd());
	for (i = 0; i < others; i++)
		assign(vm, kind, 21, new_eventfd(), new_eventfd());
	if (kind == MSI) {
		route_msi(vm);
		edu_enable_msi(&edu);
		assign(vm, kind, MSI_GSI, edu.trigger, -1);
	} else {
		assign(vm, kind, gsi, edu.trigger, edu.unmask);
		edu_enable_intx(&edu);
	}

	run(vcpu);
	sync_global_from_guest(vm, g_samples);
	sync_global_from_guest(vm, g_reinjected);
	if (g_reinjected)
		printf("%s: %u doubled by the emulator\n", name, g_reinjected);
	for (i = 0; i < METRICS; i++)
		report(json, name, i, rounds);
	report_stats(json, vm, name);
	TEST_ASSERT(!ferror(json) && !fflush(json), "cannot write the figures");
	kvm_vm_free(vm);
	edu_close(&edu);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds and guests that use the chips in odd ways.
 *
 * both_live		GSI 10 by PIC and IOAPIC, both unmasked: one notification for
 *			each assertion, though the guest takes two interrupts
 * vector_in_service	a new vector before the EOI: as on hardware that EOI finds no
 *			pin; the interrupt comes again when the guest has cleared
 *			remote IRR by the detour over edge, as Linux does
 * dest_in_service	a new destination mode before the EOI: nothing is lost
 * trigger_in_service	edge and back to level, each before the EOI: nothing is lost;
 *			as on hardware the latter interrupts once more
 * slow_walk		64 vCPUs, a logical destination that no APIC map resolves: each
 *			signal is left to a worker, counted, and delivered once
 */
#include "level_irqfd.h"

#define VCPUS	64
#define APIC_LDR	0xd0
#define APIC_DFR	0xe0
#define SIGNALS	100

struct bound {
	struct li li;
	int fd, eoi;
};

/* A level irqfd with an eoifd, and a guest for it. */
static void bound_init(struct bound *b, u32 gsi)
{
	b->fd = li_eventfd();
	b->eoi = li_eventfd();
	kvm_irqfd_level(b->li.vm, b->fd, gsi);
	kvm_eoifd_bind(b->li.vm, b->eoi, b->fd);
}

static void write_rte(struct li *li, u32 pin, u32 rte, u32 dest)
{
	li->g->new_rte = rte;
	li->g->new_dest = dest;
	li_do(li, LI_WRITE_RTE, pin);
}

static void both_live(void)
{
	struct bound b;
	u32 i;

	li_create(&b.li, 10, true);
	bound_init(&b, 10);
	write_rte(&b.li, 10, LI_RTE_LEVEL | (LI_IOAPIC_VECTOR + 10), 0);
	for (i = 1; i <= 5; i++) {
		li_signal(b.fd);
		li_pin_is(b.li.vm, 10, false, true);
		li_pin_is(b.li.vm, 10, true, true);
		li_take(&b.li, 2 * i);
		LI_EQ(b.li.g->per_vector[LI_PIC_VECTOR + 10], i, "interrupts by the PIC");
		LI_EQ(b.li.g->per_vector[LI_IOAPIC_VECTOR + 10], i, "interrupts by the IOAPIC");
		LI_EQ(li_count(b.eoi), 1, "eoifd");
		li_pin_is(b.li.vm, 10, false, false);
		li_pin_is(b.li.vm, 10, true, false);
		LI_EQ(li_remote_irr(b.li.vm, 10), 0, "remote_irr");
	}
	li_destroy(&b.li);
}

static void vector_in_service(void)
{
	u32 vector = LI_IOAPIC_VECTOR + 21;
	struct bound b;

	li_create(&b.li, 20, false);
	bound_init(&b, 20);
	b.li.g->isr_do = LI_ISR_WRITE_RTE | LI_ISR_EOI;
	b.li.g->new_rte = LI_RTE_LEVEL | vector;
	li_signal(b.fd);
	li_take(&b.li, 1);
	LI_EQ(li_count(b.eoi), 0, "eoifd after the EOI of the old vector");
	li_line_is(&b.li, true);
	LI_EQ(li_remote_irr(b.li.vm, 20), 1, "remote_irr after the EOI of the old vector");

	b.li.g->isr_do = LI_ISR_EOI;
	write_rte(&b.li, 20, LI_RTE_MASKED | vector, 0);
	write_rte(&b.li, 20, LI_RTE_LEVEL | vector, 0);
	li_take(&b.li, 2);
	LI_EQ(b.li.g->per_vector[vector], 1, "interrupts by the new vector");
	LI_EQ(li_count(b.eoi), 1, "eoifd");
	li_line_is(&b.li, false);
	LI_EQ(li_remote_irr(b.li.vm, 20), 0, "remote_irr");
	li_destroy(&b.li);
}

static void dest_in_service(void)
{
	struct bound b;
	u32 i;

	li_create(&b.li, 20, false);
	bound_init(&b, 20);
	for (i = 1; i <= 4; i++) {
		/* Cluster 0, CPU 0 of x2APIC's logical destinations, or physical 0. */
		b.li.g->isr_do = LI_ISR_WRITE_RTE | LI_ISR_EOI;
		b.li.g->new_rte = LI_RTE_LEVEL | (i & 1 ? LI_RTE_LOGICAL : 0) |
				  (LI_IOAPIC_VECTOR + 20);
		b.li.g->new_dest = i & 1;
		li_signal(b.fd);
		li_take(&b.li, i);
		LI_EQ(li_count(b.eoi), 1, "eoifd");
		li_line_is(&b.li, false);
	}
	li_destroy(&b.li);
}

/* The write of a level trigger finds the line up, and sends a second interrupt. */
static void trigger_in_service(void)
{
	static const u32 interrupts[] = { 1, 3, 4 }, rte[] = { 0, LI_RTE_LEVEL, LI_RTE_LEVEL };
	struct bound b;
	u32 i;

	li_create(&b.li, 20, false);
	bound_init(&b, 20);
	b.li.g->isr_do = LI_ISR_WRITE_RTE | LI_ISR_EOI;
	for (i = 0; i < ARRAY_SIZE(rte); i++) {
		b.li.g->new_rte = rte[i] | (LI_IOAPIC_VECTOR + 20);
		if (i == 2)
			b.li.g->isr_do = LI_ISR_EOI;
		li_signal(b.fd);
		li_take(&b.li, interrupts[i]);
		LI_EQ(li_count(b.eoi), 1, "eoifd");
		li_line_is(&b.li, false);
		LI_EQ(li_remote_irr(b.li.vm, 20), 0, "remote_irr");
	}
	li_destroy(&b.li);
}

/* Flat logical destination 2, beside the first vCPU's x2APIC: no map has both. */
static void spoil_map(struct kvm_vcpu *vcpu)
{
	struct kvm_lapic_state apic;

	vcpu_ioctl(vcpu, KVM_GET_LAPIC, &apic);
	*(u32 *)&apic.regs[APIC_LDR] = 2 << 24;
	*(u32 *)&apic.regs[APIC_DFR] = ~0;
	*(u32 *)&apic.regs[APIC_SPIV] = 0x1ff;
	vcpu_ioctl(vcpu, KVM_SET_LAPIC, &apic);
}

static void slow_walk(void)
{
	u32 rte = LI_RTE_LEVEL | (LI_IOAPIC_VECTOR + 20), i, deferred;
	struct kvm_vcpu *vcpus[VCPUS];
	struct bound b;

	li_create_vcpus(&b.li, 20, false, vcpus, VCPUS);
	bound_init(&b, 20);
	for (i = 1; i < VCPUS; i++)
		spoil_map(vcpus[i]);

	li_signal(b.fd);
	li_take(&b.li, 1);
	LI_EQ(li_count(b.eoi), 1, "eoifd");
	LI_EQ(vm_get_stat(b.li.vm, "irqfd_level_deferred"), 0,
	      "signals left to a worker, physical destination");

	write_rte(&b.li, 20, rte | LI_RTE_LOGICAL | LI_RTE_LOWEST_PRIO, 1);
	for (i = 2; i <= SIGNALS + 1; i++) {
		li_signal(b.fd);
		li_take(&b.li, i);
		LI_EQ(li_count(b.eoi), 1, "eoifd");
	}
	li_line_is(&b.li, false);
	deferred = vm_get_stat(b.li.vm, "irqfd_level_deferred");
	LI_EQ(deferred, SIGNALS, "signals left to a worker, logical destination");
	li_destroy(&b.li);
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "both_live", both_live },
		{ "vector_in_service", vector_in_service },
		{ "dest_in_service", dest_in_service },
		{ "trigger_in_service", trigger_in_service },
		{ "slow_walk", slow_walk },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

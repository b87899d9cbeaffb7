// SPDX-License-Identifier: GPL-2.0-only
/*
 * An assigned device (QEMU's edu) whose INTx is still up at each EOI, against
 * the limiter of interrupts in a row.
 *
 * busy		50,000 interrupts in a row, and none is late
 * mixed	the same while KVM_IRQ_LINE holds the line, too; once the device is
 *		quiet, the limiter gives the guest time to run
 * gone		config space reads as all ones: the guest is not interrupted for
 *		ever, and the device works again when it is back; needs the device
 *		behind a PCI bridge
 */
#include "vfio_intx.h"

#define VT_STORM	50000
#define VT_LIMIT	10000	/* IOAPIC_SUCCESSIVE_IRQ_MAX_COUNT */
#define VT_GONE		64	/* VFIO looks for the device that often */

/* Guest side. */

static void guest_busy(void)
{
	vi_start();
	vi_guest.hold = VT_STORM;
	vi_raise();
	vi_wait(VT_STORM + 1);
	GUEST_ASSERT_EQ(vi_guest.late, 0);
	vi_quiet(VT_STORM + 1);
	GUEST_DONE();
}

/*
 * The first interrupt that is late is the first that the limiter has held back:
 * VT_LIMIT EOIs in a row have left the pin up, the last of the device's included.
 */
static void guest_mixed(void)
{
	u32 device = 2 * VT_LIMIT;
	u64 i;

	vi_start();
	vi_guest.hold = device - 1;
	vi_guest.sync = 1;
	vi_raise();
	for (i = 0; i < VI_SPINS && !vi_guest.late; i++)
		vi_guest.loops++;
	GUEST_ASSERT_EQ(vi_guest.late, device + VT_LIMIT);
	GUEST_SYNC(VI_STEP);
	GUEST_DONE();
}

static void guest_gone(void)
{
	u32 before;
	u64 i;

	vi_start();
	vi_guest.hold = LI_NEVER;
	vi_guest.sync = 1;
	vi_raise();
	for (i = 0; i < VI_SPINS && !vi_guest.isr; i++)
		barrier();
	for (i = 0; i < LI_SETTLE; i++)
		barrier();
	before = vi_guest.isr;
	GUEST_ASSERT(before >= 1 && before <= 1 + VT_GONE);
	vi_quiet(before);
	vi_guest.hold = 0;
	GUEST_SYNC(VI_STEP);
	vi_wait(before + 1);
	vi_quiet(before + 1);
	vi_raise();
	vi_wait(before + 2);
	vi_quiet(before + 2);
	GUEST_DONE();
}

/* Host side. */

static void busy(bool level)
{
	vi_alone(level, 20, guest_busy);
}

static void mixed(bool level)
{
	struct vi vi;

	vi_create(&vi, level, 20, guest_mixed);
	vi_run_to(&vi, VI_IN_ISR);
	vi.g->sync = 0;
	li_irq_line(vi.vm, 20, 1);
	vi_run_to(&vi, VI_STEP);
	li_pin_is(vi.vm, 20, false, true);
	li_irq_line(vi.vm, 20, 0);
	li_pin_is(vi.vm, 20, false, false);
	vi_finish(&vi);
	vi_destroy(&vi);
}

/* The config space of the bridge above the device, or -1. */
static int bridge_open(const char *bdf)
{
	char path[PATH_MAX], real[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	TEST_ASSERT(realpath(path, real), "%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%.*s/config", (int)(strrchr(real, '/') - real), real);
	return open(path, O_RDWR);
}

/* Config accesses to the bus behind the bridge find it, or nobody. */
static void bridge_bus(int bridge, u8 *bus, bool there)
{
	u8 elsewhere = 0xfe;

	TEST_ASSERT(pwrite(bridge, there ? bus : &elsewhere, 1, PCI_SECONDARY_BUS) == 1,
		    "cannot write the bridge's bus number");
}

static void vi_unmask(struct vi *vi)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_INTX_IRQ_INDEX, .count = 1,
		.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_UNMASK,
	};

	TEST_ASSERT(!ioctl(vi->edu.device, VFIO_DEVICE_SET_IRQS, &set), "unmask");
}

static void gone(bool level)
{
	struct vi vi;
	int bridge;
	u8 bus;

	vi_create(&vi, level, 20, guest_gone);
	bridge = bridge_open(vi.edu.bdf);
	TEST_ASSERT(bridge >= 0 && pread(bridge, &bus, 1, PCI_SECONDARY_BUS) == 1,
		    "no bridge above %s", vi.edu.bdf);
	vi_run_to(&vi, VI_IN_ISR);
	vi.g->sync = 0;
	bridge_bus(bridge, &bus, false);
	vi_run_to(&vi, VI_STEP);
	vi_run_to(&vi, VI_STEP);
	bridge_bus(bridge, &bus, true);
	vi_unmask(&vi);
	vi_finish(&vi);
	LI_EQ(vi_status(&vi), 0, "interrupt status of the device");
	li_pin_is(vi.vm, 20, false, false);
	close(bridge);
	vi_destroy(&vi);
}

int main(int argc, char **argv)
{
	static const struct vi_test tests[] = {
		{ "busy", busy },
		{ "mixed", mixed },
		{ "gone", gone },
	};

	vi_main(argc, argv, tests, ARRAY_SIZE(tests));
}

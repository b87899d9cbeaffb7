/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * QEMU's edu device (docs/specs/edu.rst in QEMU), assigned through VFIO to the
 * guest of a KVM selftest: its BAR is guest memory, so guest code raises and
 * acknowledges an interrupt without an exit.
 */
#ifndef SELFTEST_VFIO_EDU_H
#define SELFTEST_VFIO_EDU_H

#include <asm/processor-flags.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define EDU_VENDOR	0x1234
#define EDU_DEVICE	0x11e8
#define EDU_STATUS	0x24
#define EDU_RAISE	0x60
#define EDU_ACK		0x64

#define EDU_GPA		0xd0000000UL
#define EDU_GVA		0xd0000000UL
#define EDU_SLOT	20

struct edu {
	char bdf[NAME_MAX + 1];
	int container, group, device;
	void *bar;
	size_t bar_size;
	int trigger, unmask;
};

static inline unsigned int edu_read_id(const char *bdf, const char *name)
{
	unsigned int id = 0;
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%x", &id) != 1)
		id = 0;
	fclose(f);
	return id;
}

static inline bool edu_id_matches(const char *bdf)
{
	return edu_read_id(bdf, "vendor") == EDU_VENDOR &&
	       edu_read_id(bdf, "device") == EDU_DEVICE;
}

static inline bool edu_find(char *bdf, size_t len)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		found = e->d_name[0] != '.' && edu_id_matches(e->d_name);
		if (found)
			snprintf(bdf, len, "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static inline void edu_sysfs_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	TEST_ASSERT(fd >= 0, "cannot open %s", path);
	TEST_ASSERT(write(fd, value, strlen(value)) == (ssize_t)strlen(value),
		    "cannot write %s to %s", value, path);
	close(fd);
}

static inline void edu_bind(const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/vfio-pci/%s", bdf);
	if (!access(path, F_OK))
		return;
	snprintf(path, sizeof(path),
		 "/sys/bus/pci/devices/%s/driver_override", bdf);
	edu_sysfs_write(path, "vfio-pci");
	edu_sysfs_write("/sys/bus/pci/drivers_probe", bdf);
}

static inline int edu_open_group(const char *bdf)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", bdf);
	n = readlink(path, link, sizeof(link) - 1);
	TEST_ASSERT(n > 0, "%s has no IOMMU group", bdf);
	link[n] = 0;
	snprintf(path, sizeof(path), "/dev/vfio/%s", strrchr(link, '/') + 1);
	return open(path, O_RDWR);
}

/* The device answers only with memory decoding, and sends MSIs as a master. */
static inline void edu_enable(struct edu *edu)
{
	struct vfio_region_info cfg = {
		.argsz = sizeof(cfg), .index = VFIO_PCI_CONFIG_REGION_INDEX };
	u16 cmd = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;

	TEST_ASSERT(!ioctl(edu->device, VFIO_DEVICE_GET_REGION_INFO, &cfg),
		    "no config region");
	TEST_ASSERT(pwrite(edu->device, &cmd, 2, cfg.offset + PCI_COMMAND) == 2,
		    "cannot write PCI_COMMAND");
}

static inline void edu_open(struct edu *edu)
{
	struct vfio_region_info bar = {
		.argsz = sizeof(bar), .index = VFIO_PCI_BAR0_REGION_INDEX };

	memset(edu, 0, sizeof(*edu));
	__TEST_REQUIRE(edu_find(edu->bdf, sizeof(edu->bdf)), "no edu device");
	edu_bind(edu->bdf);
	edu->container = open("/dev/vfio/vfio", O_RDWR);
	__TEST_REQUIRE(edu->container >= 0, "no /dev/vfio/vfio");
	edu->group = edu_open_group(edu->bdf);
	TEST_ASSERT(edu->group >= 0, "cannot open the VFIO group of %s", edu->bdf);
	TEST_ASSERT(!ioctl(edu->group, VFIO_GROUP_SET_CONTAINER, &edu->container),
		    "VFIO_GROUP_SET_CONTAINER");
	TEST_ASSERT(!ioctl(edu->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU),
		    "VFIO_SET_IOMMU");
	edu->device = ioctl(edu->group, VFIO_GROUP_GET_DEVICE_FD, edu->bdf);
	TEST_ASSERT(edu->device >= 0, "VFIO_GROUP_GET_DEVICE_FD");
	edu_enable(edu);

	TEST_ASSERT(!ioctl(edu->device, VFIO_DEVICE_GET_REGION_INFO, &bar),
		    "no BAR 0");
	edu->bar_size = bar.size;
	edu->bar = mmap(NULL, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			edu->device, bar.offset);
	TEST_ASSERT(edu->bar != MAP_FAILED, "cannot map BAR 0");
	/* Nothing resets the device: the last user may have left its line up. */
	*(volatile u32 *)(edu->bar + EDU_ACK) = ~0;
	edu->trigger = eventfd(0, EFD_NONBLOCK);
	edu->unmask = eventfd(0, EFD_NONBLOCK);
}

static inline void edu_close(struct edu *edu)
{
	munmap(edu->bar, edu->bar_size);
	close(edu->trigger);
	close(edu->unmask);
	close(edu->device);
	close(edu->group);
	close(edu->container);
}

static inline void edu_map_guest(struct edu *edu, struct kvm_vm *vm)
{
	vm_set_user_memory_region(vm, EDU_SLOT, 0, EDU_GPA, edu->bar_size,
				  edu->bar);
	virt_pg_map(vm, EDU_GVA, EDU_GPA);
}

/* @fd < 0: disable the index, or take the eventfd away. */
static inline int edu_set_irq(struct edu *edu, u32 index, u32 action, int fd)
{
	struct {
		struct vfio_irq_set set;
		s32 fd;
	} arg = {
		.set = {
			.argsz = sizeof(arg),
			.flags = VFIO_IRQ_SET_DATA_EVENTFD | action,
			.index = index,
			.count = 1,
		},
		.fd = fd,
	};

	return ioctl(edu->device, VFIO_DEVICE_SET_IRQS, &arg);
}

static inline void edu_disable_irq(struct edu *edu, u32 index)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = index,
		.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER,
	};

	ioctl(edu->device, VFIO_DEVICE_SET_IRQS, &set);
}

static inline void edu_enable_msi(struct edu *edu)
{
	TEST_ASSERT(!edu_set_irq(edu, VFIO_PCI_MSI_IRQ_INDEX,
				 VFIO_IRQ_SET_ACTION_TRIGGER, edu->trigger),
		    "cannot enable MSI");
}

static inline void edu_enable_intx(struct edu *edu)
{
	TEST_ASSERT(!edu_set_irq(edu, VFIO_PCI_INTX_IRQ_INDEX,
				 VFIO_IRQ_SET_ACTION_TRIGGER, edu->trigger),
		    "cannot enable INTx");
	TEST_ASSERT(!edu_set_irq(edu, VFIO_PCI_INTX_IRQ_INDEX,
				 VFIO_IRQ_SET_ACTION_UNMASK, edu->unmask),
		    "cannot set the unmask eventfd");
}

/* Guest side. */

/*
 * An interrupt of code that has interrupts off: no processor takes one.  QEMU's
 * emulated SVM under icount does, about once in 20,000, MSIs on a stock kernel
 * included.  Probably an exit in the first instructions of the handler reports
 * the event as not delivered, and KVM injects it anew.  The device's interrupt
 * was one, so the inner run of the handler has nothing to do.
 */
static inline bool edu_reinjected(const struct ex_regs *regs)
{
	return !(regs->rflags & X86_EFLAGS_IF);
}

static inline void edu_write(u32 reg, u32 value)
{
	*(volatile u32 *)(EDU_GVA + reg) = value;
}

static inline u32 edu_read(u32 reg)
{
	return *(volatile u32 *)(EDU_GVA + reg);
}

#endif /* SELFTEST_VFIO_EDU_H */

/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Level irqfds and EOI eventfds.  Part of <linux/kvm.h>, which includes this
 * file: user space does not include it by itself.
 *
 * A level irqfd (KVM_IRQFD with KVM_IRQFD_FLAG_LEVEL) holds its GSI up from a
 * signal of its eventfd until an EOI of the GSI acknowledges it, which takes a
 * bound eoifd, or until it is de-assigned.  An eoifd (KVM_EOIFD) is an eventfd
 * that KVM signals at an EOI: with KVM_EOIFD_FLAG_LEVEL_IRQFD once for each
 * assertion of that level irqfd, without it at each EOI of the GSI.
 */
#ifndef _UAPI_LINUX_KVM_EOIFD_H
#define _UAPI_LINUX_KVM_EOIFD_H

#include <linux/types.h>

/*
 * All numbers of this extension stand here.  Mainline hands out capabilities
 * and ioctls in order (Linux 7.3 is at capability 251 and ioctl 0xd5, with
 * 0xe0-0xe3 taken), so these sit far above: a kernel that carries the
 * extension must not answer to a number that a later mainline means otherwise.
 */
#define KVM_CAP_IRQFD_LEVEL		4120
#define KVM_CAP_EOIFD			4121
#define KVM_CAP_EOIFD_LEVEL_IRQFD	4122

/* A flag of struct kvm_irqfd; bits 0 and 1 are DEASSIGN and RESAMPLE. */
#define KVM_IRQFD_FLAG_LEVEL		(1 << 2)

struct kvm_eoifd {
	__u32 fd;	/* eventfd to signal */
	__u32 gsi;	/* ignored with KVM_EOIFD_FLAG_LEVEL_IRQFD */
	__u32 flags;
	__u32 irqfd;	/* eventfd of a level irqfd of this VM */
	__u8  pad[16];	/* zero */
};

#define KVM_EOIFD_FLAG_DEASSIGN		(1 << 0)
#define KVM_EOIFD_FLAG_LEVEL_IRQFD	(1 << 1)

#define KVM_EOIFD	_IOW(KVMIO, 0xf8, struct kvm_eoifd)

#endif /* _UAPI_LINUX_KVM_EOIFD_H */

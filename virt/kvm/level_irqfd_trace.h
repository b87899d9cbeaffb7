/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvm_level

#if !defined(_KVM_LEVEL_IRQFD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KVM_LEVEL_IRQFD_TRACE_H

#include <linux/tracepoint.h>

#define KVM_LEVEL_HELD		0
#define KVM_LEVEL_INPLACE	1
#define KVM_LEVEL_DEFERRED	2

/* An irqfd was signalled: already up, injected in place, or left to a worker. */
TRACE_EVENT(kvm_level_assert,
	TP_PROTO(u32 gsi, int how),
	TP_ARGS(gsi, how),

	TP_STRUCT__entry(
		__field(u32, gsi)
		__field(int, how)
	),

	TP_fast_assign(
		__entry->gsi = gsi;
		__entry->how = how;
	),

	TP_printk("gsi %u %s", __entry->gsi,
		  __print_symbolic(__entry->how,
				   { KVM_LEVEL_HELD, "held" },
				   { KVM_LEVEL_INPLACE, "in place" },
				   { KVM_LEVEL_DEFERRED, "deferred" }))
);

/* An EOI reached a line; acked tells whether it cleared a mark. */
TRACE_EVENT(kvm_level_eoi,
	TP_PROTO(u32 gsi, bool acked),
	TP_ARGS(gsi, acked),

	TP_STRUCT__entry(
		__field(u32, gsi)
		__field(bool, acked)
	),

	TP_fast_assign(
		__entry->gsi = gsi;
		__entry->acked = acked;
	),

	TP_printk("gsi %u%s", __entry->gsi, __entry->acked ? " acked" : "")
);

/* An eoifd or a resamplefd is about to be signalled. */
TRACE_EVENT(kvm_level_notify,
	TP_PROTO(u32 gsi, const void *eventfd),
	TP_ARGS(gsi, eventfd),

	TP_STRUCT__entry(
		__field(u32, gsi)
		__field(const void *, eventfd)
	),

	TP_fast_assign(
		__entry->gsi = gsi;
		__entry->eventfd = eventfd;
	),

	TP_printk("gsi %u eventfd %p", __entry->gsi, __entry->eventfd)
);

#endif /* _KVM_LEVEL_IRQFD_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../virt/kvm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE level_irqfd_trace

#include <trace/define_trace.h>

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level irqfds: lines, and the irqfds on them, come and go.
 *
 * A line is what the level and resample irqfds and the eoifds of a GSI share;
 * the first one makes it, the last one takes it away.  All of this runs in
 * process context, beside signals and EOIs that take none of its locks.
 *
 * Invariant: what a signal or an EOI can still see is freed only after it was
 * hidden and those in flight were waited for.
 */

#include <linux/eventfd.h>
#include <linux/hashtable.h>
#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/srcu.h>

/*
 * Lines come and go
 */

/*
 * The pins move first, then the marks are read, see irqfd_raise().  A signal
 * in flight that still saw the old route recomputes a pin that the line has
 * left, and finds it down.
 */
static void irq_line_reroute(struct kvm_irq_line *line)
{
	struct kvm_kernel_irq_routing_entry entries[KVM_NR_IRQCHIPS];
	struct kvm *kvm = line->kvm;
	int n;

	lockdep_assert_held(&kvm->irq_lock);

	n = kvm_irq_map_gsi(kvm, entries, line->gsi);
	kvm_arch_irq_line_route(line, entries, n);
}

void kvm_irq_lines_reroute(struct kvm *kvm)
{
	struct kvm_irq_line *line;
	int bkt;

	lockdep_assert_held(&kvm->irq_lock);

	if (hash_empty(kvm->irqfds.lines))
		return;

	hash_for_each(kvm->irqfds.lines, bkt, line, link)
		irq_line_reroute(line);

	/* Exits for EOIs follow the pins. */
	kvm_arch_post_irq_ack_notifier_list_update(kvm);
}

void kvm_irq_lines_init(struct kvm *kvm)
{
	hash_init(kvm->irqfds.lines);
	INIT_LIST_HEAD(&kvm->irqfds.eoifds);
}

static void irq_line_update_work(struct work_struct *work)
{
	kvm_arch_irq_line_update(container_of(work, struct kvm_irq_line,
					      update));
}

static struct kvm_irq_line *irq_line_create(struct kvm *kvm, u32 gsi)
{
	struct kvm_irq_line *line;
	int chip;

	line = kzalloc(sizeof(*line), GFP_KERNEL_ACCOUNT);
	if (!line)
		return ERR_PTR(-ENOMEM);

	line->kvm = kvm;
	line->gsi = gsi;
	INIT_LIST_HEAD(&line->resamplers);
	INIT_LIST_HEAD(&line->eoifds);
	INIT_WORK(&line->update, irq_line_update_work);
	for (chip = 0; chip < KVM_LINE_CHIPS; chip++)
		line->at[chip].pin = -1;

	mutex_lock(&kvm->irq_lock);
	hash_add_rcu(kvm->irqfds.lines, &line->link, gsi);
	irq_line_reroute(line);
	mutex_unlock(&kvm->irq_lock);

	/* An EOI of this GSI must exit from now on. */
	kvm_arch_post_irq_ack_notifier_list_update(kvm);
	return line;
}

struct kvm_irq_line *kvm_irq_line_get(struct kvm *kvm, u32 gsi)
{
	struct kvm_irq_line *line;

	lockdep_assert_held(&kvm->irqfds.resampler_lock);

	line = kvm_irq_line_find(kvm, gsi);
	if (!line)
		line = irq_line_create(kvm, gsi);
	if (!IS_ERR(line))
		line->users++;
	return line;
}

/*
 * Returns the line if this was the last user.  It is out of sight then, but
 * EOIs in flight may still use it: pass it to kvm_irq_line_free() after
 * resampler_lock was dropped, since that one waits.
 */
struct kvm_irq_line *kvm_irq_line_put(struct kvm_irq_line *line)
{
	struct kvm *kvm = line->kvm;

	lockdep_assert_held(&kvm->irqfds.resampler_lock);

	if (--line->users)
		return NULL;

	mutex_lock(&kvm->irq_lock);
	hash_del_rcu(&line->link);
	kvm_arch_irq_line_route(line, NULL, 0);
	mutex_unlock(&kvm->irq_lock);
	return line;
}

void kvm_irq_line_free(struct kvm_irq_line *line)
{
	struct kvm_line_marks *m, *next;

	if (!line)
		return;

	synchronize_srcu_expedited(&line->kvm->irq_srcu);
	cancel_work_sync(&line->update);
	kvm_arch_post_irq_ack_notifier_list_update(line->kvm);

	for (m = line->marks.next; m; m = next) {
		next = m->next;
		kfree(m);
	}
	kfree(line);
}

/*
 * Irqfds come and go
 */

bool kvm_irqfd_flags_valid(u32 flags)
{
	u32 kinds = KVM_IRQFD_FLAG_LEVEL | KVM_IRQFD_FLAG_RESAMPLE;

	if (flags & ~(KVM_IRQFD_FLAG_DEASSIGN | kinds))
		return false;

	return (flags & KVM_IRQFD_FLAG_DEASSIGN) || (flags & kinds) != kinds;
}

/* Find or make room for one more mark. */
static struct kvm_line_marks *irq_line_room(struct kvm_irq_line *line)
{
	struct kvm_line_marks *m = &line->marks;

	while (m->used == ~0UL && m->next)
		m = m->next;

	if (m->used == ~0UL) {
		struct kvm_line_marks *more;

		more = kzalloc(sizeof(*more), GFP_KERNEL_ACCOUNT);
		if (!more)
			return NULL;

		/* Zeroed before it is seen by kvm_irq_line_marked(). */
		smp_store_release(&m->next, more);
		m = more;
	}
	return m;
}

static int irq_line_add(struct kvm_irq_line *line,
			struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_irqfd_source *src = &irqfd->source;
	struct kvm_line_marks *m;

	lockdep_assert_held(&line->kvm->irqfds.resampler_lock);

	m = irq_line_room(line);
	if (!m)
		return -ENOMEM;

	src->line = line;
	src->marks = m;
	src->bit = ffz(m->used);
	__set_bit(src->bit, &m->used);
	WRITE_ONCE(line->irqfds, line->irqfds + 1);
	rcu_assign_pointer(m->irqfd[src->bit], irqfd);

	if (irqfd->resamplefd) {
		set_bit(src->bit, &m->sampled);
		list_add_rcu(&src->resampler_link, &line->resamplers);
	}
	return 0;
}

/*
 * Returns 0 with irqfd->source.line set for a level or resample irqfd, and
 * without it for any other.  The mark cannot be set before the caller puts the
 * irqfd on its eventfd's wait queue.
 */
int kvm_irq_line_attach(struct kvm_kernel_irqfd *irqfd, struct kvm_irqfd *args)
{
	struct kvm *kvm = irqfd->kvm;
	struct kvm_irq_line *line, *dead = NULL;
	struct eventfd_ctx *resamplefd;
	int ret;

	if (!(args->flags & (KVM_IRQFD_FLAG_LEVEL | KVM_IRQFD_FLAG_RESAMPLE)))
		return 0;

	if (args->flags & KVM_IRQFD_FLAG_RESAMPLE) {
		resamplefd = eventfd_ctx_fdget(args->resamplefd);
		if (IS_ERR(resamplefd))
			return PTR_ERR(resamplefd);
		irqfd->resamplefd = resamplefd;
	}

	mutex_lock(&kvm->irqfds.resampler_lock);
	line = kvm_irq_line_get(kvm, args->gsi);
	ret = PTR_ERR_OR_ZERO(line);
	if (!ret) {
		ret = irq_line_add(line, irqfd);
		if (ret)
			dead = kvm_irq_line_put(line);
	}
	mutex_unlock(&kvm->irqfds.resampler_lock);

	kvm_irq_line_free(dead);
	if (ret && irqfd->resamplefd)
		eventfd_ctx_put(irqfd->resamplefd);
	return ret;
}

/*
 * The caller has taken the irqfd off its eventfd and flushed its work, so only
 * EOIs still know it.  Steps: hide it from new EOIs; wait for those in flight,
 * after which nobody signals for it or touches its mark; lower what it held;
 * give its bit back.  No lock is held over the wait: other irqfds of the VM
 * come and go meanwhile.
 */
void kvm_irq_line_detach(struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_irqfd_source *src = &irqfd->source;
	struct kvm_irq_line *line = src->line, *dead;
	struct kvm *kvm = irqfd->kvm;

	if (!line)
		return;

	mutex_lock(&kvm->irqfds.resampler_lock);
	kvm_eoifd_orphan(irqfd);
	rcu_assign_pointer(src->marks->irqfd[src->bit], NULL);
	if (irqfd->resamplefd)
		list_del_rcu(&src->resampler_link);
	mutex_unlock(&kvm->irqfds.resampler_lock);

	synchronize_srcu_expedited(&kvm->irq_srcu);

	mutex_lock(&kvm->irqfds.resampler_lock);
	clear_bit(src->bit, &src->marks->sampled);
	/* A pin that it does not hold is none of its business. */
	if (test_and_clear_bit(src->bit, &src->marks->marked))
		kvm_arch_irq_line_update(line);

	__clear_bit(src->bit, &src->marks->used);
	WRITE_ONCE(line->irqfds, line->irqfds - 1);
	dead = kvm_irq_line_put(line);
	mutex_unlock(&kvm->irqfds.resampler_lock);

	kvm_irq_line_free(dead);
	if (irqfd->resamplefd)
		eventfd_ctx_put(irqfd->resamplefd);
}

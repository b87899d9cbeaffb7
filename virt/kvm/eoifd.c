// SPDX-License-Identifier: GPL-2.0-only
/*
 * EOI eventfds: tell user space, or VFIO, that the guest is done.
 *
 * A resample irqfd couples three things: assert, de-assert at EOI, notify.  An
 * eoifd is the third alone, so that it can be bound to one level irqfd and
 * speak for that one only, or listen to a GSI whatever asserts it.
 *
 * The signal is sent in the context of the EOI under irq_srcu.  The rest runs
 * in process context, but for the wake-up that learns of a closed eventfd.
 *
 * Invariant: an eoifd on kvm->irqfds.eoifds has not been told to shut down; the
 * shutdown work is queued by whoever takes it off that list, hence once.
 */

#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/kvm_host.h>
#include <linux/kvm_irqfd.h>
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>

struct kvm_kernel_eoifd {
	struct kvm *kvm;
	struct eventfd_ctx *eventfd;
	u32 gsi;
	bool level;
	/* level: the irqfd it speaks for, NULL for an orphan.  resampler_lock. */
	struct kvm_kernel_irqfd *irqfd;
	/* !level: the line it listens to, and the entry in its list. */
	struct kvm_irq_line *line;
	struct list_head line_link;
	/* Entry in kvm->irqfds.eoifds.  irqfds.lock. */
	struct list_head list;
	wait_queue_head_t *wqh;
	wait_queue_entry_t wait;
	poll_table pt;
	struct work_struct shutdown;
};

void kvm_eoifd_signal(struct kvm_kernel_eoifd *eoifd)
{
	kvm_irq_line_notify(eoifd->kvm, eoifd->gsi, eoifd->eventfd);
}

void kvm_eoifd_signal_all(struct kvm_irq_line *line)
{
	struct kvm_kernel_eoifd *eoifd;

	list_for_each_entry_srcu(eoifd, &line->eoifds, line_link,
				 srcu_read_lock_held(&line->kvm->irq_srcu))
		kvm_eoifd_signal(eoifd);
}

/*
 * Bind and unbind.  The bit in ->sampled follows the pointer: an EOI that sees
 * the bit without the pointer leaves the mark alone, see irqfd_ack().
 */
static void eoifd_bind(struct kvm_kernel_eoifd *eoifd,
		       struct kvm_kernel_irqfd *irqfd)
{
	lockdep_assert_held(&eoifd->kvm->irqfds.resampler_lock);

	eoifd->gsi = irqfd->gsi;
	eoifd->irqfd = irqfd;
	rcu_assign_pointer(irqfd->source.eoifd, eoifd);
	set_bit(irqfd->source.bit, &irqfd->source.marks->sampled);
}

static void eoifd_unbind(struct kvm_kernel_eoifd *eoifd)
{
	struct kvm_kernel_irqfd *irqfd = eoifd->irqfd;

	lockdep_assert_held(&eoifd->kvm->irqfds.resampler_lock);

	if (!irqfd)
		return;

	clear_bit(irqfd->source.bit, &irqfd->source.marks->sampled);
	RCU_INIT_POINTER(irqfd->source.eoifd, NULL);
	eoifd->irqfd = NULL;
}

static struct kvm_kernel_eoifd *eoifd_of(struct kvm_kernel_irqfd *irqfd)
{
	return rcu_dereference_protected(irqfd->source.eoifd,
			lockdep_is_held(&irqfd->kvm->irqfds.resampler_lock));
}

/* The irqfd goes first; its eoifd waits for a de-assign of its own. */
void kvm_eoifd_orphan(struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_kernel_eoifd *eoifd = eoifd_of(irqfd);

	if (eoifd)
		eoifd_unbind(eoifd);
}

/*
 * Shutdown
 */

/*
 * Steps: no EOI finds the eoifd any more; no wake-up of its eventfd reaches it
 * any more; EOIs in flight have ended; free.  The eventfd's count is not read,
 * it belongs to the listener: hence not eventfd_ctx_remove_wait_queue().
 */
static void eoifd_shutdown(struct work_struct *work)
{
	struct kvm_kernel_eoifd *eoifd =
		container_of(work, struct kvm_kernel_eoifd, shutdown);
	struct kvm *kvm = eoifd->kvm;
	struct kvm_irq_line *dead = NULL;

	mutex_lock(&kvm->irqfds.resampler_lock);
	eoifd_unbind(eoifd);
	if (eoifd->line) {
		list_del_rcu(&eoifd->line_link);
		dead = kvm_irq_line_put(eoifd->line);
	}
	mutex_unlock(&kvm->irqfds.resampler_lock);

	remove_wait_queue(eoifd->wqh, &eoifd->wait);
	synchronize_srcu_expedited(&kvm->irq_srcu);

	kvm_irq_line_free(dead);
	eventfd_ctx_put(eoifd->eventfd);
	kfree(eoifd);
}

static void eoifd_deactivate(struct kvm_kernel_eoifd *eoifd)
{
	lockdep_assert_held(&eoifd->kvm->irqfds.lock);

	list_del_init(&eoifd->list);
	queue_work(irqfd_cleanup_wq, &eoifd->shutdown);
}

/*
 * Wait-queue callback: wqh->lock held, IRQs off.  A signal is for the others
 * on the wait queue; only the end of the eventfd is of interest.  The eoifd
 * cannot go away: eoifd_shutdown() needs wqh->lock to take it off.
 */
static int eoifd_wakeup(wait_queue_entry_t *wait, unsigned int mode, int sync,
			void *key)
{
	struct kvm_kernel_eoifd *eoifd =
		container_of(wait, struct kvm_kernel_eoifd, wait);
	struct kvm *kvm = eoifd->kvm;
	unsigned long flags;

	if (!(key_to_poll(key) & EPOLLHUP))
		return 0;

	spin_lock_irqsave(&kvm->irqfds.lock, flags);
	if (!list_empty(&eoifd->list))
		eoifd_deactivate(eoifd);
	spin_unlock_irqrestore(&kvm->irqfds.lock, flags);
	return 0;
}

static void eoifd_queue_proc(struct file *file, wait_queue_head_t *wqh,
			     poll_table *pt)
{
	struct kvm_kernel_eoifd *eoifd =
		container_of(pt, struct kvm_kernel_eoifd, pt);

	eoifd->wqh = wqh;
	add_wait_queue(wqh, &eoifd->wait);
}

void kvm_eoifd_release(struct kvm *kvm)
{
	struct kvm_kernel_eoifd *eoifd, *tmp;

	spin_lock_irq(&kvm->irqfds.lock);
	list_for_each_entry_safe(eoifd, tmp, &kvm->irqfds.eoifds, list)
		eoifd_deactivate(eoifd);
	spin_unlock_irq(&kvm->irqfds.lock);
}

/*
 * Look up
 */

/*
 * The irqfd stays while resampler_lock is held: an irqfd on the list has not
 * begun to shut down, and kvm_irq_line_detach() takes that lock on the way.
 */
static struct kvm_kernel_irqfd *level_irqfd_find(struct kvm *kvm,
						 struct eventfd_ctx *eventfd)
{
	struct kvm_kernel_irqfd *irqfd, *found = NULL;

	lockdep_assert_held(&kvm->irqfds.resampler_lock);

	spin_lock_irq(&kvm->irqfds.lock);
	list_for_each_entry(irqfd, &kvm->irqfds.items, list) {
		if (irqfd->eventfd == eventfd && irqfd->source.line &&
		    !irqfd->resamplefd) {
			found = irqfd;
			break;
		}
	}
	spin_unlock_irq(&kvm->irqfds.lock);
	return found;
}

/* An irqfd that was told to shut down leaves an orphan, here at once. */
static bool eoifd_is_on(struct kvm_kernel_eoifd *eoifd,
			struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_kernel_irqfd *mine = eoifd->irqfd;

	lockdep_assert_held(&eoifd->kvm->irqfds.lock);

	if (mine && list_empty(&mine->list))
		mine = NULL;
	return mine == irqfd;
}

/* An eoifd of @eventfd on @irqfd (NULL: an orphan), taken off the list. */
static bool eoifd_drop_level(struct kvm *kvm, struct eventfd_ctx *eventfd,
			     struct kvm_kernel_irqfd *irqfd)
{
	struct kvm_kernel_eoifd *eoifd;
	bool found = false;

	lockdep_assert_held(&kvm->irqfds.resampler_lock);

	spin_lock_irq(&kvm->irqfds.lock);
	list_for_each_entry(eoifd, &kvm->irqfds.eoifds, list) {
		if (eoifd->level && eoifd->eventfd == eventfd &&
		    eoifd_is_on(eoifd, irqfd)) {
			eoifd_deactivate(eoifd);
			found = true;
			break;
		}
	}
	spin_unlock_irq(&kvm->irqfds.lock);
	return found;
}

static struct kvm_kernel_eoifd *eoifd_find_gsi(struct kvm *kvm,
					       struct eventfd_ctx *eventfd,
					       u32 gsi)
{
	struct kvm_kernel_eoifd *eoifd;

	lockdep_assert_held(&kvm->irqfds.lock);

	list_for_each_entry(eoifd, &kvm->irqfds.eoifds, list)
		if (!eoifd->level && eoifd->eventfd == eventfd &&
		    eoifd->gsi == gsi)
			return eoifd;
	return NULL;
}

/*
 * Assign
 */

static int eoifd_speak_for(struct kvm_kernel_eoifd *eoifd, u32 irqfd_fd)
{
	struct kvm *kvm = eoifd->kvm;
	struct kvm_kernel_eoifd *old;
	struct kvm_kernel_irqfd *irqfd;
	struct eventfd_ctx *trigger;

	trigger = eventfd_ctx_fdget(irqfd_fd);
	if (IS_ERR(trigger))
		return PTR_ERR(trigger) == -EBADF ? -EBADF : -ENOENT;
	irqfd = level_irqfd_find(kvm, trigger);
	eventfd_ctx_put(trigger);

	if (!irqfd)
		return -ENOENT;
	if (irqfd->eventfd == eoifd->eventfd)
		return -EINVAL;

	/* One whose eventfd was closed is in the way until its work has run. */
	old = eoifd_of(irqfd);
	if (old && !list_empty_careful(&old->list))
		return -EBUSY;
	if (old)
		eoifd_unbind(old);

	eoifd_drop_level(kvm, eoifd->eventfd, NULL);
	eoifd_bind(eoifd, irqfd);
	return 0;
}

static int eoifd_listen_to(struct kvm_kernel_eoifd *eoifd, u32 gsi)
{
	struct kvm *kvm = eoifd->kvm;
	struct kvm_irq_line *line;
	bool busy;

	spin_lock_irq(&kvm->irqfds.lock);
	busy = eoifd_find_gsi(kvm, eoifd->eventfd, gsi);
	spin_unlock_irq(&kvm->irqfds.lock);
	if (busy)
		return -EBUSY;

	line = kvm_irq_line_get(kvm, gsi);
	if (IS_ERR(line))
		return PTR_ERR(line);

	eoifd->gsi = gsi;
	eoifd->line = line;
	list_add_rcu(&eoifd->line_link, &line->eoifds);
	return 0;
}

static int eoifd_publish(struct kvm_kernel_eoifd *eoifd, struct file *file,
			 struct kvm_eoifd *args)
{
	struct kvm *kvm = eoifd->kvm;
	int ret;

	mutex_lock(&kvm->irqfds.resampler_lock);
	if (eoifd->level)
		ret = eoifd_speak_for(eoifd, args->irqfd);
	else
		ret = eoifd_listen_to(eoifd, args->gsi);

	if (!ret) {
		/* @file is held, so EPOLLHUP cannot come before the list_add. */
		vfs_poll(file, &eoifd->pt);
		spin_lock_irq(&kvm->irqfds.lock);
		list_add_tail(&eoifd->list, &kvm->irqfds.eoifds);
		spin_unlock_irq(&kvm->irqfds.lock);
	}
	mutex_unlock(&kvm->irqfds.resampler_lock);
	return ret;
}

static int eoifd_assign_file(struct kvm *kvm, struct kvm_eoifd *args,
			     struct file *file)
{
	struct kvm_kernel_eoifd *eoifd;
	struct eventfd_ctx *eventfd;
	int ret;

	eventfd = eventfd_ctx_fileget(file);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);

	eoifd = kzalloc(sizeof(*eoifd), GFP_KERNEL_ACCOUNT);
	if (!eoifd) {
		ret = -ENOMEM;
		goto put_eventfd;
	}

	eoifd->kvm = kvm;
	eoifd->eventfd = eventfd;
	eoifd->level = args->flags & KVM_EOIFD_FLAG_LEVEL_IRQFD;
	INIT_LIST_HEAD(&eoifd->list);
	INIT_WORK(&eoifd->shutdown, eoifd_shutdown);
	init_waitqueue_func_entry(&eoifd->wait, eoifd_wakeup);
	init_poll_funcptr(&eoifd->pt, eoifd_queue_proc);

	ret = eoifd_publish(eoifd, file, args);
	if (ret)
		goto free_eoifd;
	return 0;

free_eoifd:
	kfree(eoifd);
put_eventfd:
	eventfd_ctx_put(eventfd);
	return ret;
}

static int eoifd_assign(struct kvm *kvm, struct kvm_eoifd *args)
{
	struct fd f;
	int ret;

	f = fdget(args->fd);
	if (!fd_file(f))
		return -EBADF;

	ret = eoifd_assign_file(kvm, args, fd_file(f));
	fdput(f);
	return ret;
}

/*
 * De-assign
 */

/* A live binding first, then an orphan: its irqfd, and .irqfd, may be gone. */
static int eoifd_deassign_level(struct kvm *kvm, struct eventfd_ctx *eventfd,
				u32 irqfd_fd)
{
	struct kvm_kernel_irqfd *irqfd = NULL;
	struct eventfd_ctx *trigger;

	lockdep_assert_held(&kvm->irqfds.resampler_lock);

	trigger = eventfd_ctx_fdget(irqfd_fd);
	if (!IS_ERR(trigger)) {
		irqfd = level_irqfd_find(kvm, trigger);
		eventfd_ctx_put(trigger);
	}

	if (irqfd && eoifd_drop_level(kvm, eventfd, irqfd))
		return 0;
	return eoifd_drop_level(kvm, eventfd, NULL) ? 0 : -ENOENT;
}

static int eoifd_deassign_gsi(struct kvm *kvm, struct eventfd_ctx *eventfd,
			      u32 gsi)
{
	struct kvm_kernel_eoifd *eoifd;

	spin_lock_irq(&kvm->irqfds.lock);
	eoifd = eoifd_find_gsi(kvm, eventfd, gsi);
	if (eoifd)
		eoifd_deactivate(eoifd);
	spin_unlock_irq(&kvm->irqfds.lock);
	return eoifd ? 0 : -ENOENT;
}

/* Returns when nothing runs on behalf of the eoifd any more. */
static int eoifd_deassign(struct kvm *kvm, struct kvm_eoifd *args)
{
	struct eventfd_ctx *eventfd;
	int ret;

	eventfd = eventfd_ctx_fdget(args->fd);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);

	mutex_lock(&kvm->irqfds.resampler_lock);
	if (args->flags & KVM_EOIFD_FLAG_LEVEL_IRQFD)
		ret = eoifd_deassign_level(kvm, eventfd, args->irqfd);
	else
		ret = eoifd_deassign_gsi(kvm, eventfd, args->gsi);
	mutex_unlock(&kvm->irqfds.resampler_lock);

	eventfd_ctx_put(eventfd);
	flush_workqueue(irqfd_cleanup_wq);
	return ret;
}

int kvm_eoifd_ioctl(struct kvm *kvm, void __user *argp)
{
	struct kvm_irqfd as_irqfd = { .flags = KVM_IRQFD_FLAG_LEVEL };
	struct kvm_eoifd args;

	if (copy_from_user(&args, argp, sizeof(args)))
		return -EFAULT;

	if (args.flags & ~(KVM_EOIFD_FLAG_DEASSIGN | KVM_EOIFD_FLAG_LEVEL_IRQFD))
		return -EINVAL;
	if (memchr_inv(args.pad, 0, sizeof(args.pad)))
		return -EINVAL;

	if (!kvm_arch_intc_initialized(kvm))
		return -EAGAIN;
	if (!kvm_arch_irqfd_allowed(kvm, &as_irqfd))
		return -EINVAL;

	if (args.flags & KVM_EOIFD_FLAG_DEASSIGN)
		return eoifd_deassign(kvm, &args);
	return eoifd_assign(kvm, &args);
}

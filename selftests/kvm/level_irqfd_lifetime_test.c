// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whoever goes first: no line stays up, and nothing is called that is gone.
 *
 * close_irqfd		the eventfd is closed while asserted: the line goes down
 * close_irqfd_in_isr	the same between interrupt and EOI
 * close_eoifd		the eoifd's eventfd is closed, then all is released
 * close_both		in both orders
 * close_release	an eoifd is released right after its irqfd was closed
 * vm_gone		the VM goes while lines are up; its eventfds live on
 * vm_gone_resample	the same, RESAMPLE
 * reuse		an eventfd released by one VM works in the next
 * race_deassign	assign and de-assign beside a signalling thread
 * race_close		assign and close beside a signalling thread
 * race_routes		assign and de-assign beside signals and route changes
 * race_guest		the same with a guest that takes the interrupts
 * race_eoi		route changes beside EOIs: no pin is left up
 */
#include "level_irqfd.h"

#define ROUNDS	200

/* The close of an irqfd is noticed later; its eoifd is an orphan at once. */
static void close_release(void)
{
	int eoi = li_eventfd(), i;
	struct li li;

	li_create(&li, 20, false);
	for (i = 0; i < ROUNDS; i++) {
		int fd = li_eventfd(), next = li_eventfd();

		kvm_irqfd_level(li.vm, fd, 20);
		kvm_eoifd_bind(li.vm, eoi, fd);
		close(fd);
		if (i & 1) {
			kvm_irqfd_level(li.vm, next, 20);
			kvm_eoifd_bind(li.vm, eoi, next);
			kvm_eoifd_unbind(li.vm, eoi, next);
			kvm_irqfd_deassign(li.vm, next, 20);
		} else {
			kvm_eoifd_unbind(li.vm, eoi, -1);
		}
		LI_WANT(__kvm_eoifd(li.vm, eoi, 0, KVM_EOIFD_FLAG_LEVEL_IRQFD |
				    KVM_EOIFD_FLAG_DEASSIGN, -1), ENOENT);
		close(next);
	}
}

static void close_irqfd(void)
{
	int i;
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	for (i = 0; i < 20; i++) {
		int fd = li_eventfd(), eoi = li_eventfd();

		kvm_irqfd_level(li.vm, fd, 20);
		if (i & 1)
			kvm_eoifd_bind(li.vm, eoi, fd);
		li_signal(fd);
		li_line_is(&li, true);
		close(fd);
		li_line_is(&li, false);
		if (i & 1)
			kvm_eoifd_unbind(li.vm, eoi, fd);
		LI_EQ(li_count(eoi), 0, "eoifd: nobody acknowledged anything");
		close(eoi);
	}
}

static void close_irqfd_in_isr(void)
{
	int fd = li_eventfd(), eoi = li_eventfd();
	struct li li;

	li_create(&li, 20, false);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(fd);
	li_enter_isr(&li, 1);
	close(fd);
	li_line_is(&li, false);
	li_leave_isr(&li);
	LI_EQ(li_count(eoi), 0, "eoifd of a closed irqfd");
	/* A new one on the GSI is not disturbed by the orphan. */
	fd = li_eventfd();
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(fd);
	li_take(&li, 2);
	LI_EQ(li_count(eoi), 1, "eoifd of the new irqfd");
}

static void close_eoifd(void)
{
	int i;
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	for (i = 0; i < 20; i++) {
		int fd = li_eventfd(), eoi = li_eventfd();

		kvm_irqfd_level(li.vm, fd, 20);
		kvm_eoifd_bind(li.vm, eoi, fd);
		li_signal(fd);
		close(eoi);
		li_line_is(&li, true);
		kvm_irqfd_deassign(li.vm, fd, 20);
		LI_EQ(li_pin_irr(li.vm, 20, false), 0, "pin after the de-assign");
		close(fd);
	}
}

static void close_both(void)
{
	int i;
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	for (i = 0; i < ROUNDS; i++) {
		int fd = li_eventfd(), eoi = li_eventfd();

		kvm_irqfd_level(li.vm, fd, 20);
		kvm_eoifd_bind(li.vm, eoi, fd);
		li_signal(fd);
		close(i & 1 ? fd : eoi);
		close(i & 1 ? eoi : fd);
	}
	li_line_is(&li, false);
	li_do(&li, LI_UNMASK, 20);
	li_no_more(&li);
	LI_EQ(li.g->isr, 0, "interrupts of nobody");
}

static void teardown(bool resample)
{
	int fd[LI_PINS], eoi[LI_PINS], unbound = li_eventfd(), i, round;
	struct li li;

	for (i = 0; i < LI_PINS; i++) {
		fd[i] = li_eventfd();
		eoi[i] = li_eventfd();
	}
	for (round = 0; round < 5; round++) {
		li_create(&li, 20, false);
		for (i = 0; i < LI_PINS; i++) {
			if (resample) {
				kvm_irqfd_resample(li.vm, fd[i], i, eoi[i]);
			} else {
				kvm_irqfd_level(li.vm, fd[i], i);
				if (i % 3)
					kvm_eoifd_bind(li.vm, eoi[i], fd[i]);
				LI_WANT(__kvm_eoifd(li.vm, unbound, i, 0, 0), 0);
			}
			li_signal(fd[i]);
		}
		if (round & 1)
			li_enter_isr(&li, 1);
		/* An orphan, and one that is closed at the same time. */
		if (!resample && round & 2)
			kvm_irqfd_deassign(li.vm, fd[1], 1);
		li_destroy(&li);
		for (i = 0; i < LI_PINS; i++) {
			li_signal(fd[i]);
			LI_EQ(li_count(fd[i]), 1, "an eventfd that is nobody's irqfd");
			LI_EQ(li_count(eoi[i]), 0, "eoifd of a VM that is gone");
		}
	}
}

static void vm_gone(void)
{
	teardown(false);
}

static void vm_gone_resample(void)
{
	teardown(true);
}

static void reuse(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), i;
	struct li li;

	for (i = 0; i < 5; i++) {
		li_create(&li, 20, false);
		kvm_irqfd_level(li.vm, fd, 20);
		kvm_eoifd_bind(li.vm, eoi, fd);
		li_signal(fd);
		li_take(&li, 1);
		LI_EQ(li_count(eoi), 1, "eoifd");
		if (i & 1)
			kvm_irqfd_deassign(li.vm, fd, 20);
		if (i & 2)
			kvm_eoifd_unbind(li.vm, eoi, fd);
		li_destroy(&li);
	}
}

/* Threads beside the one that assigns and releases. */
struct race {
	struct kvm_vm *vm;
	struct li *li;
	atomic_t stop, guest_stop;
	int fd[4];
};

static bool stopped(struct race *race)
{
	return atomic_read(&race->stop);
}

static void *signal_thread(void *arg)
{
	struct race *race = arg;
	u64 one = 1;
	unsigned int i;

	/* The eventfd may be closed just now: the write fails, that is fine. */
	for (i = 0; !stopped(race); i++)
		if (write(race->fd[i % ARRAY_SIZE(race->fd)], &one, sizeof(one)) < 0)
			sched_yield();
	return NULL;
}

static void *route_thread(void *arg)
{
	struct race *race = arg;
	unsigned int i;

	for (i = 0; !stopped(race); i++)
		li_set_route(race->vm, 20, 20 + i % 3, i % 5 == 4);
	return NULL;
}

static void race_start(struct race *race, struct kvm_vm *vm)
{
	int i;

	memset(race, 0, sizeof(*race));
	race->vm = vm;
	for (i = 0; i < ARRAY_SIZE(race->fd); i++)
		race->fd[i] = li_eventfd();
}

static void race_rounds(struct race *race, int rounds, bool with_close)
{
	int eoi[ARRAY_SIZE(race->fd)], round, i, err;

	for (i = 0; i < ARRAY_SIZE(eoi); i++)
		eoi[i] = li_eventfd();
	for (round = 0; round < rounds; round++) {
		i = round % ARRAY_SIZE(eoi);
		kvm_irqfd_level(race->vm, race->fd[i], 20);
		kvm_eoifd_bind(race->vm, eoi[i], race->fd[i]);
		li_signal(race->fd[i]);
		if (round & 4)
			usleep(200);
		if (with_close) {
			/* Replaced in one step: the number always names an eventfd. */
			int next = li_eventfd();

			TEST_ASSERT(dup2(next, race->fd[i]) == race->fd[i], "dup2");
			close(next);
			if (round & 8)
				continue;
			/* An orphan, unless a write keeps the old eventfd open. */
			err = __kvm_eoifd(race->vm, eoi[i], 0,
					  KVM_EOIFD_FLAG_LEVEL_IRQFD |
					  KVM_EOIFD_FLAG_DEASSIGN, race->fd[i]);
			TEST_ASSERT(!err || err == ENOENT, "eoifd of a closed irqfd: %d", err);
		} else if (round & 8) {
			kvm_eoifd_unbind(race->vm, eoi[i], race->fd[i]);
			kvm_irqfd_deassign(race->vm, race->fd[i], 20);
		} else {
			kvm_irqfd_deassign(race->vm, race->fd[i], 20);
			kvm_eoifd_unbind(race->vm, eoi[i], race->fd[i]);
		}
	}
}

static void race_pins(struct race *race)
{
	int pin;

	for (pin = 0; pin < LI_PINS; pin++)
		li_pin_is(race->vm, pin, false, false);
}

static void race(bool with_close, bool routes)
{
	pthread_t signals, router;
	struct race race;
	struct li li;

	li_create(&li, 20, false);
	li_do(&li, LI_MASK, 20);
	race_start(&race, li.vm);
	pthread_create(&signals, NULL, signal_thread, &race);
	if (routes)
		pthread_create(&router, NULL, route_thread, &race);
	race_rounds(&race, ROUNDS, with_close);
	/* The signals go on: none may raise a line after the final lowering. */
	if (!routes)
		race_pins(&race);
	atomic_set(&race.stop, 1);
	pthread_join(signals, NULL);
	if (routes)
		pthread_join(router, NULL);
	race_pins(&race);
	li_set_route(li.vm, 20, 20, false);
	race_pins(&race);
}

static void race_deassign(void)
{
	race(false, false);
}

static void race_close(void)
{
	race(true, false);
}

static void race_routes(void)
{
	race(false, true);
}

static void *rounds_thread(void *arg)
{
	struct race *race = arg;

	race_rounds(race, ROUNDS, false);
	atomic_set(&race->stop, 1);
	return NULL;
}

static void race_guest(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), pin;
	pthread_t signals, router, rounds;
	struct race race;
	struct li li;

	li_create(&li, 20, false);
	for (pin = 21; pin < 23; pin++)
		li_do(&li, LI_UNMASK, pin);
	race_start(&race, li.vm);
	pthread_create(&signals, NULL, signal_thread, &race);
	pthread_create(&router, NULL, route_thread, &race);
	pthread_create(&rounds, NULL, rounds_thread, &race);
	while (!stopped(&race)) {
		li_start(&li, LI_NEVER, LI_SETTLE);
		li_resume_to(&li, LI_IDLE);
	}
	pthread_join(signals, NULL);
	pthread_join(router, NULL);
	pthread_join(rounds, NULL);
	race_pins(&race);
	/* Afterwards one signal is one interrupt. */
	li_set_route(li.vm, 20, 20, false);
	li_start(&li, LI_NEVER, LI_SETTLE);
	li_resume_to(&li, LI_IDLE);
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	li_signal(fd);
	li_take(&li, li.g->isr + 1);
	LI_EQ(li_count(eoi), 1, "eoifd after the race");
	li_line_is(&li, false);
}

static void *guest_thread(void *arg)
{
	struct race *race = arg;

	while (!atomic_read(&race->guest_stop)) {
		li_start(race->li, LI_NEVER, LI_SETTLE);
		li_resume_to(race->li, LI_IDLE);
	}
	return NULL;
}

/* Many listeners make the EOI long, between its acknowledge and its update. */
static void race_eoi(void)
{
	int fd = li_eventfd(), eoi = li_eventfd(), pin, i, round;
	pthread_t guest, router;
	struct race race;
	struct li li;

	li_create(&li, 20, false);
	for (pin = 21; pin < 23; pin++)
		li_do(&li, LI_UNMASK, pin);
	race_start(&race, li.vm);
	race.li = &li;
	kvm_irqfd_level(li.vm, fd, 20);
	kvm_eoifd_bind(li.vm, eoi, fd);
	for (i = 0; i < 100; i++)
		LI_WANT(__kvm_eoifd(li.vm, li_eventfd(), 20, 0, 0), 0);
	pthread_create(&guest, NULL, guest_thread, &race);
	for (round = 0; round < 40; round++) {
		atomic_set(&race.stop, 0);
		pthread_create(&router, NULL, route_thread, &race);
		for (i = 0; i < 30; i++) {
			li_signal(fd);
			usleep(300);
		}
		atomic_set(&race.stop, 1);
		pthread_join(router, NULL);
		li_set_route(li.vm, 20, 20, false);
		race_pins(&race);
		/* Not lost, and the last. */
		li_count(eoi);
		li_signal(fd);
		for (i = 0; i < 2000 && !li_count(eoi); i++)
			usleep(1000);
		TEST_ASSERT(i < 2000, "eoifd after a race: not signalled for 2 s");
		race_pins(&race);
	}
	atomic_set(&race.guest_stop, 1);
	pthread_join(guest, NULL);
}

int main(int argc, char **argv)
{
	static const struct li_subtest tests[] = {
		{ "close_irqfd", close_irqfd },
		{ "close_irqfd_in_isr", close_irqfd_in_isr },
		{ "close_eoifd", close_eoifd },
		{ "close_both", close_both },
		{ "close_release", close_release },
		{ "vm_gone", vm_gone },
		{ "vm_gone_resample", vm_gone_resample, true },
		{ "reuse", reuse },
		{ "race_deassign", race_deassign },
		{ "race_close", race_close },
		{ "race_routes", race_routes },
		{ "race_guest", race_guest },
		{ "race_eoi", race_eoi },
	};

	li_main(argc, argv, tests, ARRAY_SIZE(tests));
}

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"

/* Threads on one card: the part of test_card.c that runs under ThreadSanitizer as well. */

enum {
	NR_THREADS = 64,
	NR_STEPS = 500
};

static struct sg_card *card;
static pthread_barrier_t barrier;

static void *charge_and_uncharge(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;
	uint64_t held = 0, total, used;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < NR_STEPS; i++) {
		uint64_t size = (uint64_t)(rand_r(&seed) % 20 + 1);

		if (sg_card_charge(card, 0, size) == 0)
			held += size;
		if (i % 3 == 0 && held) {
			sg_card_uncharge(card, 0, held);
			held = 0;
		}
		if (i % 100 == 0)
			sg_card_get_usage(card, 0, &total, &used);
	}
	sg_card_uncharge(card, 0, held);
	return NULL;
}

static void test_64_threads_charge_and_uncharge_to_zero(void **state)
{
	struct sg_config config = {.nr_devices = 1, .profile = {.memory_size = 700}};
	pthread_t threads[NR_THREADS];
	struct sg_card_process process;
	uint64_t total, used;

	(void)state;
	card = sg_card_open(NULL, &config);
	assert_non_null(card);
	pthread_barrier_init(&barrier, NULL, NR_THREADS);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, charge_and_uncharge, (void *)i),
				 0);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	sg_card_get_usage(card, 0, &total, &used);
	assert_int_equal(used, 0);
	/* All of them were one process: one slot, and the whole card for the next who wants it. */
	assert_int_equal(sg_card_charge(card, 0, 700), 0);
	assert_int_equal(sg_card_get_processes(card, 0, &process, 1), 1);
	assert_int_equal(process.pid, getpid());
	sg_card_close(card);
}

static void *charge_until_full(void *nr_charged)
{
	pthread_barrier_wait(&barrier);
	while (sg_card_charge(card, 0, 1) == 0)
		++*(uint64_t *)nr_charged;
	return NULL;
}

static void test_threads_cannot_take_more_than_there_is(void **state)
{
	struct sg_config config = {.nr_devices = 1, .profile = {.memory_size = 5000}};
	pthread_t threads[NR_THREADS];
	uint64_t nr_charged[NR_THREADS] = {0}, sum = 0;

	(void)state;
	card = sg_card_open(NULL, &config);
	assert_non_null(card);
	pthread_barrier_init(&barrier, NULL, NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, charge_until_full, &nr_charged[i]), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += nr_charged[i];
	}
	pthread_barrier_destroy(&barrier);
	assert_int_equal(sum, 5000);
	sg_card_close(card);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_64_threads_charge_and_uncharge_to_zero),
		cmocka_unit_test(test_threads_cannot_take_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

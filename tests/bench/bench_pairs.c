/*
 * usage: bench_pairs DEPTH few|many|most THREADS PAIRS
 *
 * Allocations and frees, as many of the one as of the other, by so many threads together and from
 * stacks so deep. few: 8 stacks, one after the other; many: 1024, in no order; most: 5000, in no
 * order. Each thread keeps 64 blocks; a pair gives back the oldest and takes a new one.
 *
 * Prints "loop NS": from the first pair to the last, as the program itself sees it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench_heap.h"
#include "call_tree.h"
#include "process_watch.h"

#define NR_FEW      8u
#define NR_MANY     1024u
#define NR_MOST     5000u
#define NR_KEPT     64u
#define MAX_THREADS 16u

struct worker {
	pthread_t thread;
	uint64_t random;
	uint64_t nr_pairs;
	uint64_t nr_done;
	size_t size; /* of the next block */
	uint64_t kept[NR_KEPT];
};

static unsigned nr_stacks;
static struct worker workers[MAX_THREADS];

static __attribute__((noinline)) void make_pair(void *data)
{
	struct worker *worker = data;
	uint64_t *place = &worker->kept[worker->nr_done++ % NR_KEPT];

	if (*place)
		bench_heap_give_back(*place);
	*place = bench_heap_take(worker->size);
}

static unsigned choose_stack(struct worker *worker)
{
	if (nr_stacks == NR_FEW)
		/* Not next to each other in the tree. */
		return (unsigned)(worker->nr_done % NR_FEW) * 613u;
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return (unsigned)(worker->random % nr_stacks);
}

static void *work(void *data)
{
	struct worker *worker = data;

	while (worker->nr_done < worker->nr_pairs) {
		unsigned stack = choose_stack(worker);

		worker->size = 64 * (1 + stack % 16);
		vs_call_tree_call(stack, make_pair, worker);
	}
	for (size_t i = 0; i < NR_KEPT; i++)
		if (worker->kept[i])
			bench_heap_give_back(worker->kept[i]);
	return NULL;
}

/* 0: there is no such kind. */
static unsigned get_nr_stacks(const char *kind)
{
	if (strcmp(kind, "few") == 0)
		return NR_FEW;
	if (strcmp(kind, "many") == 0)
		return NR_MANY;
	return strcmp(kind, "most") == 0 ? NR_MOST : 0;
}

static void run(unsigned nr_threads, uint64_t nr_pairs)
{
	for (unsigned i = 0; i < nr_threads; i++) {
		workers[i].random = 88172645463325252u + i;
		workers[i].nr_pairs = nr_pairs / nr_threads;
	}
	for (unsigned i = 1; i < nr_threads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			exit(1);
	work(&workers[0]);
	for (unsigned i = 1; i < nr_threads; i++)
		pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	unsigned long depth = argc == 5 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long nr_threads = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
	uint64_t start_ns;

	nr_stacks = argc == 5 ? get_nr_stacks(argv[2]) : 0;
	if (!nr_stacks || depth < VS_CALL_TREE_MIN || depth > VS_CALL_TREE_MAX || !nr_threads ||
	    nr_threads > MAX_THREADS) {
		fprintf(stderr, "usage: bench_pairs DEPTH few|many|most THREADS PAIRS\n");
		return 2;
	}
	vs_call_tree_init((unsigned)depth);
	start_ns = vs_process_watch_now_ns();
	run((unsigned)nr_threads, strtoull(argv[4], NULL, 10));
	printf("loop %llu\n", (unsigned long long)(vs_process_watch_now_ns() - start_ns));
	return 0;
}

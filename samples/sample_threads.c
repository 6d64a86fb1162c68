/*
 * Eight threads allocate and free at once; each keeps its own books.
 */
#include <pthread.h>

#include "sample.h"

#define THREADS 8
#define ROUNDS  2000

struct worker {
	pthread_t thread;
	unsigned seed;
	struct book book;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	void *held[8] = {NULL};
	size_t sizes[8] = {0};

	for (int i = 0; i < ROUNDS; i++) {
		int slot = rand_r(&worker->seed) % 8;

		if (held[slot])
			device_free(&worker->book, held[slot], sizes[slot]);
		sizes[slot] = (size_t)(rand_r(&worker->seed) % 64 + 1) * 16 * KIB;
		held[slot] = device_alloc(&worker->book, sizes[slot]);
	}
	return NULL; /* what is held stays: alive at the end */
}

int main(void)
{
	static struct worker workers[THREADS];
	struct book sum = {.name = "device"};

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].seed = i + 1;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		const struct book *book = &workers[i].book;

		pthread_join(workers[i].thread, NULL);
		sum.allocs += book->allocs;
		sum.frees += book->frees;
		sum.failed_allocs += book->failed_allocs;
		sum.bytes_allocated += book->bytes_allocated;
		sum.live += book->live;
		sum.live_count += book->live_count;
	}
	/* The common peak is not known to any thread: left out. */
	printf("device.allocs=%lu\ndevice.frees=%lu\ndevice.failed_allocs=%lu\n", sum.allocs,
	       sum.frees, sum.failed_allocs);
	printf("device.bytes_allocated=%zu\ndevice.live_at_end_count=%lu\n", sum.bytes_allocated,
	       sum.live_count);
	printf("device.live_at_end_bytes=%zu\nthreads=%d\nooms=0\n", sum.live, THREADS);
	return 0;
}

#ifndef VS_SAMPLE_H
#define VS_SAMPLE_H

/*
 * What the samples share: checking calls, and keeping books of their own. At the end a sample
 * prints what it did as key=value lines. That is what the tests compare vramscope's report with, so
 * nothing here may come from vramscope.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* For calls that must work. */
#define CHECK(call)                                                                   \
	do {                                                                          \
		cudaError_t check_error = (call);                                     \
                                                                                      \
		if (check_error != cudaSuccess) {                                     \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorString(check_error));                     \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

/* One kind of memory, or one pool, as the sample itself counts it. */
struct book {
	const char *name; /* "device", "pinned", ... or "pool.NAME" */
	unsigned long allocs, frees, failed_allocs;
	size_t bytes_allocated, live, peak;
	unsigned long live_count;
};

static inline void book_alloc(struct book *book, size_t size)
{
	book->allocs++;
	book->live_count++;
	book->bytes_allocated += size;
	book->live += size;
	if (book->live > book->peak)
		book->peak = book->live;
}

static inline void book_free(struct book *book, size_t size)
{
	book->frees++;
	book->live_count--;
	book->live -= size;
}

static inline void book_failed(struct book *book)
{
	book->failed_allocs++;
}

static inline void book_print(const struct book *book)
{
	printf("%s.allocs=%lu\n", book->name, book->allocs);
	printf("%s.frees=%lu\n", book->name, book->frees);
	printf("%s.failed_allocs=%lu\n", book->name, book->failed_allocs);
	printf("%s.bytes_allocated=%zu\n", book->name, book->bytes_allocated);
	printf("%s.peak_bytes=%zu\n", book->name, book->peak);
	printf("%s.live_at_end_count=%lu\n", book->name, book->live_count);
	printf("%s.live_at_end_bytes=%zu\n", book->name, book->live);
}

/* cudaMalloc and cudaFree with the books kept. NULL when the device is full. */
static inline void *device_alloc(struct book *book, size_t size)
{
	void *memory = NULL;

	if (cudaMalloc(&memory, size) != cudaSuccess) {
		cudaGetLastError(); /* seen */
		book_failed(book);
		return NULL;
	}
	book_alloc(book, size);
	return memory;
}

static inline void device_free(struct book *book, void *memory, size_t size)
{
	CHECK(cudaFree(memory));
	book_free(book, size);
}

#endif

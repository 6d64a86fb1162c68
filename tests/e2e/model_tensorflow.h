#ifndef MODEL_TENSORFLOW_H
#define MODEL_TENSORFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A model of TensorFlow's allocator: functions with its names that do next to nothing with memory
 * of CUDA. As in the real one they are called through a table that the loader fills in by name.
 */
struct model_attributes {
	bool retry_on_failure;
};

/* libstdc++'s, as it is returned. */
struct model_text {
	char *bytes;
	size_t size;
	char own[16];
};

struct model_allocator {
	const char *name;
	int type; /* 1 device, 2 host, 3 pinned */
	char *memory;
	size_t used;
	size_t limit;
};

/* tsl::BFCAllocator::Options; only its beginning. */
struct model_options {
	bool can_grow;
};

struct model_table {
	/* The constructor. */
	void (*begin)(struct model_allocator *, void *memory, size_t limit, const void *name,
		      const struct model_options *);
	void *(*allocate)(struct model_allocator *, size_t alignment, size_t size,
			  const struct model_attributes *);
	void (*deallocate)(struct model_allocator *, void *);
	void (*end)(struct model_allocator *);
	void (*execute)(void *op, void **results, int *nr_results, void *status);
	/* What the thread is said to be doing: as releases up to 2.19 keep it, and later ones. */
	void (*announce)(bool is_new, const char *op, const char *region);
};

#endif

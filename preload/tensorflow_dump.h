#ifndef VS_TENSORFLOW_DUMP_H
#define VS_TENSORFLOW_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What TensorFlow writes of an allocator that ran out of memory, if TF_BFC_MEMORY_DUMP tells it
 * where: a message MemoryDump (tsl/protobuf/bfc_memory_map.proto), in a file for each failed
 * attempt. The launcher has it written into a folder of its own; this takes it from there. One
 * thread at a time for an allocator's name; keeps errno.
 */
struct vs_tensorflow_dump {
	uint64_t nr_used; /* chunks */
	uint64_t used_size;
	uint64_t requested_size; /* of those in use */
	uint64_t nr_free;
	uint64_t free_size;
	uint64_t largest_free;
	uint32_t fragmentation; /* in thousandths, as TensorFlow computed it */
};

/* False: it is no such message. Any bytes. */
bool vs_tensorflow_dump_read(struct vs_tensorflow_dump *dump, const void *bytes, size_t size);

#define VS_TENSORFLOW_DUMP_TEXT_MAX 256u

/* In a sentence; its size. */
size_t vs_tensorflow_dump_tell(const struct vs_tensorflow_dump *dump,
			       char text[VS_TENSORFLOW_DUMP_TEXT_MAX]);

/*
 * Reads the newest file that TensorFlow wrote for the allocator of this name, and removes all of
 * them. prefix: as TF_BFC_MEMORY_DUMP has it. False: there is none, or it cannot be understood.
 */
bool vs_tensorflow_dump_take(struct vs_tensorflow_dump *dump, const char *prefix, const char *name);

#endif

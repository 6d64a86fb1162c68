#ifndef SG_OBJECT_H
#define SG_OBJECT_H

#include <stdbool.h>

/*
 * Handles. Everything a program holds by handle comes from here, so that a handle that was never
 * given out or is already destroyed is an error code and never a crash.
 *
 * A handle is the address of a slot in one of a few chunks per type. Checking one is a range
 * test and a load, without a lock; slots are reused oldest first, so that a stale handle stays
 * stale for long. Creating, destroying and checking may happen in any thread. That nobody destroys
 * an object while another thread uses it is the program's duty, as it is with CUDA.
 */
enum sg_object_type {
	SG_OBJECT_CONTEXT,
	SG_OBJECT_STREAM,
	SG_OBJECT_EVENT,
	SG_OBJECT_MODULE, /* CUmodule and CUlibrary */
	SG_OBJECT_KERNEL, /* CUkernel and CUfunction */
	SG_OBJECT_POOL,
	SG_OBJECT_PHYSICAL, /* CUmemGenericAllocationHandle */
	SG_OBJECT_ARRAY,
	SG_OBJECT_MIPMAP,
	SG_OBJECT_TEXTURE,
	SG_OBJECT_SURFACE,
	SG_OBJECT_REFERENCE, /* CUtexref and CUsurfref */
	SG_OBJECT_EXTERNAL,  /* CUexternalMemory */
	SG_OBJECT_GRAPH,
	SG_OBJECT_GRAPH_NODE,
	SG_OBJECT_GRAPH_EXEC,
	SG_OBJECT_CONDITION, /* CUgraphConditionalHandle */
	SG_OBJECT_USER,
	SG_NR_OBJECT_TYPES
};

/* Zeroed, or NULL when memory is out. size must be the same for every object of a type. */
void *sg_object_create(enum sg_object_type type, unsigned size);

/* The same with its first contents: whoever goes through all objects never sees it without them. */
void *sg_object_create_from(enum sg_object_type type, const void *contents, unsigned size);
void sg_object_destroy(enum sg_object_type type, void *object);

/* The object behind a handle, NULL if it is not one of that type. */
void *sg_object_get(enum sg_object_type type, const void *handle);

/*
 * Call visit for each living object. visit may destroy the object it is given; meanwhile no other
 * thread creates or destroys one of that type.
 */
void sg_object_for_each(enum sg_object_type type, void (*visit)(void *object, void *argument),
			void *argument);

#endif

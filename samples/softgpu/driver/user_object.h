#ifndef SG_USER_OBJECT_H
#define SG_USER_OBJECT_H

#include "driver.h"

/*
 * User objects: a pointer of the program's with a function that frees it, called when the last
 * reference is gone. The program and its graphs hold references. All under the graph lock; the
 * functions of objects that ended run when it is let go (sg_graph_unlock).
 */
struct sg_user_object {
	void *pointer;
	CUhostFn destroy;
	uint64_t nr_references;
	struct sg_user_object *next; /* of those that ended */
};

struct sg_user_object *sg_user_object_get(CUuserObject handle);

void sg_user_object_retain(struct sg_user_object *object, uint64_t count);

/* CUDA_ERROR_INVALID_VALUE if it has fewer references. */
SG_MUST_USE CUresult sg_user_object_release(struct sg_user_object *object, uint64_t count);

/* Those that ended since the last call, to be given to sg_user_object_bury without a lock. */
struct sg_user_object *sg_user_object_take_ended(void);
void sg_user_object_bury(struct sg_user_object *ended);

#endif

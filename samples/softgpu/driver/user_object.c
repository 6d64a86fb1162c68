#include "user_object.h"

#include <limits.h>

#include "graph.h"
#include "object.h"

/* Guarded by the graph lock. */
static struct sg_user_object *ended_objects;

struct sg_user_object *sg_user_object_get(CUuserObject handle)
{
	struct sg_user_object *object = sg_object_get(SG_OBJECT_USER, handle);

	return object && object->nr_references ? object : NULL;
}

void sg_user_object_retain(struct sg_user_object *object, uint64_t count)
{
	object->nr_references += count;
}

CUresult sg_user_object_release(struct sg_user_object *object, uint64_t count)
{
	if (count > object->nr_references)
		return CUDA_ERROR_INVALID_VALUE;
	object->nr_references -= count;
	if (!object->nr_references) {
		object->next = ended_objects;
		ended_objects = object;
	}
	return CUDA_SUCCESS;
}

struct sg_user_object *sg_user_object_take_ended(void)
{
	struct sg_user_object *ended = ended_objects;

	ended_objects = NULL;
	return ended;
}

void sg_user_object_bury(struct sg_user_object *ended)
{
	while (ended) {
		struct sg_user_object *object = ended;

		ended = object->next;
		object->destroy(object->pointer);
		sg_object_destroy(SG_OBJECT_USER, object);
	}
}

static bool is_count(unsigned count)
{
	return count && count <= INT_MAX;
}

SG_API CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
				   unsigned int initialRefcount, unsigned int flags)
{
	const struct sg_user_object first = {
		.pointer = ptr, .destroy = destroy, .nr_references = initialRefcount};
	struct sg_user_object *object;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!object_out || !destroy || !is_count(initialRefcount) ||
	    flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	object = sg_object_create_from(SG_OBJECT_USER, &first, sizeof(first));
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*object_out = (CUuserObject)(void *)object;
	return CUDA_SUCCESS;
}

SG_API CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	struct sg_user_object *found;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	found = sg_user_object_get(object);
	if (found && is_count(count))
		sg_user_object_retain(found, count);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	struct sg_user_object *found;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	found = sg_user_object_get(object);
	result = found && is_count(count) ? sg_user_object_release(found, count)
					  : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
					unsigned int flags)
{
	struct sg_user_object *found;
	struct sg_graph *holder;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	holder = sg_graph_get(graph);
	found = sg_user_object_get(object);
	if (!holder || !found || !is_count(count) ||
	    (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) ||
	    (flags && count > found->nr_references))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		result = sg_graph_hold(holder, found, count);
	/* Moved references were the program's before. */
	if (result == CUDA_SUCCESS && flags)
		result = sg_user_object_release(found, count);
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	struct sg_user_object *found;
	struct sg_graph *holder;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	holder = sg_graph_get(graph);
	found = sg_user_object_get(object);
	result = holder && found && is_count(count) ? sg_graph_let_go(holder, found, count)
						    : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

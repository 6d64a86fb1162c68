#include "ipc.h"

#include <string.h>
#include <unistd.h>

#include "event.h"
#include "object.h"
#include "sharing.h"

_Static_assert(sizeof(struct sg_ipc_handle) == CU_IPC_HANDLE_SIZE, "handles are opaque bytes");

/* By sort: how a handle begins, and what it can be of. */
static const struct {
	char magic[8];
	enum sg_share_kind kind;
} sorts[] = {
	[SG_IPC_MEMORY] = {"sg-mem1", SG_SHARE_BLOCK},
	[SG_IPC_EVENT] = {"sg-evt1", SG_SHARE_EVENT},
	[SG_IPC_POOL_POINTER] = {"sg-ptr1", SG_SHARE_BLOCK},
};

struct sg_ipc_handle sg_ipc_make_handle(enum sg_ipc_sort sort, const struct sg_share_key *key)
{
	struct sg_ipc_handle handle = {.card = sg_share_get_card_id(sg_init_get_card()),
				       .thing = *key};

	memcpy(handle.magic, sorts[sort].magic, sizeof(handle.magic));
	return handle;
}

CUresult sg_ipc_find(const struct sg_ipc_handle *handle, enum sg_ipc_sort sort,
		     struct sg_share *share)
{
	struct sg_card *card = sg_init_get_card();

	if (memcmp(handle->magic, sorts[sort].magic, sizeof(handle->magic)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (handle->card != sg_share_get_card_id(card))
		return CUDA_ERROR_MAP_FAILED;
	if (handle->thing.kind != sorts[sort].kind ||
	    sg_share_open(card, &handle->thing, share) < 0)
		return CUDA_ERROR_INVALID_HANDLE;
	sg_share_close(card, &handle->thing);
	return CUDA_SUCCESS;
}

/* The same for a process that did not make it: that one cannot open what is its own. */
static CUresult find_foreign(const struct sg_ipc_handle *handle, enum sg_ipc_sort sort,
			     struct sg_share *share)
{
	CUresult result = sg_ipc_find(handle, sort, share);

	return result == CUDA_SUCCESS && share->pid == getpid() ? CUDA_ERROR_INVALID_CONTEXT
								: result;
}

bool sg_ipc_name_block(struct sg_block *block, uint64_t pool)
{
	struct sg_share share = {.device = sg_init_get_index(block->device),
				 .offset = block->node.base - block->run->pages->node.base,
				 .pages = block->run->sharing->key,
				 .length = block->node.size,
				 .pool = pool};

	return block->key.id ||
	       sg_share_create(sg_init_get_card(), SG_SHARE_BLOCK, &share, &block->key) == 0;
}

void sg_ipc_forget(struct sg_block *block)
{
	if (block->key.id && block->kind != SG_MEMORY_OPENED)
		sg_share_close(sg_init_get_card(), &block->key);
	block->key.id = 0;
}

SG_API CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
	struct sg_ipc_handle handle;
	struct sg_context *context;
	struct sg_block *block;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pHandle)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	/* Any address of it will do; the handle is that of all of it. */
	block = sg_memory_find(dptr);
	if (!block || block->kind != SG_MEMORY_DEVICE)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (!block->run->sharing && !sg_sharing_lend_run(block->run))
		result = CUDA_ERROR_MAP_FAILED;
	else if (!sg_ipc_name_block(block, 0))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	else
		handle = sg_ipc_make_handle(SG_IPC_MEMORY, &block->key);
	sg_memory_unlock();
	if (result == CUDA_SUCCESS)
		memcpy(pHandle, &handle, sizeof(handle));
	return result;
}

/* The handle again, in a context that has opened it or in another. Locked. */
static CUresult open_again(struct sg_block *block, const struct sg_context *context,
			   const struct sg_share_key *thing)
{
	if (block->kind != SG_MEMORY_OPENED || block->key.id != thing->id)
		return CUDA_ERROR_MAP_FAILED; /* another one lay there, and was not closed */
	/* "may only be opened by one CUcontext per CUdevice per other process" */
	if (block->context != context)
		return CUDA_ERROR_INVALID_HANDLE;
	block->nr_opens++;
	return CUDA_SUCCESS;
}

/* A block in pages that are open, which it then keeps open. Locked. NULL: no memory. */
static struct sg_block *create_opened(struct sg_run *run, struct sg_context *context,
				      CUdevice device, const struct sg_share_key *thing,
				      const struct sg_share *share)
{
	struct sg_block *block = sg_memory_create_block();

	if (!block)
		return NULL;
	block->node.base = run->pages->node.base + share->offset;
	block->node.size = share->length;
	block->kind = SG_MEMORY_OPENED;
	block->device = device;
	block->context = context;
	block->run = run;
	block->key = *thing;
	block->nr_opens = 1;
	sg_memory_insert(block);
	return block;
}

/* Locked. */
static CUresult open_memory(const struct sg_share_key *thing, const struct sg_share *share,
			    struct sg_context *context, CUdeviceptr *address)
{
	CUdevice device = sg_sharing_find_device(share->device, context->device);
	struct sg_block *block;
	struct sg_run *run;
	uint64_t base;
	CUresult result;

	run = sg_sharing_open_run(sg_memory_get_space(SG_MEMORY_DEVICE, device), &share->pages,
				  &result);
	if (!run)
		return result;
	base = run->pages->node.base + share->offset;
	block = sg_memory_find_from(base);
	if (block && block->node.base < base + share->length) {
		sg_space_give_run(run); /* the block that is there has it open */
		result = open_again(block, context, thing);
	} else if (create_opened(run, context, device, thing, share)) {
		result = CUDA_SUCCESS;
	} else {
		sg_space_give_run(run);
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result == CUDA_SUCCESS)
		*address = base;
	return result;
}

SG_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	struct sg_context *context;
	struct sg_ipc_handle ours;
	struct sg_share share;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pdptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&ours, &handle, sizeof(ours));
	result = find_foreign(&ours, SG_IPC_MEMORY, &share);
	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	result = open_memory(&ours.thing, &share, context, pdptr);
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

/* Whether it was only opened more than once: then that is undone. */
static bool close_once(CUdeviceptr address)
{
	struct sg_block *block;
	bool is_open_still;

	sg_memory_lock();
	block = sg_memory_find(address);
	is_open_still = block && block->kind == SG_MEMORY_OPENED && block->node.base == address &&
			block->nr_opens > 1;
	if (is_open_still)
		block->nr_opens--;
	sg_memory_unlock();
	return is_open_still;
}

SG_API CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS || close_once(dptr))
		return result;
	return sg_memory_free(dptr, SG_MEMORY_IS(SG_MEMORY_OPENED));
}

/*
 * Events. All work is finished when a call returns, so there is nothing to wait for in another
 * process either: what is shared is that the event exists.
 */
SG_API CUresult cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
	struct sg_share share = {.device = -1};
	struct sg_ipc_handle handle;
	struct sg_event *shared;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pHandle)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_event_get(event, &shared);
	if (result != CUDA_SUCCESS)
		return result;
	if (!(shared->flags & CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_HANDLE;
	sg_memory_lock();
	if (!shared->key.id &&
	    sg_share_create(sg_init_get_card(), SG_SHARE_EVENT, &share, &shared->key) < 0)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	handle = sg_ipc_make_handle(SG_IPC_EVENT, &shared->key);
	sg_memory_unlock();
	if (result == CUDA_SUCCESS)
		memcpy(pHandle, &handle, sizeof(handle));
	return result;
}

SG_API CUresult cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
	struct sg_event first = {.flags = CU_EVENT_DISABLE_TIMING};
	struct sg_ipc_handle ours;
	struct sg_event *event;
	struct sg_share share;
	CUresult result = sg_context_get_current(&first.context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!phEvent)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&ours, &handle, sizeof(ours));
	result = find_foreign(&ours, SG_IPC_EVENT, &share);
	if (result != CUDA_SUCCESS)
		return result;
	if (sg_share_open(sg_init_get_card(), &ours.thing, &share) < 0)
		return CUDA_ERROR_INVALID_HANDLE;
	first.key = ours.thing;
	event = sg_object_create_from(SG_OBJECT_EVENT, &first, sizeof(first));
	if (!event) {
		sg_share_close(sg_init_get_card(), &ours.thing);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*phEvent = (CUevent)(void *)event;
	return CUDA_SUCCESS;
}

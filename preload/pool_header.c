/* The other side of vramscope.h: what programs say about their own pools and phases. */
#include <stddef.h>

#include "guard.h"
#include "lifecycle.h"
#include "names.h"
#include "recorder.h"

#define EXPORT __attribute__((visibility("default")))

/* The layout is vramscope.h's; included here, its inline functions would be unused. */
#include "vramscope.h"

EXPORT uint32_t vramscope_pool_create(const char *name, int32_t device, uint64_t limit_size);
EXPORT void vramscope_pool_destroy(uint32_t pool);
EXPORT void vramscope_pool_alloc(uint32_t pool, const void *address, uint64_t size);
EXPORT void vramscope_pool_free(uint32_t pool, const void *address);
EXPORT void vramscope_pool_oom(uint32_t pool, uint64_t size);
EXPORT void vramscope_phase_push(const char *name);
EXPORT void vramscope_phase_pop(void);
EXPORT void vramscope_step(uint64_t number);
EXPORT void vramscope_mark(const char *name);
extern EXPORT const struct vramscope_api vramscope_api;

#define ENTER()     vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0))
#define LEAVE(self) vs_guard_leave((self), VS_GUARD_POOL)

uint32_t vramscope_pool_create(const char *name, int32_t device, uint64_t limit_size)
{
	struct vs_thread *self = ENTER();
	uint32_t pool = VS_NO_ID;

	if (!self)
		return VS_NO_ID;
	if (!vs_lifecycle_settings()->no_pools)
		pool = vs_recorder_create_pool(self, VS_POOL_PROGRAM, name ? name : "",
					       device < 0 ? VS_NO_DEVICE : (uint32_t)device,
					       limit_size);
	LEAVE(self);
	return pool;
}

void vramscope_pool_destroy(uint32_t pool)
{
	struct vs_thread *self = pool ? ENTER() : NULL;

	if (!self)
		return;
	vs_recorder_end_pool(self, pool);
	LEAVE(self);
}

void vramscope_pool_alloc(uint32_t pool, const void *address, uint64_t size)
{
	struct vs_thread *self = pool ? ENTER() : NULL;

	if (!self)
		return;
	vs_recorder_add_block(self, pool, (uintptr_t)address, size);
	LEAVE(self);
}

void vramscope_pool_free(uint32_t pool, const void *address)
{
	struct vs_thread *self = pool && address ? ENTER() : NULL;

	if (!self)
		return;
	vs_recorder_free_block(self, pool, (uintptr_t)address);
	LEAVE(self);
}

void vramscope_pool_oom(uint32_t pool, uint64_t size)
{
	struct vs_thread *self = pool ? ENTER() : NULL;

	if (!self)
		return;
	vs_recorder_fail_block(self, pool, size);
	LEAVE(self);
}

void vramscope_phase_push(const char *name)
{
	struct vs_thread *self = ENTER();

	if (!self)
		return;
	vs_recorder_push_phase(self, VS_PHASE_SOURCE_HEADER, vs_names_get(name ? name : ""));
	LEAVE(self);
}

void vramscope_phase_pop(void)
{
	struct vs_thread *self = ENTER();

	if (!self)
		return;
	vs_recorder_pop_phase(self, VS_PHASE_SOURCE_HEADER);
	LEAVE(self);
}

void vramscope_step(uint64_t number)
{
	struct vs_thread *self = ENTER();

	if (!self)
		return;
	vs_recorder_add_step(self, number);
	LEAVE(self);
}

void vramscope_mark(const char *name)
{
	struct vs_thread *self = ENTER();

	if (!self)
		return;
	vs_recorder_add_mark(self, vs_names_get(name ? name : ""));
	LEAVE(self);
}

const struct vramscope_api vramscope_api = {
	.size = sizeof(struct vramscope_api),
	.pool_create = vramscope_pool_create,
	.pool_destroy = vramscope_pool_destroy,
	.pool_alloc = vramscope_pool_alloc,
	.pool_free = vramscope_pool_free,
	.pool_oom = vramscope_pool_oom,
	.phase_push = vramscope_phase_push,
	.phase_pop = vramscope_phase_pop,
	.step = vramscope_step,
	.mark = vramscope_mark,
};

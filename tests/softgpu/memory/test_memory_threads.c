/*
 * Many threads on one device, each with memory of its own that nobody else may touch. For
 * ThreadSanitizer, and for sums that must be right when all is over.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define CAPACITY    (512 * MIB)
#define OVERHEAD    (8 * MIB)
#define NR_THREADS  64
#define NR_STEPS    6000 /* of each thread */
#define MAX_BLOCKS  16
#define WINDOW      48
#define RANGE_PAGES 4

/* Asserts are for the main thread; the others say what went wrong and leave. */
#define expect(condition)                          \
	do {                                       \
		if (!(condition)) {                \
			self->failed = #condition; \
			return;                    \
		}                                  \
	} while (0)
#define expect_ok(call) expect((call) == CUDA_SUCCESS)

enum kind {
	KIND_DEVICE,
	KIND_MANAGED,
	KIND_PINNED,
	KIND_POOL,
	KIND_OWN_POOL,
	NR_KINDS
};

struct block {
	enum kind kind;
	CUdeviceptr address; /* 0: none */
	size_t size;
	unsigned char bytes[WINDOW];
};

struct worker {
	pthread_t thread;
	const char *failed;
	uint64_t seed;
	CUcontext context;
	CUstream stream;
	CUevent event;
	CUmemoryPool pool;
	CUdeviceptr range; /* reserved addresses */
	struct block blocks[MAX_BLOCKS];
};

static struct worker workers[NR_THREADS];

static uint64_t draw(struct worker *self, uint64_t limit)
{
	return sg_rig_draw_below(&self->seed, limit);
}

static CUresult request(struct worker *self, struct block *block)
{
	void *host = NULL;
	CUresult result;

	switch (block->kind) {
	case KIND_DEVICE:
		return cuMemAlloc(&block->address, block->size);
	case KIND_MANAGED:
		return cuMemAllocManaged(&block->address, block->size, CU_MEM_ATTACH_GLOBAL);
	case KIND_PINNED:
		result = cuMemAllocHost(&host, block->size);
		block->address = (CUdeviceptr)(uintptr_t)host;
		return result;
	case KIND_POOL:
		return cuMemAllocAsync(&block->address, block->size, self->stream);
	default:
		return cuMemAllocFromPoolAsync(&block->address, block->size, self->pool,
					       self->stream);
	}
}

static void alloc_block(struct worker *self, struct block *block)
{
	size_t limit = draw(self, 10) ? 4000 : 3 * MIB;
	CUresult result;

	block->kind = (enum kind)draw(self, NR_KINDS);
	block->size = WINDOW + draw(self, limit);
	block->address = 0;
	result = request(self, block);
	/* Whether there is room depends on the others. */
	if (result == CUDA_ERROR_OUT_OF_MEMORY && block->kind != KIND_PINNED) {
		block->address = 0;
		return;
	}
	expect_ok(result);
	expect(block->address % UNIT == 0);
	for (size_t i = 0; i < WINDOW; i++)
		block->bytes[i] = (unsigned char)sg_rig_draw(&self->seed);
	/* at its end, where the next one would begin if it were too short */
	expect_ok(cuMemcpyHtoDAsync(block->address + block->size - WINDOW, block->bytes, WINDOW,
				    self->stream));
}

static void check_block(struct worker *self, const struct block *block)
{
	unsigned char bytes[WINDOW];

	expect_ok(cuMemcpyDtoH(bytes, block->address + block->size - WINDOW, WINDOW));
	expect(!memcmp(bytes, block->bytes, WINDOW));
}

static void free_block(struct worker *self, struct block *block)
{
	check_block(self, block);
	if (block->kind == KIND_PINNED)
		expect_ok(cuMemFreeHost((void *)(uintptr_t)block->address));
	else if (draw(self, 2))
		expect_ok(cuMemFree(block->address));
	else
		expect_ok(cuMemFreeAsync(block->address, self->stream));
	block->address = 0;
}

static void copy_block(struct worker *self, struct block *target, const struct block *source)
{
	if (target == source || !target->address || !source->address)
		return;
	expect_ok(cuMemcpyAsync(target->address + target->size - WINDOW,
				source->address + source->size - WINDOW, WINDOW, self->stream));
	memcpy(target->bytes, source->bytes, WINDOW);
}

/* Physical memory: made, mapped, used, unmapped, released. */
static void use_mapping(struct worker *self)
{
	static const CUmemAllocationProp props = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	const CUmemAccessDesc desc = {.location = props.location,
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	size_t size = (1 + draw(self, RANGE_PAGES)) * PAGE;
	CUmemGenericAllocationHandle handle;
	CUresult result = cuMemCreate(&handle, size, &props, 0);
	char byte = (char)draw(self, 100), read = -1;

	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return;
	expect_ok(result);
	expect_ok(cuMemMap(self->range, size, 0, handle, 0));
	expect_ok(cuMemRelease(handle));
	expect_ok(cuMemSetAccess(self->range, size, &desc, 1));
	expect_ok(cuMemsetD8(self->range + size - 1, (unsigned char)byte, 1));
	expect_ok(cuMemcpyDtoH(&read, self->range + size - 1, 1));
	expect(read == byte);
	expect_ok(cuMemUnmap(self->range, size));
}

/* Destroyed with blocks in it, sometimes; those are freed later. */
static void change_pool(struct worker *self)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	cuuint64_t threshold = draw(self, 64 * MIB);

	if (self->pool)
		expect_ok(cuMemPoolDestroy(self->pool));
	expect_ok(cuMemPoolCreate(&self->pool, &props));
	expect_ok(cuMemPoolSetAttribute(self->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
}

/* A new context; the old one takes its blocks along, but not those of pools. */
static void change_context(struct worker *self)
{
	if (self->context)
		expect_ok(cuCtxDestroy(self->context));
	for (int i = 0; i < MAX_BLOCKS; i++)
		if (self->blocks[i].kind != KIND_POOL && self->blocks[i].kind != KIND_OWN_POOL)
			self->blocks[i].address = 0;
	expect_ok(cuCtxCreate(&self->context, NULL, 0, 0));
	expect_ok(cuStreamCreate(&self->stream, CU_STREAM_NON_BLOCKING));
	expect_ok(cuEventCreate(&self->event, CU_EVENT_DISABLE_TIMING));
}

static void do_something(struct worker *self)
{
	struct block *block = &self->blocks[draw(self, MAX_BLOCKS)];
	size_t free_size, total;
	CUdeviceptr base;

	switch (draw(self, 100)) {
	case 0:
		expect_ok(cuStreamSynchronize(self->stream));
		break;
	case 1:
		expect_ok(cuEventRecord(self->event, self->stream));
		expect_ok(cuEventSynchronize(self->event));
		break;
	case 2:
		expect_ok(cuMemPoolTrimTo(self->pool, draw(self, 64 * MIB)));
		break;
	case 3:
		if (!draw(self, 10))
			change_pool(self);
		break;
	case 4:
		if (!draw(self, 4))
			change_context(self);
		break;
	case 5:
	case 6:
		use_mapping(self);
		break;
	case 7:
		expect_ok(cuMemGetInfo(&free_size, &total));
		expect(free_size <= total && total == CAPACITY);
		break;
	case 8:
		if (block->address)
			expect_ok(cuMemGetAddressRange(&base, &total, block->address + 5));
		break;
	case 9:
		expect(cuMemFree((uintptr_t)self) == CUDA_ERROR_INVALID_VALUE);
		break;
	default:
		if (!block->address)
			alloc_block(self, block);
		else if (draw(self, 3))
			free_block(self, block);
		else
			copy_block(self, block, &self->blocks[draw(self, MAX_BLOCKS)]);
	}
}

static void work(struct worker *self)
{
	expect_ok(cuMemAddressReserve(&self->range, RANGE_PAGES * PAGE, 0, 0, 0));
	change_context(self);
	change_pool(self);
	for (int step = 0; step < NR_STEPS && !self->failed; step++)
		do_something(self);
	for (int i = 0; i < MAX_BLOCKS && !self->failed; i++)
		if (self->blocks[i].address)
			free_block(self, &self->blocks[i]);
	expect_ok(cuMemPoolDestroy(self->pool));
	expect_ok(cuMemAddressFree(self->range, RANGE_PAGES * PAGE));
	expect_ok(cuCtxDestroy(self->context));
}

static void *run_worker(void *argument)
{
	work(argument);
	return NULL;
}

static void run_all(void *(*run)(void *))
{
	for (int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){.seed = (uint64_t)i + 1};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		if (workers[i].failed)
			fail_msg("thread %d: %s", i, workers[i].failed);
}

static void test_64_threads_share_a_device(void **state)
{
	CUcontext context = sg_rig_open();

	(void)state;
	run_all(run_worker);
	/* the default pool gives back what it has left */
	assert_ok(cuCtxSynchronize());
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	assert_int_equal(sg_rig_get_file_size("softgpu-device"), 0);
	assert_int_equal(sg_rig_get_file_size("softgpu-physical"), 0);
	assert_int_equal(sg_rig_get_file_size("softgpu-managed"), 0);
	assert_int_equal(sg_rig_get_file_size("softgpu-host"), 0);
	assert_ok(cuCtxDestroy(context));
}

/* What a reset takes away under its owner is an error to him, and no more than that. */
static void live_with_resets(struct worker *self)
{
	static const CUmemAllocationProp props = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	CUmemGenericAllocationHandle handle;
	CUresult result;

	for (int i = 0; i < 200; i++) {
		if (self->seed == 1) {
			expect_ok(cuDevicePrimaryCtxReset(1));
			continue;
		}
		result = cuMemCreate(&handle, PAGE, &props, 0);
		expect(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		if (result != CUDA_SUCCESS)
			continue;
		result = cuMemRelease(handle);
		expect(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE);
	}
}

static void *run_with_resets(void *argument)
{
	live_with_resets(argument);
	return NULL;
}

static void test_device_is_reset_while_others_take_memory(void **state)
{
	CUcontext context;

	(void)state;
	assert_ok(cuInit(0));
	run_all(run_with_resets);
	assert_ok(cuDevicePrimaryCtxReset(1));
	assert_ok(cuCtxCreate(&context, NULL, 0, 1));
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	assert_ok(cuCtxDestroy(context));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_64_threads_share_a_device),
		cmocka_unit_test(test_device_is_reset_while_others_take_memory),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=512M", "SOFTGPU_CONTEXT=8M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Random calls of every kind, against the naive model (naive.h). After each one the result and the
 * free memory agree, new blocks lie where they may, and bytes here and there are what they were.
 *
 * SOFTGPU_TEST_SEED and SOFTGPU_TEST_STEPS set the seed and the number of steps; a failure says
 * both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "naive.h"
#include "rig.h"

#define CAPACITY     (192 * MIB)
#define OVERHEAD     (8 * MIB)
#define NR_STEPS     2000000
#define LIVE_BLOCKS  150 /* about so many */
#define NR_CONTEXTS  4
#define NR_MAPPABLE  48 /* pages of reserved addresses */
#define MAX_MAPPINGS 24
#define OWN_SIZE     ((size_t)256 * 1024)

struct mapping {
	CUdeviceptr address;
	size_t size;
	struct sg_naive_physical *physical; /* NULL: the entry is free */
	CUmemAccess_flags access;
};

static struct sg_naive naive;
static CUcontext contexts[NR_CONTEXTS]; /* the first is always there */
static int current;
static int current_pool;
static CUstream stream;
static CUevent event;
static CUdeviceptr mappable;
static struct mapping mappings[MAX_MAPPINGS];
static char own[OWN_SIZE]; /* to be registered */
static uint64_t seed;

static uint64_t draw(uint64_t limit)
{
	return sg_rig_draw_below(&seed, limit);
}

static size_t draw_size(void)
{
	switch (draw(16)) {
	case 0:
		return 1 + draw(CAPACITY);
	case 1:
		return 1 + draw(40 * MIB);
	case 2:
	case 3:
		return 1 + draw(6 * MIB);
	case 4:
	case 5:
	case 6:
		return 1 + draw(MIB);
	case 7:
		return (size_t)1 << draw(24);
	default:
		return 1 + draw(5000);
	}
}

/* ---- Bytes ---- */

static void draw_bytes(struct sg_naive_window *window)
{
	for (size_t i = 0; i < window->size; i++)
		window->bytes[i] = (unsigned char)sg_rig_draw(&seed);
}

static void write_window(CUdeviceptr address, const struct sg_naive_window *window)
{
	assert_ok(cuMemcpyHtoD(address + window->offset, window->bytes, window->size));
}

static void make_window(CUdeviceptr address, size_t size, struct sg_naive_window *window)
{
	window->size = size < NAIVE_WINDOW ? size : NAIVE_WINDOW;
	window->offset = draw(size - window->size + 1);
	draw_bytes(window);
	write_window(address, window);
}

static void check_window(CUdeviceptr address, const struct sg_naive_window *window)
{
	unsigned char bytes[NAIVE_WINDOW];

	assert_ok(cuMemcpyDtoH(bytes, address + window->offset, window->size));
	assert_memory_equal(bytes, window->bytes, window->size);
}

static struct sg_naive_block *draw_block(void)
{
	return naive.nr_blocks ? &naive.blocks[draw((uint64_t)naive.nr_blocks)] : NULL;
}

static void check_some_bytes(void)
{
	struct sg_naive_block *block = draw_block();
	struct mapping *mapping = &mappings[draw(MAX_MAPPINGS)];

	if (block)
		check_window(block->address, &block->window);
	if (mapping->physical && mapping->access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
		check_window(mapping->address, &mapping->physical->window);
}

static void copy_some_bytes(void)
{
	struct sg_naive_block *target = draw_block(), *source = draw_block();
	size_t size;

	if (!target || target == source)
		return;
	size = target->window.size < source->window.size ? target->window.size
							 : source->window.size;
	if (draw(2))
		assert_ok(cuMemcpyDtoD(target->address + target->window.offset,
				       source->address + source->window.offset, size));
	else
		assert_ok(cuMemcpyAsync(target->address + target->window.offset,
					source->address + source->window.offset, size, stream));
	memcpy(target->window.bytes, source->window.bytes, size);
}

static void fill_some_bytes(void)
{
	struct sg_naive_block *block = draw_block();
	unsigned char byte = (unsigned char)draw(4);

	if (!block)
		return;
	memset(block->window.bytes, byte, block->window.size);
	/* all of it where that is cheap: a neighbour that lies too near would notice */
	if (block->size <= 200 * KIB)
		assert_ok(cuMemsetD8(block->address, byte, block->size));
	else
		assert_ok(cuMemsetD8Async(block->address + block->window.offset, byte,
					  block->window.size, stream));
}

/* ---- Blocks ---- */

static void finish_request(const struct sg_naive_plan *plan, CUresult expected, CUresult result,
			   CUdeviceptr address)
{
	struct sg_naive_block *block;

	assert_result(result, expected);
	if (result != CUDA_SUCCESS)
		return;
	block = sg_naive_place(&naive, plan, address);
	block->context = current;
	make_window(block->address, block->size, &block->window);
}

static void alloc_device(void)
{
	struct sg_naive_plan plan;
	size_t size = draw_size(), pitch = 0, width, height;
	CUdeviceptr address = 0;
	CUresult expected, result;

	if (draw(8)) {
		expected = sg_naive_plan(&naive, NAIVE_DEVICE, 0, size, &plan);
		result = cuMemAlloc(&address, size);
	} else {
		width = 1 + draw(3000);
		height = 1 + draw(3000);
		size = (width + UNIT - 1) / UNIT * UNIT * height;
		expected = sg_naive_plan(&naive, NAIVE_DEVICE, 0, size, &plan);
		result = cuMemAllocPitch(&address, &pitch, width, height, 4u << draw(3));
		if (result == CUDA_SUCCESS)
			assert_int_equal(pitch * height, size);
	}
	finish_request(&plan, expected, result, address);
}

static void alloc_managed(void)
{
	struct sg_naive_plan plan;
	size_t size = draw_size();
	CUdeviceptr address = 0;
	unsigned flags = draw(2) ? CU_MEM_ATTACH_GLOBAL : CU_MEM_ATTACH_HOST;
	CUresult expected = sg_naive_plan(&naive, NAIVE_MANAGED, 0, size, &plan);
	CUresult result = cuMemAllocManaged(&address, size, flags);

	finish_request(&plan, expected, result, address);
}

static void alloc_pinned(void)
{
	struct sg_naive_plan plan;
	size_t size = draw_size();
	void *host = NULL;
	CUresult expected = sg_naive_plan(&naive, NAIVE_PINNED, 0, size, &plan);
	CUresult result = cuMemHostAlloc(&host, size, (unsigned)draw(8));

	finish_request(&plan, expected, result, (CUdeviceptr)(uintptr_t)host);
}

static void register_own(void)
{
	size_t size = 1 + draw(OWN_SIZE / 8);
	char *host = own + draw(OWN_SIZE - size + 1);
	CUdeviceptr address = (CUdeviceptr)(uintptr_t)host;
	struct sg_naive_plan plan;
	CUresult expected = sg_naive_plan(&naive, NAIVE_REGISTERED, 0, size, &plan);

	if (sg_naive_is_overlapping(&naive, address, size))
		expected = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	finish_request(&plan, expected, cuMemHostRegister(host, size, (unsigned)draw(4)), address);
}

static int draw_pool(void)
{
	int pool = (int)draw(NAIVE_MAX_POOLS);

	return naive.pools[pool].is_used && !naive.pools[pool].is_destroyed ? pool : 0;
}

static void alloc_pooled(void)
{
	bool is_default = draw(2) == 0;
	int pool = is_default ? current_pool : draw_pool();
	size_t size = draw_size();
	struct sg_naive_plan plan;
	CUdeviceptr address = 0;
	CUresult expected = sg_naive_plan(&naive, NAIVE_POOL, pool, size, &plan);
	CUresult result = is_default ? cuMemAllocAsync(&address, size, draw(2) ? stream : NULL)
				     : cuMemAllocFromPoolAsync(&address, size,
							       naive.pools[pool].handle, stream);

	finish_request(&plan, expected, result, address);
}

/* The call that frees a kind of memory. Pool, device and managed memory have two. */
static CUresult call_free(enum sg_naive_kind kind, CUdeviceptr address)
{
	switch (kind) {
	case NAIVE_PINNED:
		return cuMemFreeHost((void *)(uintptr_t)address);
	case NAIVE_REGISTERED:
		return cuMemHostUnregister((void *)(uintptr_t)address);
	default:
		return draw(2) ? cuMemFree(address) : cuMemFreeAsync(address, stream);
	}
}

static void free_block(void)
{
	struct sg_naive_block *block = draw_block(), gone;
	CUresult twice;

	if (!block)
		return;
	check_window(block->address, &block->window);
	gone = *block;
	sg_naive_free(&naive, block);
	assert_ok(call_free(gone.kind, gone.address));
	if (draw(8))
		return;
	twice = gone.kind == NAIVE_REGISTERED ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
					      : CUDA_ERROR_INVALID_VALUE;
	assert_result(call_free(gone.kind, gone.address), twice);
}

/* ---- Pools ---- */

static void synchronize(void)
{
	sg_naive_synchronize(&naive);
	switch (draw(3)) {
	case 0:
		assert_ok(cuStreamSynchronize(draw(2) ? stream : NULL));
		break;
	case 1:
		assert_ok(cuEventSynchronize(event));
		break;
	default:
		assert_ok(cuCtxSynchronize());
	}
}

static void trim_pool(void)
{
	int pool = draw_pool();
	size_t keep = draw(4) ? draw(100 * MIB) : 0;

	sg_naive_trim(&naive, pool, keep);
	assert_ok(cuMemPoolTrimTo(naive.pools[pool].handle, keep));
}

static void set_threshold(void)
{
	static const cuuint64_t thresholds[] = {0, 1, 32 * MIB, 50 * MIB, 90 * MIB, UINT64_MAX};
	int pool = draw_pool();
	cuuint64_t threshold = thresholds[draw(6)];

	naive.pools[pool].threshold = threshold;
	assert_ok(cuMemPoolSetAttribute(naive.pools[pool].handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
					&threshold));
}

static void create_pool(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	int pool = 1 + (int)draw(NAIVE_MAX_POOLS - 1);

	if (naive.pools[pool].is_used)
		return;
	props.maxSize = draw(2) ? 1 + draw(100 * MIB) : 0;
	naive.pools[pool] = (struct sg_naive_pool){.is_used = true, .max_size = props.maxSize};
	assert_ok(cuMemPoolCreate(&naive.pools[pool].handle, &props));
}

static void destroy_pool(void)
{
	int pool = draw_pool();
	CUmemoryPool handle = naive.pools[pool].handle;

	if (pool == 0) {
		assert_invalid(cuMemPoolDestroy(handle));
		return;
	}
	sg_naive_destroy_pool(&naive, pool);
	assert_ok(cuMemPoolDestroy(handle));
	if (current_pool == pool)
		current_pool = 0;
	assert_invalid(cuMemPoolTrimTo(handle, 0));
}

static void choose_pool(void)
{
	current_pool = draw_pool();
	assert_ok(cuDeviceSetMemPool(0, naive.pools[current_pool].handle));
}

static void check_pool(void)
{
	int pool = draw_pool();
	cuuint64_t used, reserved, used_high, reserved_high;
	CUmemoryPool handle = naive.pools[pool].handle;

	assert_ok(cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_ok(cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
	assert_ok(cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used_high));
	assert_ok(cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &reserved_high));
	assert_int_equal(used, sg_naive_get_used(&naive, pool));
	assert_int_equal(reserved, sg_naive_get_reserved(&naive, pool));
	assert_int_equal(used_high, naive.pools[pool].used_high);
	assert_int_equal(reserved_high, naive.pools[pool].reserved_high);
}

/* ---- Virtual memory ---- */

static struct sg_naive_physical *draw_physical(void)
{
	return &naive.physical[draw(NAIVE_MAX_PHYSICAL)];
}

static void create_physical(void)
{
	static const CUmemAllocationProp props = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	struct sg_naive_physical *physical = draw_physical();
	size_t size = (1 + draw(draw(10) ? 6 : 60)) * PAGE;
	CUmemGenericAllocationHandle handle = 0;
	CUresult expected;

	if (physical->nr_references || physical->nr_mappings)
		return;
	expected = sg_naive_charge(&naive, size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	assert_result(cuMemCreate(&handle, size, &props, 0), expected);
	if (expected != CUDA_SUCCESS)
		return;
	*physical = (struct sg_naive_physical){.handle = handle, .size = size, .nr_references = 1};
	/* new physical memory is zero; mapped or not, these bytes are its own */
	physical->window.size = NAIVE_WINDOW;
	physical->window.offset = draw(PAGE - NAIVE_WINDOW + 1);
}

static void release_physical(void)
{
	struct sg_naive_physical *physical = draw_physical();

	if (!physical->handle)
		return;
	if (!physical->nr_references) {
		/* released and mapped, or gone and perhaps somebody else's by now: the first only
		 */
		if (physical->nr_mappings)
			assert_invalid(cuMemRelease(physical->handle));
		return;
	}
	physical->nr_references--;
	assert_ok(cuMemRelease(physical->handle));
}

static bool is_mapped_in(CUdeviceptr address, size_t size)
{
	for (int i = 0; i < MAX_MAPPINGS; i++)
		if (mappings[i].physical && address < mappings[i].address + mappings[i].size &&
		    mappings[i].address < address + size)
			return true;
	return false;
}

static void map_physical(void)
{
	struct mapping *mapping = &mappings[draw(MAX_MAPPINGS)];
	struct sg_naive_physical *physical = draw_physical();
	CUdeviceptr address = mappable + draw(NR_MAPPABLE) * PAGE;
	size_t size = (1 + draw(4)) * PAGE;
	CUresult expected = CUDA_SUCCESS;

	if (mapping->physical || (!physical->nr_references && !physical->nr_mappings))
		return;
	if (!physical->nr_references || size > physical->size ||
	    address + size > mappable + NR_MAPPABLE * PAGE || is_mapped_in(address, size))
		expected = CUDA_ERROR_INVALID_VALUE;
	assert_result(cuMemMap(address, size, 0, physical->handle, 0), expected);
	if (expected != CUDA_SUCCESS)
		return;
	*mapping = (struct mapping){.address = address, .size = size, .physical = physical};
	physical->nr_mappings++;
}

static void set_access(void)
{
	static const CUmemAccess_flags flags[] = {
		CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ,
		CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	struct mapping *mapping = &mappings[draw(MAX_MAPPINGS)];
	CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				.flags = flags[draw(4)]};

	if (!mapping->physical)
		return;
	assert_ok(cuMemSetAccess(mapping->address, mapping->size, &desc, 1));
	mapping->access = desc.flags;
}

/* Through one mapping; every other one of that memory shows it, too. */
static void write_mapped(void)
{
	struct mapping *mapping = &mappings[draw(MAX_MAPPINGS)];
	struct sg_naive_window *window;

	if (!mapping->physical)
		return;
	window = &mapping->physical->window;
	if (mapping->access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
		draw_bytes(window);
		write_window(mapping->address, window);
		return;
	}
	assert_invalid(cuMemcpyHtoD(mapping->address, window->bytes, 1));
	if (mapping->access == CU_MEM_ACCESS_FLAGS_PROT_NONE)
		assert_invalid(cuMemcpyDtoH(own, mapping->address, 1));
}

static void unmap_physical(void)
{
	struct mapping *mapping = &mappings[draw(MAX_MAPPINGS)];

	if (!mapping->physical)
		return;
	if (mapping->size > PAGE && !draw(3)) {
		assert_invalid(cuMemUnmap(mapping->address, PAGE));
		assert_invalid(cuMemUnmap(mapping->address + PAGE, mapping->size - PAGE));
	}
	mapping->physical->nr_mappings--;
	assert_ok(cuMemUnmap(mapping->address, mapping->size));
	mapping->physical = NULL;
}

static void retain_physical(void)
{
	struct mapping *mapping = &mappings[draw(MAX_MAPPINGS)];
	CUmemGenericAllocationHandle handle;

	if (!mapping->physical || mapping->physical->nr_references > 3)
		return;
	assert_ok(cuMemRetainAllocationHandle(
		&handle, (void *)(uintptr_t)(mapping->address + draw(mapping->size))));
	assert_true(handle == mapping->physical->handle);
	mapping->physical->nr_references++;
}

/* ---- Contexts ---- */

static void change_context(void)
{
	int which = (int)draw(NR_CONTEXTS);

	if (!contexts[which]) {
		assert_ok(cuCtxCreate(&contexts[which], NULL, 0, 0));
		assert_ok(cuCtxPopCurrent(NULL));
	} else if (which && draw(2)) {
		if (which == current)
			current = 0;
		assert_ok(cuCtxSetCurrent(contexts[current]));
		sg_naive_free_context(&naive, which);
		assert_ok(cuCtxDestroy(contexts[which]));
		contexts[which] = NULL;
	} else {
		current = which;
		assert_ok(cuCtxSetCurrent(contexts[current]));
	}
}

static void reset_device(void)
{
	sg_naive_reset(&naive);
	memset(mappings, 0, sizeof(mappings));
	current_pool = 0;
	assert_ok(cuDevicePrimaryCtxReset(0));
}

/* ---- Calls that are wrong ---- */

static void make_bad_call(void)
{
	struct sg_naive_block *block = draw_block();
	CUdeviceptr address = 0;
	char bytes[8] = "";

	switch (draw(12)) {
	case 0:
		assert_invalid(cuMemAlloc(&address, 0));
		break;
	case 1:
		assert_result(cuMemAlloc(&address, SIZE_MAX - draw(3 * PAGE)),
			      CUDA_ERROR_OUT_OF_MEMORY);
		break;
	case 2:
		assert_invalid(cuMemFree(sg_rig_draw(&seed) | 1));
		break;
	case 3: /* inside a block */
		if (block && block->size > 1)
			assert_invalid(cuMemFree(block->address + 1 + draw(block->size - 1)));
		break;
	case 4: /* of another kind */
		if (block && block->kind != NAIVE_PINNED)
			assert_invalid(cuMemFreeHost((void *)(uintptr_t)block->address));
		break;
	case 5:
		if (block && (block->kind == NAIVE_PINNED || block->kind == NAIVE_REGISTERED))
			assert_invalid(cuMemFreeAsync(block->address, stream));
		break;
	case 6: /* beyond the end, where nothing follows */
		if (block && !sg_naive_find(&naive, block->address + block->size))
			assert_invalid(cuMemcpyDtoH(bytes, block->address + block->size - 1, 2));
		break;
	case 7:
		assert_invalid(cuMemAllocFromPoolAsync(&address, 1, (CUmemoryPool)bytes, NULL));
		break;
	case 8:
		assert_invalid(cuMemMap(mappable, PAGE, 0, 12345, 0));
		break;
	case 9:
		assert_invalid(cuMemAddressFree(mappable + PAGE, PAGE));
		break;
	case 10:
		assert_result(cuMemAllocAsync(&address, 1, (CUstream)bytes),
			      CUDA_ERROR_INVALID_HANDLE);
		break;
	default:
		assert_invalid(cuMemsetD8((CUdeviceptr)(uintptr_t)bytes, 1, 1));
	}
}

/* How often each is done: the number of times out of the sum of all. */
static const struct act {
	unsigned weight;
	const char *name;
	void (*act)(void);
} acts[] = {
#define ACT(weight, function)               \
	{                                   \
		weight, #function, function \
	}
	ACT(110, alloc_device),   ACT(40, alloc_managed),    ACT(25, alloc_pinned),
	ACT(20, register_own),    ACT(90, alloc_pooled),     ACT(20, synchronize),
	ACT(8, trim_pool),        ACT(8, set_threshold),     ACT(4, create_pool),
	ACT(3, destroy_pool),     ACT(3, choose_pool),       ACT(15, check_pool),
	ACT(20, create_physical), ACT(15, release_physical), ACT(30, map_physical),
	ACT(20, set_access),      ACT(20, write_mapped),     ACT(15, unmap_physical),
	ACT(4, retain_physical),  ACT(3, change_context),    ACT(60, copy_some_bytes),
	ACT(30, fill_some_bytes), ACT(60, make_bad_call),    ACT(40, check_some_bytes),
};
static const struct act act_free = ACT(0, free_block), act_reset = ACT(0, reset_device);

static const struct act *draw_act(void)
{
	unsigned sum = 0, choice;

	/* As many frees as keep the number of blocks about where it should be. */
	if (draw(1000) < (naive.nr_blocks < LIVE_BLOCKS ? 150u : 600u))
		return &act_free;
	if (!draw(20000))
		return &act_reset;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		sum += acts[i].weight;
	choice = (unsigned)draw(sum);
	for (const struct act *act = acts;; act++) {
		if (choice < act->weight)
			return act;
		choice -= act->weight;
	}
}

static void open_device(void)
{
	contexts[0] = sg_rig_open();
	naive.capacity = CAPACITY;
	naive.overhead = OVERHEAD;
	naive.pools[0].is_used = true;
	assert_ok(cuDeviceGetDefaultMemPool(&naive.pools[0].handle, 0));
	assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_ok(cuEventCreate(&event, 0));
	assert_ok(cuMemAddressReserve(&mappable, NR_MAPPABLE * PAGE, 0, 0, 0));
}

static unsigned long read_setting(const char *name, unsigned long fallback)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 0) : fallback;
}

static unsigned long nr_steps;

static void test_random_calls_agree_with_the_naive_model(void **state)
{
	uint64_t first_seed = seed;

	(void)state;
	open_device();
	for (unsigned long step = 0; step < nr_steps; step++) {
		const struct act *act = draw_act();
		size_t free_size;

		act->act();
		assert_ok(cuMemGetInfo(&free_size, NULL));
		if (free_size != sg_naive_get_free(&naive))
			fail_msg("seed %llu, step %lu, %s: %zu bytes are free, not %zu",
				 (unsigned long long)first_seed, step, act->name, free_size,
				 sg_naive_get_free(&naive));
	}
	while (naive.nr_blocks)
		free_block();
	reset_device();
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	/* and the host has all of its memory back */
	assert_int_equal(sg_rig_get_file_size("softgpu-device"), 0);
	assert_int_equal(sg_rig_get_file_size("softgpu-managed"), 0);
	assert_int_equal(sg_rig_get_file_size("softgpu-physical"), 0);
	assert_int_equal(sg_rig_get_file_size("softgpu-host"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls_agree_with_the_naive_model),
	};

	seed = read_setting("SOFTGPU_TEST_SEED", 1);
	nr_steps = read_setting("SOFTGPU_TEST_STEPS", NR_STEPS);
	printf("SOFTGPU_TEST_SEED=%llu SOFTGPU_TEST_STEPS=%lu\n", (unsigned long long)seed,
	       nr_steps);
	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=192M", "SOFTGPU_CONTEXT=8M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

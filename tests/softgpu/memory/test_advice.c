/* What was said about managed memory is what is read back, page by page. */
#include "rig.h"

#include <string.h>

#define NR_PAGES  64
#define HOST_PAGE ((size_t)4096)
#define SIZE      (NR_PAGES * HOST_PAGE)

static CUcontext context;
static CUstream stream;
static CUdeviceptr memory;

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_ok(cuMemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_GLOBAL));
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static CUmemLocation on_device(int device)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

	location.id = device;
	return location;
}

static CUmemLocation on_host(void)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_HOST};

	location.id = 12345; /* ignored */
	return location;
}

static CUmemLocation on_node(int node)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA};

	location.id = node;
	return location;
}

static int ask(CUmem_range_attribute attribute, size_t first, size_t nr_pages)
{
	int value = -77;

	assert_ok(cuMemRangeGetAttribute(&value, sizeof(value), attribute,
					 memory + first * HOST_PAGE, nr_pages * HOST_PAGE));
	return value;
}

static void advise(CUmem_advise advice, CUmemLocation location, size_t first, size_t nr_pages)
{
	assert_ok(cuMemAdvise(memory + first * HOST_PAGE, nr_pages * HOST_PAGE, advice, location));
}

#define READ_MOSTLY    CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY
#define PREFERRED      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
#define PREFERRED_TYPE CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
#define PREFERRED_ID   CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID
#define PREFETCHED     CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
#define PREFETCH_TYPE  CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE
#define PREFETCH_ID    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID

static void test_nothing_was_said_about_new_memory(void **state)
{
	(void)state;
	assert_int_equal(ask(READ_MOSTLY, 0, NR_PAGES), 0);
	assert_int_equal(ask(PREFERRED, 0, NR_PAGES), CU_DEVICE_INVALID);
	assert_int_equal(ask(PREFERRED_TYPE, 0, NR_PAGES), CU_MEM_LOCATION_TYPE_INVALID);
	assert_int_equal(ask(PREFETCHED, 0, NR_PAGES), CU_DEVICE_INVALID);
	assert_int_equal(ask(PREFETCH_TYPE, 0, NR_PAGES), CU_MEM_LOCATION_TYPE_INVALID);
}

static void test_advice_is_for_pages(void **state)
{
	(void)state;
	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, on_host(), 10, 5);
	assert_int_equal(ask(READ_MOSTLY, 10, 5), 1);
	assert_int_equal(ask(READ_MOSTLY, 12, 1), 1);
	assert_int_equal(ask(READ_MOSTLY, 9, 5), 0);
	assert_int_equal(ask(READ_MOSTLY, 11, 5), 0);
	assert_int_equal(ask(READ_MOSTLY, 0, NR_PAGES), 0);
	/* A byte stands for its page. */
	assert_ok(cuMemAdvise(memory + 20 * HOST_PAGE + 17, 1, CU_MEM_ADVISE_SET_READ_MOSTLY,
			      on_host()));
	assert_int_equal(ask(READ_MOSTLY, 20, 1), 1);
	assert_int_equal(ask(READ_MOSTLY, 21, 1), 0);
	advise(CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_host(), 12, 1);
	assert_int_equal(ask(READ_MOSTLY, 10, 2), 1);
	assert_int_equal(ask(READ_MOSTLY, 12, 1), 0);
	assert_int_equal(ask(READ_MOSTLY, 13, 2), 1);
}

static void test_location_is_told_if_all_pages_have_it(void **state)
{
	(void)state;
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device(1), 0, 8);
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_host(), 8, 8);
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_node(3), 16, 8);
	assert_int_equal(ask(PREFERRED, 0, 8), 1);
	assert_int_equal(ask(PREFERRED_TYPE, 0, 8), CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(ask(PREFERRED_ID, 0, 8), 1);
	assert_int_equal(ask(PREFERRED, 8, 8), CU_DEVICE_CPU);
	assert_int_equal(ask(PREFERRED_TYPE, 8, 8), CU_MEM_LOCATION_TYPE_HOST);
	assert_int_equal(ask(PREFERRED_TYPE, 16, 8), CU_MEM_LOCATION_TYPE_HOST_NUMA);
	assert_int_equal(ask(PREFERRED_ID, 16, 8), 3);
	assert_int_equal(ask(PREFERRED, 7, 2), CU_DEVICE_INVALID);
	assert_int_equal(ask(PREFERRED_TYPE, 7, 2), CU_MEM_LOCATION_TYPE_INVALID);
	advise(CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, on_host(), 0, 8);
	assert_int_equal(ask(PREFERRED, 0, 8), CU_DEVICE_INVALID);
}

static void test_accessors_are_listed(void **state)
{
	int list[4];

	(void)state;
	advise(CU_MEM_ADVISE_SET_ACCESSED_BY, on_device(1), 0, 8);
	advise(CU_MEM_ADVISE_SET_ACCESSED_BY, on_device(0), 0, 4);
	advise(CU_MEM_ADVISE_SET_ACCESSED_BY, on_host(), 0, 4);
	assert_ok(cuMemRangeGetAttribute(list, sizeof(list), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
					 memory, 4 * HOST_PAGE));
	assert_int_equal(list[0], 0);
	assert_int_equal(list[1], 1);
	assert_int_equal(list[2], CU_DEVICE_CPU);
	assert_int_equal(list[3], CU_DEVICE_INVALID);
	assert_ok(cuMemRangeGetAttribute(list, sizeof(list), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
					 memory, 8 * HOST_PAGE));
	assert_int_equal(list[0], 1);
	assert_int_equal(list[1], CU_DEVICE_INVALID);
	advise(CU_MEM_ADVISE_UNSET_ACCESSED_BY, on_device(1), 0, 8);
	assert_ok(cuMemRangeGetAttribute(list, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory,
					 8 * HOST_PAGE));
	assert_int_equal(list[0], CU_DEVICE_INVALID);
}

static void test_prefetch_is_remembered_and_moves_nothing(void **state)
{
	size_t before = sg_rig_get_free();

	(void)state;
	memset((void *)(uintptr_t)memory, 42, SIZE);
	assert_ok(cuMemPrefetchAsync(memory, SIZE, on_device(1), 0, stream));
	assert_int_equal(ask(PREFETCHED, 0, NR_PAGES), 1);
	assert_int_equal(ask(PREFETCH_TYPE, 0, NR_PAGES), CU_MEM_LOCATION_TYPE_DEVICE);
	assert_ok(cuMemPrefetchAsync(memory, HOST_PAGE, on_host(), 0, NULL));
	assert_int_equal(ask(PREFETCHED, 0, 1), CU_DEVICE_CPU);
	assert_int_equal(ask(PREFETCHED, 0, NR_PAGES), CU_DEVICE_INVALID);
	assert_int_equal(ask(PREFETCH_ID, 1, NR_PAGES - 1), 1);
	assert_int_equal(sg_rig_get_free(), before);
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(((unsigned char *)(uintptr_t)memory)[i], 42);
}

static void test_this_threads_node_is_a_node(void **state)
{
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT};

	(void)state;
	assert_ok(cuMemPrefetchAsync(memory, SIZE, here, 0, stream));
	assert_int_equal(ask(PREFETCH_TYPE, 0, NR_PAGES), CU_MEM_LOCATION_TYPE_HOST_NUMA);
	assert_true(ask(PREFETCH_ID, 0, NR_PAGES) >= 0);
	assert_int_equal(ask(PREFETCHED, 0, NR_PAGES), CU_DEVICE_CPU);
}

static void test_many_pieces_of_advice_are_a_model_of_pages(void **state)
{
	bool is_read_mostly[NR_PAGES] = {0};
	int preferred[NR_PAGES];
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < NR_PAGES; i++)
		preferred[i] = CU_DEVICE_INVALID;
	for (int step = 0; step < 2000; step++) {
		size_t first = sg_rig_draw_below(&seed, NR_PAGES);
		size_t nr = 1 + sg_rig_draw_below(&seed, NR_PAGES - first);
		bool is_set = sg_rig_draw_below(&seed, 2), all = true, same = true;
		int device = (int)sg_rig_draw_below(&seed, 2);

		if (sg_rig_draw_below(&seed, 2)) {
			advise(is_set ? CU_MEM_ADVISE_SET_READ_MOSTLY
				      : CU_MEM_ADVISE_UNSET_READ_MOSTLY,
			       on_host(), first, nr);
			for (size_t i = first; i < first + nr; i++)
				is_read_mostly[i] = is_set;
		} else {
			advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device(device), first, nr);
			for (size_t i = first; i < first + nr; i++)
				preferred[i] = device;
		}
		first = sg_rig_draw_below(&seed, NR_PAGES);
		nr = 1 + sg_rig_draw_below(&seed, NR_PAGES - first);
		for (size_t i = first; i < first + nr; i++) {
			all &= is_read_mostly[i];
			same &= preferred[i] == preferred[first];
		}
		assert_int_equal(ask(READ_MOSTLY, first, nr), all);
		assert_int_equal(ask(PREFERRED, first, nr),
				 same ? preferred[first] : CU_DEVICE_INVALID);
	}
}

static void test_advice_goes_with_the_memory(void **state)
{
	CUdeviceptr first = memory;

	(void)state;
	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, on_host(), 3, 7);
	assert_ok(cuMemFree(memory));
	assert_ok(cuMemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_GLOBAL));
	assert_true(memory == first);
	assert_int_equal(ask(READ_MOSTLY, 3, 7), 0);
}

static void test_only_managed_memory_takes_advice(void **state)
{
	CUdeviceptr device;
	char plain[64];
	int value;

	(void)state;
	assert_ok(cuMemAlloc(&device, SIZE));
	assert_invalid(cuMemAdvise(device, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host()));
	assert_invalid(cuMemPrefetchAsync(device, SIZE, on_host(), 0, stream));
	assert_invalid(cuMemAdvise((CUdeviceptr)(uintptr_t)plain, sizeof(plain),
				   CU_MEM_ADVISE_SET_READ_MOSTLY, on_host()));
	assert_invalid(cuMemRangeGetAttribute(&value, 4, READ_MOSTLY, device, SIZE));
	assert_invalid(cuMemPrefetchAsync(memory, SIZE + HOST_PAGE, on_host(), 0, stream));
	assert_invalid(cuMemPrefetchAsync(memory, SIZE_MAX, on_host(), 0, stream));
	assert_invalid(cuMemPrefetchAsync(memory, 0, on_host(), 0, stream));
}

static void test_bad_arguments_are_errors(void **state)
{
	CUmemLocation nowhere = {.type = CU_MEM_LOCATION_TYPE_INVALID};
	int values[2];

	(void)state;
	assert_invalid(cuMemAdvise(memory, SIZE, (CUmem_advise)9, on_host()));
	assert_invalid(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, nowhere));
	assert_invalid(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, on_node(0)));
	assert_result(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, on_device(2)),
		      CUDA_ERROR_INVALID_DEVICE);
	assert_result(cuMemPrefetchAsync(memory, SIZE, on_device(-5), 0, stream),
		      CUDA_ERROR_INVALID_DEVICE);
	assert_invalid(cuMemPrefetchAsync(memory, SIZE, on_device(0), 1, stream));
	assert_result(cuMemPrefetchAsync(memory, SIZE, on_device(0), 0, (CUstream)(void *)values),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_invalid(cuMemRangeGetAttribute(values, 8, READ_MOSTLY, memory, SIZE));
	assert_invalid(cuMemRangeGetAttribute(NULL, 4, READ_MOSTLY, memory, SIZE));
	assert_invalid(cuMemRangeGetAttribute(values, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory,
					      SIZE));
	assert_invalid(cuMemRangeGetAttribute(values, 4, (CUmem_range_attribute)99, memory, SIZE));
}

static void test_several_attributes_are_asked_at_once(void **state)
{
	CUmem_range_attribute names[] = {READ_MOSTLY, PREFERRED};
	int values[2] = {-7, -7};
	void *data[] = {&values[0], &values[1]};
	size_t sizes[] = {4, 4};

	(void)state;
	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, on_host(), 0, NR_PAGES);
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device(0), 0, NR_PAGES);
	assert_ok(cuMemRangeGetAttributes(data, sizes, names, 2, memory, SIZE));
	assert_int_equal(values[0], 1);
	assert_int_equal(values[1], 0);
	assert_invalid(cuMemRangeGetAttributes(data, sizes, names, 0, memory, SIZE));
	sizes[1] = 8;
	assert_invalid(cuMemRangeGetAttributes(data, sizes, names, 2, memory, SIZE));
}

static void test_batches_prefetch_each_range_to_its_place(void **state)
{
	CUdeviceptr ranges[] = {memory, memory + 4 * HOST_PAGE, memory + 8 * HOST_PAGE};
	size_t sizes[] = {HOST_PAGE, HOST_PAGE, HOST_PAGE}, firsts[] = {0, 2};
	CUmemLocation places[] = {on_device(1), on_host()};

	(void)state;
	assert_ok(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream));
	assert_int_equal(ask(PREFETCHED, 0, 1), 1);
	assert_int_equal(ask(PREFETCHED, 1, 1), CU_DEVICE_INVALID);
	assert_int_equal(ask(PREFETCHED, 4, 1), 1);
	assert_int_equal(ask(PREFETCHED, 8, 1), CU_DEVICE_CPU);
	places[0] = on_host();
	assert_ok(
		cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 1, places, firsts, 1, 0, stream));
	assert_int_equal(ask(PREFETCHED, 0, 1), CU_DEVICE_CPU);
	assert_ok(cuMemDiscardBatchAsync(ranges, sizes, 3, 0, stream));
	places[0] = on_device(0);
	/* What is wrong anywhere stops all of it. */
	sizes[2] = SIZE;
	assert_invalid(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream));
	assert_invalid(cuMemDiscardBatchAsync(ranges, sizes, 3, 0, stream));
	sizes[2] = HOST_PAGE;
	places[1] = on_device(7);
	assert_result(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream),
		      CUDA_ERROR_INVALID_DEVICE);
	places[1] = on_device(0);
	firsts[1] = 0;
	assert_invalid(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream));
	firsts[1] = 2;
	assert_invalid(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 1, stream));
	assert_invalid(
		cuMemPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, CU_STREAM_LEGACY));
	assert_invalid(cuMemDiscardBatchAsync(ranges, sizes, 0, 0, stream));
	assert_int_equal(ask(PREFETCHED, 0, 1), CU_DEVICE_CPU);
}

/* The first versions, by device number. */
typedef CUresult old_advise(CUdeviceptr, size_t, CUmem_advise, CUdevice);
typedef CUresult old_prefetch(CUdeviceptr, size_t, CUdevice, CUstream);

static void test_first_versions_take_device_numbers(void **state)
{
	CUdriverProcAddressQueryResult status;
	old_prefetch *prefetch;
	old_advise *advise_old;
	void *found = NULL;

	(void)state;
	assert_ok(cuGetProcAddress("cuMemAdvise", &found, 8000, 0, &status));
	memcpy(&advise_old, &found, sizeof(found));
	assert_ok(cuGetProcAddress("cuMemPrefetchAsync", &found, 8000, 0, &status));
	memcpy(&prefetch, &found, sizeof(found));
	assert_ok(advise_old(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1));
	assert_int_equal(ask(PREFERRED, 0, NR_PAGES), 1);
	assert_ok(advise_old(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	assert_int_equal(ask(PREFERRED, 0, NR_PAGES), CU_DEVICE_CPU);
	assert_ok(prefetch(memory, SIZE, 0, stream));
	assert_int_equal(ask(PREFETCHED, 0, NR_PAGES), 0);
	assert_result(prefetch(memory, SIZE, 2, stream), CUDA_ERROR_INVALID_DEVICE);
	assert_result(prefetch(memory, SIZE, CU_DEVICE_INVALID, stream), CUDA_ERROR_INVALID_DEVICE);
}

static void play_device_without_concurrent_access(void **state)
{
	(void)state;
	begin(NULL);
	assert_result(cuMemPrefetchAsync(memory, SIZE, on_device(0), 0, stream),
		      CUDA_ERROR_INVALID_DEVICE);
	assert_result(cuMemPrefetchAsync(memory, SIZE, on_host(), 0, stream),
		      CUDA_ERROR_INVALID_DEVICE);
	assert_result(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, on_device(0)),
		      CUDA_ERROR_INVALID_DEVICE);
	assert_ok(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device(0)));
	assert_ok(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_host()));
	end(NULL);
}

static void test_device_without_concurrent_access_is_an_invalid_place(void **state)
{
	(void)state;
	SG_RIG_RUN("device_without_concurrent_access", "SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M",
		   "SOFTGPU_MANAGED=0", NULL);
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {
		{"device_without_concurrent_access", play_device_without_concurrent_access},
	};
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_nothing_was_said_about_new_memory),
		TEST(test_advice_is_for_pages),
		TEST(test_location_is_told_if_all_pages_have_it),
		TEST(test_accessors_are_listed),
		TEST(test_prefetch_is_remembered_and_moves_nothing),
		TEST(test_this_threads_node_is_a_node),
		TEST(test_many_pieces_of_advice_are_a_model_of_pages),
		TEST(test_advice_goes_with_the_memory),
		TEST(test_only_managed_memory_takes_advice),
		TEST(test_bad_arguments_are_errors),
		TEST(test_several_attributes_are_asked_at_once),
		TEST(test_batches_prefetch_each_range_to_its_place),
		TEST(test_first_versions_take_device_numbers),
		TEST(test_device_without_concurrent_access_is_an_invalid_place),
	};
	int status = SG_RIG_PLAY(argc, argv, scenes);

	if (status >= 0)
		return status;
	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

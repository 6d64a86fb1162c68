/* Many threads make, use and destroy arrays, textures and advice at once, in contexts of their own.
 */
#include "rig.h"

#include <pthread.h>
#include <string.h>

#define NR_THREADS 8
#define NR_ROUNDS  (SG_RIG_IS_SANITIZED ? 60 : 400)
#define SIDE       32

struct worker {
	pthread_t thread;
	int number;
	int nr_errors; /* cmocka's asserts are for the main thread only */
};

/* One image with bytes of its own, a texture of it, and a mipmap. */
static int use_arrays(unsigned char mark)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {
		.Width = SIDE,
		.Height = SIDE,
		.Format = CU_AD_FORMAT_UNSIGNED_INT8,
		.NumChannels = 1,
	};
	unsigned char bytes[SIDE * SIDE], back[SIDE * SIDE] = {0};
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling = {0};
	CUmipmappedArray mipmap;
	CUtexObject texture;
	CUarray array, level;
	int nr_errors = 0;

	memset(bytes, mark, sizeof(bytes));
	memset(&resource, 0, sizeof(resource));
	nr_errors += cuArray3DCreate(&array, &descriptor) != CUDA_SUCCESS;
	nr_errors += cuMipmappedArrayCreate(&mipmap, &descriptor, 3) != CUDA_SUCCESS;
	nr_errors += cuMipmappedArrayGetLevel(&level, mipmap, 0) != CUDA_SUCCESS;
	resource.res.array.hArray = array;
	nr_errors += cuTexObjectCreate(&texture, &resource, &sampling, NULL) != CUDA_SUCCESS;
	nr_errors += cuMemcpyHtoA(array, 0, bytes, sizeof(bytes)) != CUDA_SUCCESS;
	nr_errors += cuMemcpyAtoA(level, 0, array, 0, sizeof(bytes)) != CUDA_SUCCESS;
	nr_errors += cuMemcpyAtoH(back, level, 0, sizeof(back)) != CUDA_SUCCESS;
	nr_errors += memcmp(bytes, back, sizeof(bytes)) != 0;
	nr_errors += cuTexObjectDestroy(texture) != CUDA_SUCCESS;
	nr_errors += cuMipmappedArrayDestroy(mipmap) != CUDA_SUCCESS;
	nr_errors += cuArrayDestroy(array) != CUDA_SUCCESS;
	return nr_errors;
}

static int use_advice(void)
{
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
	CUdeviceptr managed;
	int nr_errors = 0, value = 0;

	nr_errors += cuMemAllocManaged(&managed, 64 * KIB, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS;
	nr_errors += cuMemAdvise(managed + 8 * KIB, 8 * KIB, CU_MEM_ADVISE_SET_READ_MOSTLY, here) !=
		     CUDA_SUCCESS;
	nr_errors += cuMemPrefetchAsync(managed, 64 * KIB, here, 0, NULL) != CUDA_SUCCESS;
	nr_errors +=
		cuMemRangeGetAttribute(&value, sizeof(value), CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
				       managed + 8 * KIB, 8 * KIB) != CUDA_SUCCESS;
	nr_errors += value != 1;
	nr_errors += cuMemFree(managed) != CUDA_SUCCESS;
	return nr_errors;
}

/* A context of its own, with peer access to device 1, destroyed with an array left in it. */
static int use_context(CUcontext peer, unsigned char mark)
{
	CUDA_ARRAY_DESCRIPTOR descriptor = {
		.Width = SIDE, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUcontext context;
	CUarray forgotten;
	int nr_errors = 0;

	nr_errors += cuCtxCreate(&context, NULL, 0, 0) != CUDA_SUCCESS;
	nr_errors += cuCtxEnablePeerAccess(peer, 0) != CUDA_SUCCESS;
	nr_errors += use_arrays(mark);
	nr_errors += use_advice();
	nr_errors += cuArrayCreate(&forgotten, &descriptor) != CUDA_SUCCESS;
	nr_errors += cuCtxDestroy(context) != CUDA_SUCCESS;
	return nr_errors;
}

static CUcontext peer;

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (int i = 0; i < NR_ROUNDS; i++)
		worker->nr_errors += use_context(peer, (unsigned char)(worker->number * 31 + i));
	return NULL;
}

static void test_threads_do_not_disturb_each_other(void **state)
{
	struct worker workers[NR_THREADS];
	CUcontext context = sg_rig_open();
	size_t before = sg_rig_get_free();

	(void)state;
	assert_ok(cuCtxCreate(&peer, NULL, 0, 1));
	assert_ok(cuCtxSetCurrent(context));
	for (int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){.number = i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].nr_errors, 0);
	}
	assert_int_equal(sg_rig_get_free(), before);
	assert_ok(cuCtxDestroy(peer));
	assert_ok(cuCtxDestroy(context));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_do_not_disturb_each_other),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

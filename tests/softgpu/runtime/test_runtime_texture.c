/* Texture and surface objects, peers, and managed memory's places, through the runtime. */
#include "runtime_check.h"

static const struct cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static cudaArray_t array;

static int begin(void **state)
{
	if (reset_device(state))
		return -1;
	return (int)cudaMallocArray(&array, &floats, 64, 64, cudaArraySurfaceLoadStore);
}

static struct cudaResourceDesc of_array(void)
{
	struct cudaResourceDesc resource;

	memset(&resource, 0, sizeof(resource));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	return resource;
}

static void test_textures_of_arrays_are_read_back(void **state)
{
	struct cudaResourceDesc resource = of_array(), resource_back;
	struct cudaTextureDesc sampling = {
		.addressMode = {cudaAddressModeBorder, cudaAddressModeMirror, cudaAddressModeClamp},
		.filterMode = cudaFilterModeLinear,
		.readMode = cudaReadModeNormalizedFloat,
		.sRGB = 1,
		.borderColor = {1, 2, 3, 4},
		.normalizedCoords = 1,
		.maxAnisotropy = 4,
		.mipmapFilterMode = cudaFilterModeLinear,
		.mipmapLevelBias = 0.25F,
		.minMipmapLevelClamp = 1,
		.maxMipmapLevelClamp = 5,
		.disableTrilinearOptimization = 1,
	};
	struct cudaTextureDesc sampling_back;
	struct cudaResourceViewDesc view = {.format = cudaResViewFormatFloat1, .width = 64},
				    view_back;
	cudaTextureObject_t texture = 0;

	(void)state;
	assert_success(cudaCreateTextureObject(&texture, &resource, &sampling, &view));
	assert_true(texture != 0);
	assert_success(cudaGetTextureObjectResourceDesc(&resource_back, texture));
	assert_memory_equal(&resource_back, &resource, sizeof(resource));
	assert_success(cudaGetTextureObjectTextureDesc(&sampling_back, texture));
	assert_memory_equal(&sampling_back, &sampling, sizeof(sampling));
	assert_success(cudaGetTextureObjectResourceViewDesc(&view_back, texture));
	assert_int_equal(view_back.format, cudaResViewFormatFloat1);
	assert_int_equal(view_back.width, 64);
	assert_success(cudaDestroyTextureObject(texture));
	assert_error(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
	assert_error(cudaGetTextureObjectTextureDesc(&sampling_back, texture),
		     cudaErrorInvalidValue);
	assert_success(cudaDestroyTextureObject(0));
}

static void test_textures_of_memory_are_read_back(void **state)
{
	struct cudaResourceDesc resource, back;
	struct cudaTextureDesc sampling, sampling_back;
	struct cudaResourceViewDesc view;
	cudaTextureObject_t texture;
	size_t pitch;
	void *memory;

	(void)state;
	memset(&resource, 0, sizeof(resource));
	memset(&sampling, 0, sizeof(sampling));
	assert_success(cudaMallocPitch(&memory, &pitch, 400, 10));
	resource.resType = cudaResourceTypePitch2D;
	resource.res.pitch2D.devPtr = memory;
	resource.res.pitch2D.desc = floats;
	resource.res.pitch2D.width = 100;
	resource.res.pitch2D.height = 10;
	resource.res.pitch2D.pitchInBytes = pitch;
	assert_success(cudaCreateTextureObject(&texture, &resource, &sampling, NULL));
	assert_success(cudaGetTextureObjectResourceDesc(&back, texture));
	assert_memory_equal(&back, &resource, sizeof(back));
	assert_success(cudaGetTextureObjectTextureDesc(&sampling_back, texture));
	assert_int_equal(sampling_back.readMode, cudaReadModeElementType);
	assert_error(cudaGetTextureObjectResourceViewDesc(&view, texture), cudaErrorInvalidValue);
	assert_success(cudaDestroyTextureObject(texture));

	memset(&resource, 0, sizeof(resource));
	resource.resType = cudaResourceTypeLinear;
	resource.res.linear.devPtr = memory;
	resource.res.linear.desc = floats;
	resource.res.linear.sizeInBytes = 4000;
	assert_success(cudaCreateTextureObject(&texture, &resource, &sampling, NULL));
	assert_success(cudaGetTextureObjectResourceDesc(&back, texture));
	assert_memory_equal(&back, &resource, sizeof(back));
	resource.res.linear.desc.y = 7;
	assert_error(cudaCreateTextureObject(&texture, &resource, &sampling, NULL),
		     cudaErrorInvalidChannelDescriptor);
	resource.resType = (enum cudaResourceType)8;
	assert_error(cudaCreateTextureObject(&texture, &resource, &sampling, NULL),
		     cudaErrorInvalidValue);
	assert_error(cudaCreateTextureObject(NULL, &resource, &sampling, NULL),
		     cudaErrorInvalidValue);
	assert_error(cudaGetTextureObjectResourceDesc(NULL, texture), cudaErrorInvalidValue);
}

static void test_surfaces_are_read_back(void **state)
{
	struct cudaResourceDesc resource = of_array(), back;
	cudaSurfaceObject_t surface;

	(void)state;
	assert_success(cudaCreateSurfaceObject(&surface, &resource));
	assert_success(cudaGetSurfaceObjectResourceDesc(&back, surface));
	assert_memory_equal(&back, &resource, sizeof(back));
	assert_success(cudaDestroySurfaceObject(surface));
	assert_error(cudaDestroySurfaceObject(surface), cudaErrorInvalidValue);
	assert_success(cudaDestroySurfaceObject(0));
	assert_error(cudaCreateSurfaceObject(&surface, NULL), cudaErrorInvalidValue);
	assert_success(cudaFreeArray(array));
	assert_error(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidValue);
}

static void test_linear_textures_have_a_longest_width(void **state)
{
	struct cudaChannelFormatDesc bad = {8, 0, 0, 0, cudaChannelFormatKindNone};
	int limit = 0;
	size_t width = 0;

	(void)state;
	assert_success(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxTexture1DLinearWidth, 0));
	assert_success(cudaDeviceGetTexture1DLinearMaxWidth(&width, &floats, 0));
	assert_int_equal(width, limit);
	assert_error(cudaDeviceGetTexture1DLinearMaxWidth(&width, &bad, 0),
		     cudaErrorInvalidChannelDescriptor);
	assert_error(cudaDeviceGetTexture1DLinearMaxWidth(&width, NULL, 0), cudaErrorInvalidValue);
	assert_error(cudaDeviceGetTexture1DLinearMaxWidth(&width, &floats, 9),
		     cudaErrorInvalidDevice);
}

static void test_peers_are_enabled_once_and_disabled_once(void **state)
{
	int can = 0, value = -1;

	(void)state;
	assert_success(cudaDeviceCanAccessPeer(&can, 0, 1));
	assert_int_equal(can, 1);
	assert_success(cudaDeviceCanAccessPeer(&can, 1, 1));
	assert_int_equal(can, 0);
	assert_error(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
	assert_success(cudaDeviceEnablePeerAccess(1, 0));
	assert_error(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
	assert_success(cudaDeviceDisablePeerAccess(1));
	assert_error(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
	assert_error(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
	assert_success(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
	assert_int_equal(value, 1);
	assert_error(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0),
		     cudaErrorInvalidDevice);
}

static void test_a_reset_forgets_peers(void **state)
{
	(void)state;
	assert_success(cudaDeviceEnablePeerAccess(1, 0));
	assert_success(cudaDeviceReset());
	assert_success(cudaDeviceEnablePeerAccess(1, 0));
}

#if CUDART_VERSION >= 13000
static void test_managed_memory_is_advised_and_prefetched(void **state)
{
	struct cudaMemLocation host = {.type = cudaMemLocationTypeHost};
	struct cudaMemLocation second = {.type = cudaMemLocationTypeDevice, .id = 1};
	size_t size = 64 * KIB, first = 0;
	cudaStream_t stream;
	void *memory;
	int value = -7;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaMallocManaged(&memory, size, cudaMemAttachGlobal));
	assert_success(cudaMemAdvise(memory, size, cudaMemAdviseSetReadMostly, host));
	assert_success(cudaMemRangeGetAttribute(&value, sizeof(value),
						cudaMemRangeAttributeReadMostly, memory, size));
	assert_int_equal(value, 1);
	assert_success(cudaMemPrefetchAsync(memory, size, second, 0, stream));
	assert_success(cudaMemRangeGetAttribute(
		&value, sizeof(value), cudaMemRangeAttributeLastPrefetchLocation, memory, size));
	assert_int_equal(value, 1);
	assert_success(cudaMemPrefetchBatchAsync(&memory, &size, 1, &host, &first, 1, 0, stream));
	assert_success(cudaMemRangeGetAttribute(
		&value, sizeof(value), cudaMemRangeAttributeLastPrefetchLocation, memory, size));
	assert_int_equal(value, cudaCpuDeviceId);
	assert_success(cudaMemDiscardBatchAsync(&memory, &size, 1, 0, stream));
	assert_success(cudaMemDiscardAndPrefetchBatchAsync(&memory, &size, 1, &second, &first, 1, 0,
							   stream));
	assert_error(cudaMemPrefetchAsync(&value, 4, second, 0, stream), cudaErrorInvalidValue);
	assert_success(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachSingle));
	assert_success(cudaFree(memory));
}
#else
static void test_managed_memory_is_advised_and_prefetched(void **state)
{
	size_t size = 64 * KIB;
	cudaStream_t stream;
	void *memory;
	int value = -7;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaMallocManaged(&memory, size, cudaMemAttachGlobal));
	assert_success(cudaMemAdvise(memory, size, cudaMemAdviseSetReadMostly, cudaCpuDeviceId));
	assert_success(cudaMemRangeGetAttribute(&value, sizeof(value),
						cudaMemRangeAttributeReadMostly, memory, size));
	assert_int_equal(value, 1);
	assert_success(cudaMemPrefetchAsync(memory, size, 1, stream));
	assert_success(cudaMemRangeGetAttribute(
		&value, sizeof(value), cudaMemRangeAttributeLastPrefetchLocation, memory, size));
	assert_int_equal(value, 1);
	assert_success(cudaMemPrefetchAsync(memory, size, cudaCpuDeviceId, stream));
	assert_success(cudaMemRangeGetAttribute(
		&value, sizeof(value), cudaMemRangeAttributeLastPrefetchLocation, memory, size));
	assert_int_equal(value, cudaCpuDeviceId);
	assert_error(cudaMemPrefetchAsync(&value, 4, 1, stream), cudaErrorInvalidValue);
	assert_success(cudaFree(memory));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup(function, begin)
		TEST(test_textures_of_arrays_are_read_back),
		TEST(test_textures_of_memory_are_read_back),
		TEST(test_surfaces_are_read_back),
		TEST(test_linear_textures_have_a_longest_width),
		TEST(test_peers_are_enabled_once_and_disabled_once),
		TEST(test_a_reset_forgets_peers),
		TEST(test_managed_memory_is_advised_and_prefetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

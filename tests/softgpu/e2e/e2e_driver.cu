/*
 * The driver API itself, linked with -lcuda beside the runtime: a module from PTX, launches by
 * handle, and memory put together from addresses and physical pieces.
 */
#include <cuda.h>

#include "e2e_check.cuh"

#define CHECK_DRIVER(call)                                                            \
	do {                                                                          \
		CUresult check_result = (call);                                       \
		const char *check_name = nullptr;                                     \
		if (check_result != CUDA_SUCCESS) {                                   \
			cuGetErrorName(check_result, &check_name);                    \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				check_name ? check_name : "?");                       \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

static const char ptx[] = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .global .align 4 .b8 numbers[400];
.visible .const .align 4 .u32 answer = 42;

.visible .entry scale(.param .u64 scale_param_0, .param .u32 scale_param_1)
{
	ret;
}
)";

static void check_module()
{
	CUmodule module;
	CUfunction scale;
	CUdeviceptr address, data;
	unsigned answer = 0;
	size_t size;
	int count = 100, threads = 0;

	CHECK_DRIVER(cuModuleLoadData(&module, ptx));
	CHECK_DRIVER(cuModuleGetFunction(&scale, module, "scale"));
	EXPECT(cuModuleGetFunction(&scale, module, "nothing") == CUDA_ERROR_NOT_FOUND);
	CHECK_DRIVER(cuModuleGetFunction(&scale, module, "scale"));
	CHECK_DRIVER(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
	EXPECT(threads > 0);
	CHECK_DRIVER(cuModuleGetGlobal(&address, &size, module, "numbers"));
	EXPECT(size == 400);
	CHECK_DRIVER(cuModuleGetGlobal(&address, &size, module, "answer"));
	EXPECT(size == 4);
	CHECK_DRIVER(cuMemcpyDtoH(&answer, address, sizeof(answer)));
	EXPECT(answer == 42);
	CHECK_DRIVER(cuMemAlloc(&data, 400));
	void *arguments[] = {&data, &count};
	CHECK_DRIVER(cuLaunchKernel(scale, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
	EXPECT(cuLaunchKernel(scale, 0, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) ==
	       CUDA_ERROR_INVALID_VALUE);
	CHECK_DRIVER(cuCtxSynchronize());
	CHECK_DRIVER(cuMemFree(data));
	CHECK_DRIVER(cuModuleUnload(module));
}

static void check_mapping()
{
	CUmemGenericAllocationHandle first, second;
	CUmemAllocationProp properties = {};
	CUmemAccessDesc access = {};
	CUdeviceptr address;
	size_t before = free_memory(), granularity;
	char to[32] = "";

	properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = properties.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CHECK_DRIVER(cuMemGetAllocationGranularity(&granularity, &properties,
						   CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	EXPECT(granularity == 2 << 20);
	CHECK_DRIVER(cuMemAddressReserve(&address, 16 * granularity, 0, 0, 0));
	EXPECT(free_memory() == before); /* addresses cost nothing */
	CHECK_DRIVER(cuMemCreate(&first, 4 * granularity, &properties, 0));
	CHECK_DRIVER(cuMemCreate(&second, granularity, &properties, 0));
	EXPECT(free_memory() == before - 5 * granularity);
	CHECK_DRIVER(cuMemMap(address, 4 * granularity, 0, first, 0));
	CHECK_DRIVER(cuMemMap(address + 4 * granularity, granularity, 0, second, 0));
	/* Mapped is not enough. */
	EXPECT(cuMemcpyHtoD(address, "x", 1) != CUDA_SUCCESS);
	CHECK_DRIVER(cuMemSetAccess(address, 5 * granularity, &access, 1));
	/* Across the seam of the two pieces. */
	CHECK_DRIVER(cuMemcpyHtoD(address + 4 * granularity - 8, "over the seam", 14));
	CHECK_DRIVER(cuMemcpyDtoH(to, address + 4 * granularity - 8, 14));
	EXPECT(!strcmp(to, "over the seam"));
	/* A handle lives until it is released and unmapped, in either order. */
	CHECK_DRIVER(cuMemRelease(first));
	EXPECT(free_memory() == before - 5 * granularity);
	CHECK_DRIVER(cuMemUnmap(address, 4 * granularity));
	EXPECT(free_memory() == before - granularity);
	CHECK_DRIVER(cuMemUnmap(address + 4 * granularity, granularity));
	EXPECT(free_memory() == before - granularity);
	CHECK_DRIVER(cuMemRelease(second));
	EXPECT(free_memory() == before);
	EXPECT(cuMemRelease(second) == CUDA_ERROR_INVALID_VALUE);
	CHECK_DRIVER(cuMemAddressFree(address, 16 * granularity));
}

/* A context of one's own: what was made in it goes with it. */
static void check_context()
{
	size_t before = free_memory();
	CUcontext context;
	CUdeviceptr data;
	void *seen;

	CHECK_DRIVER(cuCtxCreate(&context, nullptr, 0, 0));
	CHECK_DRIVER(cuMemAlloc(&data, 64 << 20));
	CHECK(cudaMalloc(&seen, 64 << 20)); /* the runtime works in the context that is current */
	CHECK_DRIVER(cuCtxDestroy(context));
	EXPECT(free_memory() == before);
}

int main()
{
	int version = 0;

	CHECK_DRIVER(cuInit(0));
	CHECK_DRIVER(cuDriverGetVersion(&version));
	EXPECT(version >= 13000);
	CHECK(cudaFree(0)); /* makes the primary context current for the driver calls below */
	check_module();
	check_mapping();
	check_context();
	check_maps();
	return 0;
}

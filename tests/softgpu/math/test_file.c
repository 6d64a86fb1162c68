#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>
#include <cuda.h>

struct description {
	int type;
	union {
		int fd;
		void *handle;
	} handle;
	const void *operations;
};

uint64_t cuFileHandleRegister(void **handle, struct description *description);
void cuFileHandleDeregister(void *handle);
ssize_t cuFileRead(void *handle, void *device, size_t size, off_t offset, off_t device_offset);
ssize_t cuFileWrite(void *handle, const void *device, size_t size, off_t offset,
		    off_t device_offset);
void *nvshmem_malloc(size_t size);
void nvshmem_free(void *memory);
int nvshmem_team_n_pes(int team);

static int use_device(void **state)
{
	CUcontext context;

	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static void test_file_reaches_device_memory_and_back(void **state)
{
	FILE *file = tmpfile();
	struct description description = {.type = 1};
	char read[12] = "";
	CUdeviceptr memory;
	void *handle;

	(void)state;
	assert_non_null(file);
	description.handle.fd = fileno(file);
	assert_int_equal(cuFileHandleRegister(&handle, &description), 0);
	assert_int_equal(cuMemAlloc(&memory, 100), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyHtoD(memory, "device bytes", 12), CUDA_SUCCESS);
	assert_int_equal(cuFileWrite(handle, (void *)memory, 5, 0, 7), 5);
	assert_int_equal(cuFileRead(handle, (void *)memory, 100, 0, 0), 5); /* all there is */
	assert_int_equal(cuMemcpyDtoH(read, memory, 12), CUDA_SUCCESS);
	assert_memory_equal(read, "bytese bytes", 12);
	assert_int_equal(cuFileRead(handle, (void *)memory, 1, 100, 0), 0);
	assert_true(cuFileRead(handle, NULL, 1, 0, 0) < 0);
	cuFileHandleDeregister(handle);
	assert_true(cuFileRead(handle, (void *)memory, 1, 0, 0) < 0);
	assert_int_equal(cuMemFree(memory), CUDA_SUCCESS);
	fclose(file);
}

static void test_shared_memory_is_device_memory(void **state)
{
	size_t before, after, total;
	void *memory;

	(void)state;
	assert_int_equal(nvshmem_team_n_pes(0), 1);
	assert_int_equal(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
	memory = nvshmem_malloc(2 << 20);
	assert_non_null(memory);
	assert_int_equal(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
	assert_int_equal(before - after, 2 << 20);
	nvshmem_free(memory);
	assert_null(nvshmem_malloc((size_t)1 << 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_reaches_device_memory_and_back),
		cmocka_unit_test(test_shared_memory_is_device_memory),
	};

	return cmocka_run_group_tests(tests, use_device, NULL);
}

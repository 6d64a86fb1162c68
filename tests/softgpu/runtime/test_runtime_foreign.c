/* The runtime over a driver that is not softgpu. */
#include "runtime_check.h"

#include <unistd.h>

static char said[4096];

static void read_all(int fd)
{
	size_t length = 0;
	ssize_t n;

	while ((n = read(fd, said + length, sizeof(said) - 1 - length)) > 0)
		length += (size_t)n;
	said[length] = '\0';
}

static void test_a_foreign_driver_is_refused_with_one_line(void **state)
{
	int fds[2], saved = dup(STDERR_FILENO);
	void *memory = NULL;
	cudaError_t first, second;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	first = cudaMalloc(&memory, 1);
	second = cudaSetDevice(0);
	dup2(saved, STDERR_FILENO);
	close(fds[1]);
	read_all(fds[0]);
	assert_int_equal(first, cudaErrorInsufficientDriver);
	assert_int_equal(second, cudaErrorInsufficientDriver);
	assert_memory_equal(said, "softgpu: ", 9);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void test_every_kind_of_call_is_refused(void **state)
{
	int count = 5, version = 5;
	cudaStream_t stream;
	struct cudaDeviceProp prop;

	(void)state;
	(void)cudaGetLastError();
	assert_error(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
	assert_int_equal(count, 0);
	assert_error(cudaGetDeviceProperties(&prop, 0), cudaErrorInsufficientDriver);
	assert_error(cudaStreamCreate(&stream), cudaErrorInsufficientDriver);
	assert_error(cudaFree(NULL), cudaErrorInsufficientDriver);
	assert_error(cudaDeviceReset(), cudaErrorInsufficientDriver);
	assert_success(cudaRuntimeGetVersion(&version));
	assert_success(cudaDriverGetVersion(&version));
	assert_int_equal(version, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_foreign_driver_is_refused_with_one_line),
		cmocka_unit_test(test_every_kind_of_call_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

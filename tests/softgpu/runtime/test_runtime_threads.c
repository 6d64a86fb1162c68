/* Many threads at once: the first call of a process, launches, memory, libraries that come and go.
 */
#include "runtime_check.h"

#include <pthread.h>

#include "fake_fatbin.h"

#define NR_THREADS 16
#define NR_ROUNDS  100

/* As in crt/host_runtime.h, which is for C++ only. */
void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global);

static struct fake_fatbin fatbin;
static char shared_kernel, shared_variable;
static pthread_barrier_t barrier;

struct worker {
	pthread_t thread;
	int device;
	char own_kernel; /* only its address matters */
	unsigned nr_wrong;
};

static void **register_kernel(const char *host)
{
	void **handle = __cudaRegisterFatBinary(&fatbin.wrapper);

	__cudaRegisterFunction(handle, host, NULL, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
	return handle;
}

static unsigned launch(const void *function)
{
	const dim3 one = {1, 1, 1};

	return cudaLaunchKernel(function, one, one, NULL, 0, NULL) != cudaSuccess;
}

static void *work(void *data)
{
	struct worker *self = data;
	size_t size = 0;
	int value;

	pthread_barrier_wait(&barrier);
	self->nr_wrong += cudaSetDevice(self->device) != cudaSuccess;
	for (int i = 0; i < NR_ROUNDS; i++) {
		void **handle = register_kernel(&self->own_kernel);
		void *memory = NULL;

		self->nr_wrong += cudaMalloc(&memory, 1000 + (size_t)i) != cudaSuccess;
		self->nr_wrong += launch(&shared_kernel);
		self->nr_wrong += launch(&self->own_kernel);
		self->nr_wrong += cudaGetSymbolSize(&size, &shared_variable) != cudaSuccess;
		self->nr_wrong +=
			cudaMemcpy(memory, &i, sizeof(i), cudaMemcpyDefault) != cudaSuccess;
		self->nr_wrong += cudaMemcpy(&value, memory, sizeof(i), cudaMemcpyDefault) ||
				  value != i || size != 40;
		self->nr_wrong += cudaFree(memory) != cudaSuccess;
		__cudaUnregisterFatBinary(handle);
		/* Errors of one thread are no other's. */
		self->nr_wrong += launch(&self->own_kernel) != 1;
		self->nr_wrong += cudaGetLastError() != cudaErrorInvalidDeviceFunction;
	}
	self->nr_wrong += cudaGetLastError() != cudaSuccess;
	return NULL;
}

/* The driver is loaded, both contexts are made and the library is loaded by all of them at once. */
static void test_threads_that_start_together_do_not_disturb_each_other(void **state)
{
	static struct worker workers[NR_THREADS];
	void **handle;

	(void)state;
	fake_fatbin_init(&fatbin);
	fake_fatbin_add(&fatbin, FAKE_PTX, 50, "", 1);
	handle = register_kernel(&shared_kernel);
	__cudaRegisterVar(handle, &shared_variable, NULL, "variable", 0, 40, 0, 0);
	assert_int_equal(pthread_barrier_init(&barrier, NULL, NR_THREADS), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		workers[i].device = i % 2;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].nr_wrong, 0);
	}
	pthread_barrier_destroy(&barrier);
	__cudaUnregisterFatBinary(handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_that_start_together_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

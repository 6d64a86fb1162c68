#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <cuda.h>

struct id {
	char bytes[128];
};

int ncclGetUniqueId(struct id *id);
int ncclGetVersion(int *version);
int ncclCommInitRank(void **comm, int nr, struct id id, int rank);
int pncclCommInitRank(void **comm, int nr, struct id id, int rank);
int ncclCommInitAll(void **comms, int nr, const int *devices);
int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
int ncclCommDestroy(void *comm);
int ncclCommCount(void *comm, int *count);
int ncclCommUserRank(void *comm, int *rank);
int ncclCommCuDevice(void *comm, int *device);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
		  void *stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, void *comm,
		      void *stream);
int ncclMemAlloc(void **memory, size_t size);
int ncclMemFree(void *memory);

#define INT32            2
#define INVALID_ARGUMENT 4

static int use_device(void **state)
{
	CUcontext context;

	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static void *comm_of(int nr, int rank)
{
	void *comm = NULL;
	struct id id;

	assert_int_equal(ncclGetUniqueId(&id), 0);
	assert_int_equal(ncclCommInitRank(&comm, nr, id, rank), 0);
	return comm;
}

static void test_ids_are_unique(void **state)
{
	struct id a, b;

	(void)state;
	assert_int_equal(ncclGetUniqueId(&a), 0);
	assert_int_equal(ncclGetUniqueId(&b), 0);
	assert_memory_not_equal(&a, &b, sizeof(a));
	assert_int_equal(ncclGetUniqueId(NULL), INVALID_ARGUMENT);
}

static void test_communicator_knows_its_place(void **state)
{
	void *comm = comm_of(4, 2), *part = comm;
	int count = 0, rank = 0, device = -1;

	(void)state;
	assert_int_equal(ncclCommCount(comm, &count), 0);
	assert_int_equal(ncclCommUserRank(comm, &rank), 0);
	assert_int_equal(ncclCommCuDevice(comm, &device), 0);
	assert_int_equal(count, 4);
	assert_int_equal(rank, 2);
	assert_int_equal(device, 0);
	assert_int_equal(ncclCommSplit(comm, -1, 0, &part, NULL), 0);
	assert_null(part);
	assert_int_equal(ncclCommDestroy(comm), 0);
	assert_int_equal(ncclCommDestroy(comm), INVALID_ARGUMENT);
	assert_int_equal(ncclCommCount(comm, &count), INVALID_ARGUMENT);
}

static void test_rank_outside_of_the_ranks_is_refused(void **state)
{
	struct id id = {{0}};
	void *comm;

	(void)state;
	assert_int_equal(ncclCommInitRank(&comm, 2, id, 2), INVALID_ARGUMENT);
	assert_int_equal(pncclCommInitRank(&comm, 0, id, 0), INVALID_ARGUMENT);
	assert_int_equal(ncclCommInitRank(NULL, 1, id, 0), INVALID_ARGUMENT);
	assert_int_equal(ncclCommInitAll(&comm, 0, NULL), INVALID_ARGUMENT);
}

static void test_all_reduce_of_one_rank_is_a_copy(void **state)
{
	int values[] = {3, 1, 4}, read[3] = {0};
	void *comm = comm_of(1, 0);
	CUdeviceptr from, to;

	(void)state;
	assert_int_equal(cuMemAlloc(&from, sizeof(values)), CUDA_SUCCESS);
	assert_int_equal(cuMemAlloc(&to, sizeof(values)), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyHtoD(from, values, sizeof(values)), CUDA_SUCCESS);
	assert_int_equal(ncclAllReduce((void *)from, (void *)to, 3, INT32, 0, comm, NULL), 0);
	assert_int_equal(cuMemcpyDtoH(read, to, sizeof(read)), CUDA_SUCCESS);
	assert_memory_equal(read, values, sizeof(values));
	assert_int_equal(ncclAllReduce((void *)from, (void *)to, 3, 99, 0, comm, NULL),
			 INVALID_ARGUMENT);
	assert_int_equal(ncclAllReduce((void *)from, (void *)to, 3, INT32, 0, NULL, NULL),
			 INVALID_ARGUMENT);
	assert_int_equal(cuMemFree(from), CUDA_SUCCESS);
	assert_int_equal(cuMemFree(to), CUDA_SUCCESS);
	assert_int_equal(ncclCommDestroy(comm), 0);
}

static void test_each_rank_gets_its_block(void **state)
{
	int values[] = {7, 8}, read[4] = {0};
	void *comm = comm_of(2, 1);
	CUdeviceptr part, whole;

	(void)state;
	assert_int_equal(cuMemAlloc(&part, sizeof(values)), CUDA_SUCCESS);
	assert_int_equal(cuMemAlloc(&whole, sizeof(read)), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyHtoD(part, values, sizeof(values)), CUDA_SUCCESS);
	assert_int_equal(ncclAllGather((void *)part, (void *)whole, 2, INT32, comm, NULL), 0);
	assert_int_equal(cuMemcpyDtoH(read, whole, sizeof(read)), CUDA_SUCCESS);
	assert_memory_equal(read, ((int[]){7, 8, 7, 8}), sizeof(read));
	assert_int_equal(cuMemcpyHtoD(whole, ((int[]){1, 2, 3, 4}), sizeof(read)), CUDA_SUCCESS);
	assert_int_equal(ncclReduceScatter((void *)whole, (void *)part, 2, INT32, 0, comm, NULL),
			 0);
	assert_int_equal(cuMemcpyDtoH(read, part, sizeof(values)), CUDA_SUCCESS);
	assert_int_equal(read[0], 3);
	assert_int_equal(cuMemFree(part), CUDA_SUCCESS);
	assert_int_equal(cuMemFree(whole), CUDA_SUCCESS);
	assert_int_equal(ncclCommDestroy(comm), 0);
}

static void test_memory_is_charged_and_given_back(void **state)
{
	size_t before, after, total;
	void *memory;

	(void)state;
	assert_int_equal(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
	assert_int_equal(ncclMemAlloc(&memory, 4 << 20), 0);
	assert_int_equal(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
	assert_int_equal(before - after, 4 << 20);
	assert_int_equal(ncclMemFree(memory), 0);
	assert_int_equal(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
	assert_int_equal(before, after);
	assert_int_equal(ncclMemAlloc(&memory, (size_t)1 << 40), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_are_unique),
		cmocka_unit_test(test_communicator_knows_its_place),
		cmocka_unit_test(test_rank_outside_of_the_ranks_is_refused),
		cmocka_unit_test(test_all_reduce_of_one_rank_is_a_copy),
		cmocka_unit_test(test_each_rank_gets_its_block),
		cmocka_unit_test(test_memory_is_charged_and_given_back),
	};

	return cmocka_run_group_tests(tests, use_device, NULL);
}

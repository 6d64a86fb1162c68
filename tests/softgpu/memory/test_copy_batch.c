/* Batches of copies: all of one is done, or nothing. */
#include "rig.h"

#include <string.h>

#define SIZE ((size_t)4096)

static CUcontext context;
static CUstream stream;
static CUdeviceptr device;
static unsigned char source[SIZE], seen[SIZE], zeros[SIZE];

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_ok(cuMemAlloc(&device, SIZE));
	assert_ok(cuMemsetD8(device, 0, SIZE));
	for (size_t i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 5 + 1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static CUdeviceptr address_of(const void *memory)
{
	return (CUdeviceptr)(uintptr_t)memory;
}

static void fetch(void)
{
	assert_ok(cuMemcpyDtoH(seen, device, SIZE));
}

/* Three copies in two groups; the caller spoils what it wants to. */
struct batch {
	CUdeviceptr targets[3], sources[3];
	size_t sizes[3], firsts[2], count, nr_attributes;
	CUmemcpyAttributes attributes[2];
};

static struct batch make_batch(void)
{
	struct batch batch = {
		.targets = {device, device + 1000, device + 2000},
		.sources = {address_of(source), address_of(source) + 7, address_of(source) + 100},
		.sizes = {10, 500, 1},
		.firsts = {0, 2},
		.count = 3,
		.nr_attributes = 2,
	};

	batch.attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	batch.attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
	batch.attributes[1].flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
	return batch;
}

static CUresult run(struct batch *batch)
{
	return cuMemcpyBatchAsync(batch->targets, batch->sources, batch->sizes, batch->count,
				  batch->attributes, batch->firsts, batch->nr_attributes, stream);
}

static void assert_refused(struct batch batch)
{
	assert_invalid(run(&batch));
	fetch();
	assert_memory_equal(seen, zeros, SIZE);
}

static void test_all_copies_of_a_batch_are_done(void **state)
{
	struct batch batch = make_batch();
	unsigned char wanted[SIZE] = {0};

	(void)state;
	assert_ok(run(&batch));
	memcpy(wanted, source, 10);
	memcpy(wanted + 1000, source + 7, 500);
	memcpy(wanted + 2000, source + 100, 1);
	fetch();
	assert_memory_equal(seen, wanted, SIZE);
}

static void test_a_batch_with_a_mistake_does_nothing(void **state)
{
	struct batch batch = make_batch();

	(void)state;
	batch.targets[2] = device + SIZE;
	assert_refused(batch);
	batch = make_batch();
	batch.sources[2] = 0;
	assert_refused(batch);
	batch = make_batch();
	batch.sizes[1] = 0;
	assert_refused(batch);
	batch = make_batch();
	batch.count = 0;
	assert_refused(batch);
}

static void test_every_copy_needs_attributes(void **state)
{
	struct batch batch = make_batch();

	(void)state;
	batch.firsts[0] = 1;
	assert_refused(batch);
	batch = make_batch();
	batch.firsts[1] = 0;
	assert_refused(batch);
	batch = make_batch();
	batch.firsts[1] = 3;
	assert_refused(batch);
	batch = make_batch();
	batch.nr_attributes = 0;
	assert_refused(batch);
	batch = make_batch();
	batch.attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
	assert_refused(batch);
	batch = make_batch();
	batch.attributes[0].flags = 0x100;
	assert_refused(batch);
}

static void test_the_stream_of_a_batch_is_checked(void **state)
{
	struct batch batch = make_batch();

	(void)state;
	assert_result(cuMemcpyBatchAsync(batch.targets, batch.sources, batch.sizes, 3,
					 batch.attributes, batch.firsts, 2,
					 (CUstream)(void *)&batch),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_invalid(cuMemcpyBatchAsync(batch.targets, batch.sources, batch.sizes, 3,
					  batch.attributes, batch.firsts, 2, CU_STREAM_LEGACY));
	assert_ok(cuMemcpyBatchAsync(batch.targets, batch.sources, batch.sizes, 3, batch.attributes,
				     batch.firsts, 2, CU_STREAM_PER_THREAD));
}

/* The form of CUDA 12.8, which no header of 13 declares under a name of its own. */
typedef CUresult old_batch(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
			   size_t *, size_t, size_t *, CUstream);

static void test_the_first_version_says_which_copy_is_wrong(void **state)
{
	struct batch batch = make_batch();
	CUdriverProcAddressQueryResult status;
	old_batch *function;
	void *found = NULL;
	size_t failed = 77;

	(void)state;
	assert_ok(cuGetProcAddress("cuMemcpyBatchAsync", &found, 12080, 0, &status));
	memcpy(&function, &found, sizeof(found));
	batch.targets[1] = 0;
	assert_invalid(function(batch.targets, batch.sources, batch.sizes, 3, batch.attributes,
				batch.firsts, 2, &failed, stream));
	assert_int_equal(failed, 1);
	assert_invalid(function(batch.targets, batch.sources, batch.sizes, 3, NULL, batch.firsts, 2,
				&failed, stream));
	assert_true(failed == SIZE_MAX);
	batch = make_batch();
	assert_ok(function(batch.targets, batch.sources, batch.sizes, 3, batch.attributes,
			   batch.firsts, 2, NULL, stream));
}

static CUmemcpy3DOperand pointer_operand(CUdeviceptr address, size_t row, size_t height)
{
	CUmemcpy3DOperand operand = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER};

	operand.op.ptr.ptr = address;
	operand.op.ptr.rowLength = row;
	operand.op.ptr.layerHeight = height;
	return operand;
}

static CUmemcpy3DOperand array_operand(CUarray array, size_t x, size_t y)
{
	CUmemcpy3DOperand operand = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY};

	operand.op.array.array = array;
	operand.op.array.offset.x = x;
	operand.op.array.offset.y = y;
	return operand;
}

static CUDA_MEMCPY3D_BATCH_OP make_op(CUmemcpy3DOperand to, CUmemcpy3DOperand from, size_t width,
				      size_t height)
{
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = from,
		.dst = to,
		.extent = {.width = width, .height = height, .depth = 1},
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};

	return op;
}

static CUarray make_array(unsigned nr_channels)
{
	CUDA_ARRAY_DESCRIPTOR descriptor = {.Width = 10,
					    .Height = 10,
					    .Format = CU_AD_FORMAT_FLOAT,
					    .NumChannels = nr_channels};
	CUarray array;

	assert_ok(cuArrayCreate(&array, &descriptor));
	return array;
}

static void test_boxes_of_a_batch_count_elements(void **state)
{
	CUarray one = make_array(1), other = make_array(1);
	CUDA_MEMCPY3D_BATCH_OP ops[3];

	(void)state;
	/* 4 x 3 floats out of rows of 8; to another array; back without padding. */
	ops[0] = make_op(array_operand(one, 2, 1), pointer_operand(address_of(source), 8, 0), 4, 3);
	assert_ok(cuMemcpy3DBatchAsync(1, ops, 0, stream));
	ops[0] = make_op(array_operand(other, 0, 0), array_operand(one, 2, 1), 4, 3);
	assert_ok(cuMemcpy3DBatchAsync(1, ops, 0, stream));
	ops[0] = make_op(pointer_operand(device, 0, 0), array_operand(other, 0, 0), 4, 3);
	/* Between pointers an element is a byte. */
	ops[1] = make_op(pointer_operand(device + 1000, 5, 2),
			 pointer_operand(address_of(source), 9, 2), 5, 2);
	assert_ok(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	fetch();
	for (size_t y = 0; y < 3; y++)
		assert_memory_equal(seen + y * 16, source + y * 32, 16);
	for (size_t y = 0; y < 2; y++)
		assert_memory_equal(seen + 1000 + y * 5, source + y * 9, 5);
}

static void test_a_batch_of_boxes_with_a_mistake_does_nothing(void **state)
{
	CUarray one = make_array(1), other = make_array(2);
	CUDA_MEMCPY3D_BATCH_OP ops[2], good;

	(void)state;
	good = make_op(pointer_operand(device, 0, 0), pointer_operand(address_of(source), 0, 0), 10,
		       2);
	ops[0] = good;
	ops[1] = good;
	ops[1].extent.depth = 0;
	assert_invalid(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	ops[1] = good;
	ops[1].src.op.ptr.rowLength = 9;
	assert_invalid(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	ops[1] = make_op(array_operand(one, 0, 0), array_operand(other, 0, 0), 1, 1);
	assert_invalid(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	ops[1] = make_op(array_operand(one, 8, 0), pointer_operand(device, 0, 0), 3, 1);
	assert_invalid(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	ops[1] = make_op(array_operand(NULL, 0, 0), pointer_operand(device, 0, 0), 3, 1);
	assert_result(cuMemcpy3DBatchAsync(2, ops, 0, stream), CUDA_ERROR_INVALID_HANDLE);
	ops[1] = make_op(array_operand(one, SIZE_MAX, 0), pointer_operand(device, 0, 0), 3, 1);
	assert_invalid(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	ops[1] = good;
	ops[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
	assert_invalid(cuMemcpy3DBatchAsync(2, ops, 0, stream));
	assert_invalid(cuMemcpy3DBatchAsync(1, ops, 1, stream));
	assert_invalid(cuMemcpy3DBatchAsync(0, ops, 0, stream));
	assert_invalid(cuMemcpy3DBatchAsync(1, NULL, 0, stream));
	fetch();
	assert_memory_equal(seen, zeros, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_all_copies_of_a_batch_are_done),
		TEST(test_a_batch_with_a_mistake_does_nothing),
		TEST(test_every_copy_needs_attributes),
		TEST(test_the_stream_of_a_batch_is_checked),
		TEST(test_the_first_version_says_which_copy_is_wrong),
		TEST(test_boxes_of_a_batch_count_elements),
		TEST(test_a_batch_of_boxes_with_a_mistake_does_nothing),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

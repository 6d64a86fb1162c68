/*
 * Processes that share by descriptors: physical memory (cuMemExportToShareableHandle), and pools
 * with their allocations. A descriptor alone keeps what it is of.
 */
#include "share_stage.h"

#include <fcntl.h>

#define PIECE (32 * MIB) /* what a pool takes at first */

/* Physical memory */

static void test_physical_memory_is_mapped_by_two_processes(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_PHYSICAL, 0, 10 * MIB), twin;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_EXPORT_PHYSICAL, theirs);
	struct sg_share_message opened;

	assert_true(handle.fd >= 0);
	write_value(&stage->exporter, theirs, 0, 12);
	opened = hand(&stage->importer, SG_SHARE_IMPORT_PHYSICAL, 0, &handle, 10 * MIB);
	assert_int_equal(opened.error, CUDA_SUCCESS);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
	assert_int_equal(read_value(&stage->importer, opened.index, 0), 12);
	write_value(&stage->importer, opened.index, 10 * MIB - 8, 13);
	assert_int_equal(read_value(&stage->exporter, theirs, 10 * MIB - 8), 13);
	/* The process that made it may import it, too. */
	opened = hand(&stage->exporter, SG_SHARE_IMPORT_PHYSICAL, 0, &handle, 10 * MIB);
	assert_int_equal(opened.error, CUDA_SUCCESS);
	twin = opened.index;
	assert_int_equal(read_value(&stage->exporter, twin, 0), 12);
	assert_int_equal(order(&stage->exporter, SG_SHARE_DROP_PHYSICAL, theirs), CUDA_SUCCESS);
	assert_int_equal(read_value(&stage->exporter, twin, 0), 12);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
	close(handle.fd);
}

static void test_descriptor_alone_keeps_physical_memory(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_PHYSICAL, 0, 10 * MIB);
	struct sg_share_message handle, opened;

	write_value(&stage->exporter, theirs, 4096, 14);
	handle = get_handle(&stage->exporter, SG_SHARE_EXPORT_PHYSICAL, theirs);
	assert_int_equal(order(&stage->exporter, SG_SHARE_DROP_PHYSICAL, theirs), CUDA_SUCCESS);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
	kill_player(&stage->exporter);
	assert_int_equal(used_memory(), stage->idle / 2 + 10 * MIB);
	opened = hand(&stage->importer, SG_SHARE_IMPORT_PHYSICAL, 0, &handle, 10 * MIB);
	assert_int_equal(opened.error, CUDA_SUCCESS);
	assert_int_equal(read_value(&stage->importer, opened.index, 4096), 14);
	assert_int_equal(order(&stage->importer, SG_SHARE_DROP_PHYSICAL, opened.index),
			 CUDA_SUCCESS);
	assert_int_equal(used_memory(), stage->idle / 2 + 10 * MIB);
	close(handle.fd);
	assert_int_equal(used_memory(), stage->idle / 2);
}

static void test_physical_memory_outlives_either_process(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_PHYSICAL, 0, 10 * MIB);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_EXPORT_PHYSICAL, theirs);
	struct sg_share_message opened =
		hand(&stage->importer, SG_SHARE_IMPORT_PHYSICAL, 0, &handle, 10 * MIB);

	close(handle.fd);
	assert_int_equal(opened.error, CUDA_SUCCESS);
	write_value(&stage->exporter, theirs, 0, 15);
	kill_player(&stage->exporter);
	assert_int_equal(read_value(&stage->importer, opened.index, 0), 15);
	assert_int_equal(used_memory(), stage->idle / 2 + 10 * MIB);
	kill_player(&stage->importer);
	assert_int_equal(used_memory(), 0);
}

static void test_descriptors_that_are_not_physical_memory(void **state)
{
	struct stage *stage = *state;
	unsigned pool = make(&stage->exporter, SG_SHARE_CREATE_POOL, 0, 0);
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_PHYSICAL, 0, 2 * MIB);
	struct sg_share_message of_pool = get_handle(&stage->exporter, SG_SHARE_EXPORT_POOL, pool);
	struct sg_share_message of_memory =
		get_handle(&stage->exporter, SG_SHARE_EXPORT_PHYSICAL, theirs);
	struct sg_share_message file = {.fd = open("/dev/null", O_RDWR | O_CLOEXEC)};
	struct sg_share_player stranger;
	char name[80];

	assert_true(file.fd >= 0);
	assert_int_equal(
		hand(&stage->importer, SG_SHARE_IMPORT_PHYSICAL, 0, &of_pool, 2 * MIB).error,
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(hand(&stage->importer, SG_SHARE_IMPORT_POOL, 0, &of_memory, 0).error,
			 cudaErrorInvalidValue);
	assert_int_equal(hand(&stage->importer, SG_SHARE_IMPORT_PHYSICAL, 0, &file, 2 * MIB).error,
			 CUDA_ERROR_INVALID_VALUE);
	snprintf(name, sizeof(name), "%s-other", card);
	stranger = sg_share_player_start(name, NULL);
	assert_int_equal(hand(&stranger, SG_SHARE_IMPORT_PHYSICAL, 0, &of_memory, 2 * MIB).error,
			 CUDA_ERROR_INVALID_VALUE);
	sg_share_player_dismiss(&stranger);
	close(file.fd);
	close(of_pool.fd);
	close(of_memory.fd);
}

/* Pools */

/* A pool of the exporter with one allocation, which the importer has, too. */
struct shared_pool {
	unsigned pool, memory;             /* the exporter's numbers */
	unsigned opened_pool, opened;      /* the importer's */
	struct sg_share_message of_memory; /* export data */
};

static struct shared_pool share_pool(struct stage *stage)
{
	struct shared_pool shared;
	struct sg_share_message handle, answer;

	shared.pool = make(&stage->exporter, SG_SHARE_CREATE_POOL, 0, 0);
	shared.memory = make(&stage->exporter, SG_SHARE_POOL_MALLOC, shared.pool, 3 * MIB);
	write_value(&stage->exporter, shared.memory, 0, 16);
	handle = get_handle(&stage->exporter, SG_SHARE_EXPORT_POOL, shared.pool);
	shared.of_memory = get_handle(&stage->exporter, SG_SHARE_EXPORT_POINTER, shared.memory);
	answer = hand(&stage->importer, SG_SHARE_IMPORT_POOL, 0, &handle, 0);
	close(handle.fd);
	assert_int_equal(answer.error, cudaSuccess);
	shared.opened_pool = answer.index;
	answer = hand(&stage->importer, SG_SHARE_IMPORT_POINTER, shared.opened_pool,
		      &shared.of_memory, 0);
	assert_int_equal(answer.error, cudaSuccess);
	shared.opened = answer.index;
	return shared;
}

static void test_allocation_of_a_pool_is_seen_by_another_process(void **state)
{
	struct stage *stage = *state;
	struct shared_pool shared = share_pool(stage);

	assert_int_equal(used_memory(), stage->idle + PIECE);
	assert_int_equal(read_value(&stage->importer, shared.opened, 0), 16);
	write_value(&stage->importer, shared.opened, 8, 17);
	assert_int_equal(read_value(&stage->exporter, shared.memory, 8), 17);
	/* An imported pool hands nothing out, and what is imported is there already. */
	assert_int_equal(order(&stage->importer, SG_SHARE_POOL_MALLOC, shared.opened_pool),
			 cudaErrorInvalidValue);
	assert_int_equal(
		sg_share_player_ask(&stage->importer, SG_SHARE_POOL_MALLOC, shared.opened_pool, 512)
			.error,
		cudaErrorInvalidValue);
	assert_int_equal(hand(&stage->importer, SG_SHARE_IMPORT_POINTER, shared.opened_pool,
			      &shared.of_memory, 0)
				 .error,
			 cudaErrorInvalidValue);
	/* First the importer, then the exporter. */
	assert_int_equal(order(&stage->importer, SG_SHARE_POOL_FREE, shared.opened), cudaSuccess);
	assert_int_equal(order(&stage->importer, SG_SHARE_DESTROY_POOL, shared.opened_pool),
			 cudaSuccess);
	assert_int_equal(used_memory(), stage->idle + PIECE);
	assert_int_equal(order(&stage->exporter, SG_SHARE_POOL_FREE, shared.memory), cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_DESTROY_POOL, shared.pool), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle);
}

static void test_pool_memory_outlives_the_process_that_made_it(void **state)
{
	struct stage *stage = *state;
	struct shared_pool shared = share_pool(stage);

	kill_player(&stage->exporter);
	assert_int_equal(used_memory(), stage->idle / 2 + PIECE);
	assert_int_equal(read_value(&stage->importer, shared.opened, 0), 16);
	assert_int_equal(order(&stage->importer, SG_SHARE_POOL_FREE, shared.opened), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle / 2);
	assert_int_equal(hand(&stage->importer, SG_SHARE_IMPORT_POINTER, shared.opened_pool,
			      &shared.of_memory, 0)
				 .error,
			 cudaErrorInvalidValue);
}

static void test_importer_of_a_pool_that_is_killed_leaves_it_as_it_was(void **state)
{
	struct stage *stage = *state;
	struct shared_pool shared = share_pool(stage);

	kill_player(&stage->importer);
	assert_int_equal(read_value(&stage->exporter, shared.memory, 0), 16);
	assert_int_equal(order(&stage->exporter, SG_SHARE_POOL_FREE, shared.memory), cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_DESTROY_POOL, shared.pool), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle / 2);
}

static void test_pointer_belongs_to_its_pool(void **state)
{
	struct stage *stage = *state;
	struct shared_pool shared = share_pool(stage);
	unsigned other = make(&stage->exporter, SG_SHARE_CREATE_POOL, 0, 0);
	unsigned plain = make(&stage->exporter, SG_SHARE_MALLOC, 0, 3 * MIB);
	struct sg_share_message handle = get_handle(&stage->exporter, SG_SHARE_EXPORT_POOL, other);
	struct sg_share_message opened =
		hand(&stage->importer, SG_SHARE_IMPORT_POOL, 0, &handle, 0);

	close(handle.fd);
	assert_int_equal(opened.error, cudaSuccess);
	assert_int_equal(
		hand(&stage->importer, SG_SHARE_IMPORT_POINTER, opened.index, &shared.of_memory, 0)
			.error,
		cudaErrorInvalidValue);
	assert_int_equal(order(&stage->exporter, SG_SHARE_EXPORT_POINTER, plain),
			 cudaErrorInvalidValue);
	/* Memory of pools has no handle of the older sort. */
	assert_int_equal(order(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, shared.memory),
			 cudaErrorInvalidValue);
}

/* Whatever CUDA_VISIBLE_DEVICES says. */
static void test_hidden_device_can_be_shared_by_descriptors(void **state)
{
	static const char *const visible[] = {"1,0", "1"};
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_PHYSICAL, 0, 2 * MIB);
	unsigned pool = make(&stage->exporter, SG_SHARE_CREATE_POOL, 0, 0);
	unsigned pooled = make(&stage->exporter, SG_SHARE_POOL_MALLOC, pool, MIB);
	struct sg_share_message memory =
		get_handle(&stage->exporter, SG_SHARE_EXPORT_PHYSICAL, theirs);
	struct sg_share_message of_pool = get_handle(&stage->exporter, SG_SHARE_EXPORT_POOL, pool);
	struct sg_share_message pointer =
		get_handle(&stage->exporter, SG_SHARE_EXPORT_POINTER, pooled);

	write_value(&stage->exporter, theirs, 0, 20);
	write_value(&stage->exporter, pooled, 0, 21);
	for (int i = 0; i < 2; i++) {
		struct sg_share_player other = sg_share_player_start(card, visible[i]);
		struct sg_share_message opened =
			hand(&other, SG_SHARE_IMPORT_PHYSICAL, 0, &memory, 2 * MIB);

		assert_int_equal(opened.error, CUDA_SUCCESS);
		assert_int_equal(read_value(&other, opened.index, 0), 20);
		opened = hand(&other, SG_SHARE_IMPORT_POOL, 0, &of_pool, 0);
		assert_int_equal(opened.error, cudaSuccess);
		opened = hand(&other, SG_SHARE_IMPORT_POINTER, opened.index, &pointer, 0);
		assert_int_equal(opened.error, cudaSuccess);
		assert_int_equal(read_value(&other, opened.index, 0), 21);
		assert_int_equal(used_memory(), stage->idle + 2 * MIB + PIECE);
		sg_share_player_dismiss(&other);
	}
	close(memory.fd);
	close(of_pool.fd);
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_hidden_device_can_be_shared_by_descriptors),
		STAGED(test_physical_memory_is_mapped_by_two_processes),
		STAGED(test_descriptor_alone_keeps_physical_memory),
		STAGED(test_physical_memory_outlives_either_process),
		STAGED(test_descriptors_that_are_not_physical_memory),
		STAGED(test_allocation_of_a_pool_is_seen_by_another_process),
		STAGED(test_pool_memory_outlives_the_process_that_made_it),
		STAGED(test_importer_of_a_pool_that_is_killed_leaves_it_as_it_was),
		STAGED(test_pointer_belongs_to_its_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return run_staged(argc, argv, run_group);
}

#include "pool_records.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "told_calls.h"

#define BUFFER_SIZE      ((size_t)64 << 10)
#define FLUSH_PERIOD_MS  1000
#define RECORD_ALIGNMENT 8

static const struct vs_cupti_library *library;
static atomic_bool is_on;

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_MEMORY2,
	CUPTI_ACTIVITY_KIND_MEMORY_POOL,
};

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *nr_records)
{
	/* On a thread that CUPTI chooses, and where it allocates itself. NULL: records are dropped.
	 */
	*buffer = aligned_alloc(RECORD_ALIGNMENT, BUFFER_SIZE);
	*size = *buffer ? BUFFER_SIZE : 0;
	*nr_records = 0;
}

/* CUPTI_API_VERSION from which on records say how much of a pool is in use: 11.6. */
#define LEAST_VERSION 16

/*
 * Records grow at their end from release to release, and keep what they had: these are the forms of
 * LEAST_VERSION.
 */
static void read_record(const CUpti_Activity *record)
{
	const CUpti_ActivityMemory3 *memory = (const void *)record;
	const CUpti_ActivityMemoryPool2 *pool = (const void *)record;

	if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL) {
		if (pool->memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL &&
		    pool->memoryPoolOperationType !=
			    CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED)
			vs_told_calls_note_pool(pool->address, pool->deviceId, pool->size,
						pool->utilizedSize);
	} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY2 &&
		   memory->memoryPoolConfig.memoryPoolType ==
			   CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
		vs_told_calls_note_pool(memory->memoryPoolConfig.address, memory->deviceId,
					memory->memoryPoolConfig.pool.size,
					memory->memoryPoolConfig.utilizedSize);
	}
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid_size)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (atomic_load(&is_on) &&
	       library->next_record(buffer, valid_size, &record) == CUPTI_SUCCESS)
		read_record(record);
	free(buffer);
}

void vs_pool_records_begin(const struct vs_cupti_library *from)
{
	const char *wanted = getenv("VRAMSCOPE_CUPTI_POOLS");
	uint32_t version = 0;

	if (!wanted || *wanted != '1' || from->get_version(&version) != CUPTI_SUCCESS ||
	    version < LEAST_VERSION || !from->register_buffers || !from->enable_activity ||
	    !from->next_record || !from->disable_activity)
		return;
	library = from;
	if (library->register_buffers(give_buffer, take_buffer) != CUPTI_SUCCESS)
		return;
	atomic_store(&is_on, true);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		(void)library->enable_activity(kinds[i]);
	if (library->set_flush_period)
		(void)library->set_flush_period(FLUSH_PERIOD_MS);
}

void vs_pool_records_end(const struct vs_cupti_library *from)
{
	if (!atomic_exchange(&is_on, false))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		(void)from->disable_activity(kinds[i]);
}

void vs_pool_records_yield(void)
{
	if (library)
		vs_pool_records_end(library);
}

#ifndef SG_RECORD_SINK_H
#define SG_RECORD_SINK_H

/* A program's end of the activity API: hands out buffers, keeps the records that come back. */
#include "tool_fixture.h"

#define SINK_MAX 256

static struct {
	/* Larger than any record. */
	_Alignas(8) unsigned char records[SINK_MAX][512];
	unsigned nr_records;
	unsigned nr_requested, nr_completed;
	size_t buffer_size; /* of those to come; 0: none is given */
	size_t max_records;
} sink;

static inline void sink_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	sink.nr_requested++;
	*size = sink.buffer_size;
	*max_records = sink.max_records;
	*buffer = sink.buffer_size ? aligned_alloc(8, sink.buffer_size) : NULL;
}

/* The end of a record is where the next one begins, or of the buffer. */
static inline void sink_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid_size)
{
	CUpti_Activity *record = NULL;
	unsigned char *previous = NULL;

	(void)context;
	(void)stream;
	(void)size;
	sink.nr_completed++;
	while (cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS) {
		size_t left = (size_t)(buffer + valid_size - (unsigned char *)record);

		assert_true(sink.nr_records < SINK_MAX);
		previous = sink.records[sink.nr_records++];
		memcpy(previous, record, left < 512 ? left : 512);
	}
	free(buffer);
}

static inline int sink_setup(void **state)
{
	(void)state;
	memset(&sink, 0, sizeof(sink));
	sink.buffer_size = 65536;
	return (int)cuptiActivityRegisterCallbacks(sink_request, sink_complete);
}

static inline int sink_teardown(void **state)
{
	(void)state;
	return (int)cuptiFinalize();
}

static inline const void *sink_get(unsigned i, CUpti_ActivityKind kind)
{
	const CUpti_Activity *record = (const void *)sink.records[i];

	assert_true(i < sink.nr_records);
	assert_int_equal(record->kind, kind);
	return record;
}

#endif

#include "tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_records.h"

/* One stack of numbers for each kind, in each thread; nobody else looks at them. */
struct stack {
	uint64_t *ids;
	size_t nr_ids, room;
};

static _Thread_local struct stack stacks[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* frees a thread's stacks when it ends */

static void free_stacks(void *first)
{
	struct stack *all = first;

	for (size_t i = 0; i < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; i++) {
		free(all[i].ids);
		all[i] = (struct stack){NULL, 0, 0};
	}
}

static void make_key(void)
{
	(void)pthread_key_create(&key, free_stacks);
}

static struct stack *get_stack(CUpti_ExternalCorrelationKind kind)
{
	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
	    kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
		return NULL;
	return &stacks[kind];
}

SG_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							  uint64_t id)
{
	struct stack *stack = get_stack(kind);

	if (!stack)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (stack->nr_ids == stack->room) {
		size_t room = stack->room ? stack->room * 2 : 16;
		uint64_t *ids = realloc(stack->ids, room * sizeof(*ids));

		if (!ids)
			return sg_tool_link_return(CUPTI_ERROR_OUT_OF_MEMORY);
		stack->ids = ids;
		stack->room = room;
		pthread_once(&once, make_key);
		(void)pthread_setspecific(key, stacks);
	}
	stack->ids[stack->nr_ids++] = id;
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							 uint64_t *lastId)
{
	struct stack *stack = get_stack(kind);

	if (!stack)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (!stack->nr_ids)
		return sg_tool_link_return(CUPTI_ERROR_QUEUE_EMPTY);
	stack->nr_ids--;
	if (lastId)
		*lastId = stack->ids[stack->nr_ids];
	return CUPTI_SUCCESS;
}

void sg_tool_external_push_records(uint32_t correlation_id)
{
	if (!sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
		return;
	for (size_t i = 0; i < SG_LENGTH(stacks); i++) {
		SG_CUPTI_RECORD_EXTERNAL record = {
			.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
			.externalKind = (CUpti_ExternalCorrelationKind)i,
			.correlationId = correlation_id,
		};

		if (!stacks[i].nr_ids)
			continue;
		record.externalId = stacks[i].ids[stacks[i].nr_ids - 1];
		sg_tool_activity_push(&record, sizeof(record));
	}
}

#include "picture_story.h"

#include <string.h>

#include "picture_records.h"

static struct vs_record records[32];
static size_t nr_records;
static size_t position;

static void make_records(void)
{
	const struct vs_record made[] = {
		picture_device(0, 1024 * MIB),
		picture_device(1, 512 * MIB),
		picture_pool(1, 0, "arena"),
		picture_name(1, "warm up"),
		picture_name(2, "train"),
		picture_name(3, "inner"),
		picture_push(50, 1),
		picture_alloc(100, VS_MEMORY_DEVICE, 0, PICTURE_STORY_BASE, 100 * MIB),
		picture_block(200, 1, PICTURE_STORY_BASE, 40 * MIB),
		picture_pop(250),
		picture_push(260, 2),
		picture_step(300, 7),
		picture_block(300, 1, PICTURE_STORY_BASE + 50 * MIB, 40 * MIB),
		picture_push(310, 3),
		picture_pop(320),
		picture_alloc(400, VS_MEMORY_DEVICE, 1, PICTURE_STORY_BASE + 4096 * MIB, 10 * MIB),
		picture_block_free(500, 1, PICTURE_STORY_BASE),
		picture_alloc_failed(550, 1, 64 * MIB),
		picture_alloc(560, VS_MEMORY_DEVICE, 1, PICTURE_STORY_BASE + 8192 * MIB, 64 * MIB),
		picture_block_failed(600, 1, 45 * MIB),
		picture_step(999, 8),
	};

	_Static_assert(sizeof(made) <= sizeof(records), "it has room");
	memcpy(records, made, sizeof(made));
	nr_records = sizeof(made) / sizeof(*made);
}

static int next_record(void *context, struct vs_record *record)
{
	(void)context;
	if (position == nr_records)
		return 0;
	*record = records[position++];
	return 1;
}

static int rewind_records(void *context)
{
	(void)context;
	if (!nr_records)
		make_records();
	position = 0;
	return 0;
}

const struct vs_source picture_story = {.next = next_record, .rewind = rewind_records};

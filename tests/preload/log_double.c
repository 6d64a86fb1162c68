#include "log_double.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "drain.h"
#include "lifecycle.h"
#include "loaded_object.h"
#include "memory_info.h"
#include "merge.h"
#include "ring.h"
#include "session.h"
#include "stack.h"
#include "thread.h"

#define NR_IDS 8192u

/* Number of a step that only takes room. */
#define FILLER UINT64_C(0xf111)

struct log_double log_double;

/* What came out of the log, in the order of time. */
static struct {
	struct vs_merge *merge;
	struct vs_record records[LOG_DOUBLE_NR_RECORDS];
	uint32_t nr_records;
	/* Text and frames of the records. */
	uint64_t memory[1 << 17];
	size_t used;
} taken;

/* Chunks that nobody can have just now. */
static uint32_t hidden[LOG_DOUBLE_NR_CHUNKS];
static uint32_t nr_hidden;

static _Atomic uint32_t mark;
_Atomic uint32_t *vs_lifecycle_mark = &mark;

static void *keep(const void *bytes, size_t size)
{
	void *copy = &taken.memory[taken.used];

	taken.used += (size + sizeof(taken.memory[0]) - 1) / sizeof(taken.memory[0]);
	assert_true(taken.used <= sizeof(taken.memory) / sizeof(taken.memory[0]));
	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

static void make_log(void)
{
	struct vs_live_log_facts facts = {
		.trace_path = "",
		.first_size = LOG_DOUBLE_NR_CHUNKS * VS_LIVE_CHUNK_SIZE,
		.max_size = LOG_DOUBLE_NR_CHUNKS * VS_LIVE_CHUNK_SIZE,
	};
	struct vs_clock_instant now;
	char path[64];

	vs_clock_init();
	vs_ring_init();
	vs_clock_get_instant(&now);
	facts.start = facts.now = vs_clock_anchor(&now, &now);
	snprintf(path, sizeof(path), "/dev/shm/vramscope-test-%ld", (long)getpid());
	assert_int_equal(vs_live_log_create(&log_double.log, path, &facts), 0);
	unlink(path);
	assert_int_equal(vs_merge_create(&taken.merge, &log_double.log), 0);
}

void log_double_reset(void)
{
	static uint32_t last_recording;

	if (taken.merge) {
		vs_merge_destroy(taken.merge);
		vs_live_log_close(&log_double.log);
	}
	memset(&log_double, 0, sizeof(log_double));
	log_double.settings.free_stacks = true;
	taken.nr_records = 0;
	taken.used = 0;
	nr_hidden = 0;
	log_double.recording = ++last_recording;
	log_double.has_log = true;
	atomic_store(&mark, 1);
	make_log();
}

/* ---- Room ------------------------------------------------------------------------------------ */

static void add_filler(struct vs_ring *ring, uint32_t size)
{
	struct vs_live_record *record = vs_ring_begin(ring, size);
	const struct vs_step step = {.number = FILLER};

	assert_non_null(record);
	record->type = VS_RECORD_STEP;
	record->flags = 0;
	memcpy(record + 1, &step, sizeof(step));
	vs_ring_end(ring, record);
}

void log_double_fill(uint32_t size)
{
	const uint32_t step_size = VS_LIVE_RECORD_HEAD + sizeof(struct vs_step);
	struct vs_ring *ring = &vs_thread_self()->ring;

	assert_non_null(ring->log);
	assert_int_equal(size % 8, 0);
	while (ring->end > VS_LIVE_CHUNK_SIZE - size)
		add_filler(ring, step_size); /* into the next one */
	while (ring->end + size < VS_LIVE_CHUNK_SIZE) {
		uint32_t rest = VS_LIVE_CHUNK_SIZE - size - ring->end;

		/* No rest that is too small for one of its own. */
		assert_true(rest >= step_size);
		add_filler(ring, rest < 2 * step_size ? rest : step_size);
	}
	assert_int_equal(ring->end, VS_LIVE_CHUNK_SIZE - size);
}

void log_double_limit(uint32_t size)
{
	uint32_t index;

	log_double_fill(size);
	while ((index = vs_live_log_take_chunk(&log_double.log)) != VS_LIVE_LOG_NONE)
		hidden[nr_hidden++] = index;
}

void log_double_unlimit(void)
{
	while (nr_hidden)
		vs_live_log_give_chunk(&log_double.log, hidden[--nr_hidden]);
}

/* ---- What was recorded ----------------------------------------------------------------------- */

static void keep_text(struct vs_text *text)
{
	text->bytes = keep(text->bytes, text->size);
}

static void keep_record(const struct vs_record *found)
{
	struct vs_record *record = &taken.records[taken.nr_records++];

	assert_true(taken.nr_records <= LOG_DOUBLE_NR_RECORDS);
	*record = *found;
	if (record->type == VS_RECORD_NAME)
		keep_text(&record->name.text);
	else if (record->type == VS_RECORD_MODULE)
		keep_text(&record->module.path);
	else if (record->type == VS_RECORD_THREAD)
		keep_text(&record->thread_name.name);
	else if (record->type == VS_RECORD_DEVICE)
		keep_text(&record->device.name);
	else if (record->type == VS_RECORD_POOL)
		keep_text(&record->pool.name);
	else if (record->type == VS_RECORD_FACT) {
		keep_text(&record->fact.key);
		keep_text(&record->fact.value);
	} else if (record->type == VS_RECORD_STACK)
		record->stack.frames =
			keep(record->stack.frames,
			     record->stack.nr_frames * sizeof(record->stack.frames[0]));
}

uint32_t log_double_get_nr(void)
{
	struct vs_record record;
	uint64_t sequence;
	uint32_t ring;

	/* Nothing is given back: rings of a test stay short. */
	vs_merge_look(taken.merge, 1);
	while (vs_merge_next(taken.merge, &record, &ring, &sequence)) {
		assert_true(record.type < VS_RECORD_FIRST_EVENT || record.thread == ring);
		if (record.type != VS_RECORD_STEP || record.step.number != FILLER)
			keep_record(&record);
	}
	return taken.nr_records;
}

const struct vs_record *log_double_at(uint32_t n)
{
	assert_true(n < log_double_get_nr());
	return &taken.records[n];
}

uint32_t log_double_count(enum vs_record_type type)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < log_double_get_nr(); i++)
		nr += taken.records[i].type == type;
	return nr;
}

const struct vs_record *log_double_get(enum vs_record_type type, uint32_t n)
{
	for (uint32_t i = 0; i < log_double_get_nr(); i++)
		if (taken.records[i].type == type && n-- == 0)
			return &taken.records[i];
	fail_msg("there are too few records of type %d", type);
	abort(); /* fail_msg does not come back, but does not say so either */
}

uint64_t log_double_get_lost(void)
{
	return vs_live_log_get_lost(&log_double.log);
}

uint64_t log_double_get_told(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < log_double_count(VS_RECORD_LOST); i++)
		nr += log_double_get(VS_RECORD_LOST, i)->lost.nr_events;
	return nr;
}

struct known {
	bool names[NR_IDS];
	bool stacks[NR_IDS];
	bool pools[NR_IDS];
	bool threads[NR_IDS];
	const struct vs_module *modules[LOG_DOUBLE_NR_RECORDS];
	uint32_t nr_modules;
};

static void define_once(bool known[NR_IDS], uint32_t id)
{
	assert_in_range(id, 1, NR_IDS - 1);
	assert_false(known[id]);
	known[id] = true;
}

static void assert_known(const bool known[NR_IDS], uint32_t id)
{
	assert_in_range(id, 0, NR_IDS - 1);
	assert_true(id == VS_NO_ID || known[id]);
}

/* Frames lie in a module that is known, or in no file at all. */
static void check_frames(const struct known *known, const struct vs_stack *stack)
{
	struct vs_loaded_object object;

	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		uint64_t address = stack->frames[i] - 1;
		bool is_known = false;

		for (uint32_t j = 0; j < known->nr_modules; j++)
			is_known |= address >= known->modules[j]->start &&
				    address < known->modules[j]->end;
		assert_true(is_known || !vs_loaded_object_at((const void *)address, &object));
	}
}

static bool check_definition(struct known *known, const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_NAME:
		define_once(known->names, record->name.id);
		return true;
	case VS_RECORD_MODULE:
		known->modules[known->nr_modules++] = &record->module;
		return true;
	case VS_RECORD_STACK:
		define_once(known->stacks, record->stack.id);
		check_frames(known, &record->stack);
		return true;
	case VS_RECORD_THREAD:
		define_once(known->threads, record->thread_name.id);
		return true;
	case VS_RECORD_POOL:
		define_once(known->pools, record->pool.id);
		return true;
	case VS_RECORD_DEVICE:
	case VS_RECORD_FACT:
		return true;
	default:
		return false;
	}
}

static void check_uses(const struct known *known, const struct vs_record *record)
{
	assert_known(known->threads, record->thread);
	switch (record->type) {
	case VS_RECORD_ALLOC:
		assert_known(known->pools, record->alloc.pool);
		assert_known(known->stacks, record->alloc.stack);
		assert_known(known->names, record->alloc.api);
		break;
	case VS_RECORD_FREE:
		assert_known(known->stacks, record->free.stack);
		assert_known(known->names, record->free.api);
		break;
	case VS_RECORD_ALLOC_FAILED:
		assert_known(known->pools, record->alloc_failed.pool);
		assert_known(known->stacks, record->alloc_failed.stack);
		assert_known(known->names, record->alloc_failed.api);
		break;
	case VS_RECORD_POOL_STATE:
		assert_known(known->pools, record->pool_state.pool);
		break;
	case VS_RECORD_POOL_END:
		assert_known(known->pools, record->pool_end.pool);
		break;
	case VS_RECORD_BLOCK_ALLOC:
		assert_known(known->pools, record->block_alloc.pool);
		assert_known(known->stacks, record->block_alloc.stack);
		break;
	case VS_RECORD_BLOCK_FREE:
		assert_known(known->pools, record->block_free.pool);
		assert_known(known->stacks, record->block_free.stack);
		break;
	case VS_RECORD_BLOCK_FAILED:
		assert_known(known->pools, record->block_failed.pool);
		assert_known(known->stacks, record->block_failed.stack);
		break;
	case VS_RECORD_BLOCK_FAILED_TEXT:
		assert_known(known->pools, record->block_failed_text.pool);
		assert_known(known->names, record->block_failed_text.name);
		break;
	case VS_RECORD_PHASE_PUSH:
		assert_known(known->names, record->phase_push.name);
		break;
	case VS_RECORD_MARK:
		assert_known(known->names, record->mark.name);
		break;
	default:
		break;
	}
}

void log_double_assert_consistent(void)
{
	static struct known known;
	uint64_t last_ns = 0;

	memset(&known, 0, sizeof(known));
	for (uint32_t i = 0; i < log_double_get_nr(); i++) {
		const struct vs_record *record = &taken.records[i];

		if (check_definition(&known, record))
			continue;
		check_uses(&known, record);
		assert_true(record->thread != VS_NO_ID);
		assert_true(record->time_ns >= last_ns);
		last_ns = record->time_ns;
	}
}

/* ---- The files and the drain ----------------------------------------------------------------- */

static void spoil(void)
{
	errno = EXDEV;
}

static void expect_inside(void)
{
	assert_true(vs_thread_self()->base.is_inside);
	spoil();
}

/* NVML is not asked. */
void vs_memory_info_note_failure(uint32_t device)
{
	(void)device;
}

bool vs_session_make_room(void)
{
	expect_inside();
	log_double.nr_asked++;
	if (!log_double.has_more_room)
		return false;
	log_double.has_more_room = false;
	log_double_unlimit();
	return true;
}

void vs_drain_wake(void)
{
	log_double.nr_wakes++;
	spoil();
}

/* ---- The process ----------------------------------------------------------------------------- */

void vs_lifecycle_begin(void)
{
	log_double.nr_begins++;
	atomic_store(&mark, 1);
	spoil();
}

bool vs_lifecycle_is_recording(void)
{
	return true;
}

bool vs_lifecycle_is_open(void)
{
	return log_double.has_log;
}

struct vs_live_log *vs_lifecycle_get_log(void)
{
	expect_inside();
	return log_double.has_log ? &log_double.log : NULL;
}

struct vs_live_log *vs_lifecycle_peek_log(void)
{
	return log_double.has_log ? &log_double.log : NULL;
}

uint32_t vs_lifecycle_recording(void)
{
	return log_double.recording;
}

const struct vs_settings *vs_lifecycle_settings(void)
{
	return &log_double.settings;
}

/* ---- The unwinder ---------------------------------------------------------------------------- */

void vs_stack_capture(struct vs_thread_state *self, struct vs_stack *stack)
{
	expect_inside();
	log_double.nr_captures++;
	memcpy(self->scratch->frames, log_double.frames, sizeof(log_double.frames));
	*stack = (struct vs_stack){.frames = self->scratch->frames,
				   .nr_frames = log_double.nr_frames};
}

/* Every stack is new to it. */
void vs_stack_keep(struct vs_thread_state *self, const struct vs_unwind_path *path)
{
	(void)self;
	(void)path;
}

bool vs_stack_recall(struct vs_thread_state *self, struct vs_unwind_path *path)
{
	(void)self;
	(void)path;
	expect_inside();
	return false;
}

struct vs_unwind_echo *vs_stack_confirm(struct vs_thread_state *self,
					const struct vs_unwind_path *path)
{
	(void)self;
	(void)path;
	expect_inside();
	return NULL;
}

bool vs_stack_learn(struct vs_thread_state *self)
{
	(void)self;
	expect_inside();
	return false;
}

/* Any thread, inside or not. */
void vs_stack_forget_code(void)
{
	log_double.nr_forgets++;
}

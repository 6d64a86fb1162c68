/* What another thread reads is what one would have read oneself. */
#include "read_ahead.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index_trace.h"
#include "long_trace.h"
#include "random_script.h"
#include "reader.h"
#include "scratch.h"
#include "script.h"
#include "trace_open.h"
#include "trace_source.h"

#define NR_SEEDS 40

static int make_traces(void **state)
{
	if (vs_scratch_enter(state))
		return -1;
	return long_trace_write("long.vscope", 200000);
}

static struct vs_reader *open_trace(const char *path)
{
	struct vs_reader *reader;

	assert_int_equal(vs_reader_open(&reader, path), 0);
	return reader;
}

/* As bytes, with all that it points to. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size--)
		hash = (hash ^ *at++) * 0x100000001b3;
	return hash;
}

static uint64_t hash_record(uint64_t hash, const struct vs_record *record)
{
	hash = hash_bytes(hash, &record->type, sizeof(record->type));
	hash = hash_bytes(hash, &record->time_ns, sizeof(record->time_ns));
	hash = hash_bytes(hash, &record->thread, sizeof(record->thread));
	switch (record->type) {
	case VS_RECORD_NAME:
		return hash_bytes(hash, record->name.text.bytes, record->name.text.size);
	case VS_RECORD_MODULE:
		return hash_bytes(hash, record->module.path.bytes, record->module.path.size);
	case VS_RECORD_POOL:
		return hash_bytes(hash, record->pool.name.bytes, record->pool.name.size);
	case VS_RECORD_DEVICE:
		return hash_bytes(hash, record->device.name.bytes, record->device.name.size);
	case VS_RECORD_STACK:
		return hash_bytes(hash, record->stack.frames,
				  record->stack.nr_frames * sizeof(uint64_t));
	case VS_RECORD_ALLOC:
		return hash_bytes(hash, &record->alloc.address, sizeof(uint64_t));
	case VS_RECORD_BLOCK_ALLOC:
		return hash_bytes(hash, &record->block_alloc.size, sizeof(uint64_t));
	case VS_RECORD_BLOCK_FREE:
		return hash_bytes(hash, &record->block_free.address, sizeof(uint64_t));
	default:
		return hash;
	}
}

static int next_of(void *context, struct vs_record *record)
{
	return vs_trace_open_next(context, record);
}

struct sum {
	uint64_t nr;
	uint64_t hash;
	uint64_t blocks; /* where they came from */
};

static struct sum read_directly(const struct vs_source *source)
{
	struct vs_record record;
	struct sum sum = {0};

	while (source->next(source->context, &record) > 0) {
		struct vs_reader_block block = {0};

		if (source->get_block)
			source->get_block(source->context, &block);
		sum.nr++;
		sum.hash = hash_record(sum.hash, &record);
		sum.blocks = hash_bytes(sum.blocks, &block.offset, sizeof(block.offset));
	}
	return sum;
}

static struct sum read_batches(const struct vs_source *source)
{
	const struct vs_batch *batch;
	struct vs_read_ahead *ahead;
	struct sum sum = {0};
	int status;

	assert_int_equal(vs_read_ahead_start(&ahead, source), 0);
	do {
		batch = vs_read_ahead_get(ahead, 0);
		assert_non_null(batch);
		for (uint32_t i = 0; i < batch->nr; i++) {
			sum.nr++;
			sum.hash = hash_record(sum.hash, &batch->records[i]);
			sum.blocks = hash_bytes(sum.blocks, &batch->block.offset,
						sizeof(batch->block.offset));
		}
		status = batch->status;
		/* What is behind it does not go away by being looked at. */
		if (status > 0)
			assert_non_null(vs_read_ahead_get(ahead, 1));
		else
			assert_null(vs_read_ahead_get(ahead, 1));
		vs_read_ahead_release(ahead);
	} while (status > 0);
	assert_null(vs_read_ahead_get(ahead, 0));
	vs_read_ahead_stop(ahead);
	return sum;
}

static void assert_same_sum(struct sum one, struct sum other)
{
	assert_int_equal(one.nr, other.nr);
	assert_int_equal(one.hash, other.hash);
	assert_int_equal(one.blocks, other.blocks);
}

/* What a reader knows after the last record. */
static struct vs_reader_state get_state(const struct vs_reader *reader)
{
	struct vs_reader_state state;

	vs_reader_get_state(reader, &state);
	return state;
}

static void assert_same_state(const struct vs_reader_state *one,
			      const struct vs_reader_state *other)
{
	assert_int_equal(one->is_complete, other->is_complete);
	assert_int_equal(one->is_damaged, other->is_damaged);
	assert_int_equal(one->is_cut, other->is_cut);
	assert_int_equal(one->has_end, other->has_end);
	assert_int_equal(one->nr_records, other->nr_records);
	assert_int_equal(one->nr_lost, other->nr_lost);
	assert_int_equal(one->nr_bad_blocks, other->nr_bad_blocks);
	assert_int_equal(one->nr_gaps, other->nr_gaps);
	assert_int_equal(one->nr_events_in_blocks, other->nr_events_in_blocks);
}

/* What was found damaged, too. */
static void check_trace(const char *path)
{
	struct vs_reader *reader = open_trace(path);
	struct vs_source source = vs_trace_source_make(reader);
	struct sum direct = read_directly(&source);
	struct vs_reader_state state = get_state(reader), other;

	assert_true(direct.nr > 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(source.rewind(source.context), 0);
		assert_same_sum(read_batches(&source), direct);
		other = get_state(reader);
		assert_same_state(&other, &state);
	}
	vs_reader_close(reader);
}

static void test_long_trace_comes_as_it_is(void **state)
{
	(void)state;
	check_trace("long.vscope");
}

static void test_definitions_among_events_come_as_they_are(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= NR_SEEDS; seed++) {
		struct script script;

		random_script_make(&script, seed, 3000);
		index_trace_write(&script, "random.vscope", 1 + seed * 7);
		check_trace("random.vscope");
		script_fini(&script);
	}
}

static long get_file_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (long)st.st_size;
}

/* Some bytes are not what they were; what they were in is left out, and what follows comes. */
static void damage(const char *path, unsigned int seed)
{
	FILE *file = fopen(path, "r+b");
	long size = get_file_size(path);

	assert_non_null(file);
	for (unsigned int i = 0; i < 1 + seed % 3; i++) {
		/* The header, and the block that says what program it was, stay as they are. */
		long offset =
			2000 + (long)((seed + i) * 2654435761u % (unsigned long)(size - 2000));

		assert_int_equal(fseek(file, offset, SEEK_SET), 0);
		assert_int_equal(fputc((int)(seed * 31 + i) & 0xff, file) == EOF, 0);
	}
	assert_int_equal(fclose(file), 0);
}

static void test_damaged_trace_comes_as_one_reads_it_oneself(void **state)
{
	unsigned int nr_damaged = 0;

	(void)state;
	for (unsigned int seed = 1; seed <= NR_SEEDS; seed++) {
		struct vs_reader *reader;
		struct script script;

		random_script_make(&script, seed, 6000);
		index_trace_write(&script, "damaged.vscope", 200);
		damage("damaged.vscope", seed);
		check_trace("damaged.vscope");
		reader = open_trace("damaged.vscope");
		(void)read_directly(&(struct vs_source){.next = next_of, .context = reader});
		nr_damaged += get_state(reader).is_damaged;
		vs_reader_close(reader);
		script_fini(&script);
	}
	assert_true(nr_damaged > NR_SEEDS / 2);
}

static void test_trace_that_is_cut_comes_as_one_reads_it_oneself(void **state)
{
	long size = get_file_size("long.vscope");

	(void)state;
	assert_int_equal(system("cp long.vscope cut.vscope"), 0);
	for (int part = 9; part > 0; part--) {
		assert_int_equal(truncate("cut.vscope", size * part / 10), 0);
		check_trace("cut.vscope");
	}
}

static void test_source_that_is_no_file_is_read_in_batches_too(void **state)
{
	struct script script;
	struct sum direct;

	(void)state;
	random_script_make(&script, 5, 5000);
	direct = read_directly(&script.source);
	assert_int_equal(script.source.rewind(&script), 0);
	assert_same_sum(read_batches(&script.source), direct);
	script_fini(&script);
}

static void test_source_can_be_used_again_after_a_stop_in_the_middle(void **state)
{
	struct vs_reader *reader = open_trace("long.vscope");
	struct vs_source source = vs_trace_source_make(reader);
	struct sum direct = read_directly(&source);

	(void)state;
	for (unsigned int nr = 0; nr < 12; nr++) {
		struct vs_read_ahead *ahead;

		assert_int_equal(source.rewind(source.context), 0);
		assert_int_equal(vs_read_ahead_start(&ahead, &source), 0);
		for (unsigned int i = 0; i < nr; i++) {
			assert_non_null(vs_read_ahead_get(ahead, 0));
			vs_read_ahead_release(ahead);
		}
		vs_read_ahead_stop(ahead);
	}
	assert_int_equal(source.rewind(source.context), 0);
	assert_same_sum(read_batches(&source), direct);
	vs_reader_close(reader);
}

/* Pieces of work that come with batches, and who did them; the chore's mutex guards nr_done. */
struct pieces {
	_Atomic uint64_t nr_given, nr_done_seen;
	uint64_t nr_done, most;
	_Atomic int nr_at_it;
};

static bool do_piece(void *context)
{
	struct pieces *pieces = context;
	bool is_left = pieces->nr_done < pieces->nr_given;

	assert_int_equal(atomic_fetch_add(&pieces->nr_at_it, 1), 0);
	pieces->nr_done += is_left;
	pieces->nr_done_seen = pieces->nr_done;
	atomic_fetch_sub(&pieces->nr_at_it, 1);
	return is_left;
}

static bool are_too_many(const void *context)
{
	const struct pieces *pieces = context;

	return pieces->nr_given - pieces->nr_done_seen > pieces->most;
}

static void test_chore_is_done_by_one_thread_at_a_time_and_never_gets_too_long(void **state)
{
	struct vs_reader *reader = open_trace("long.vscope");
	struct vs_source source = vs_trace_source_make(reader);
	struct pieces pieces = {.most = 3};
	const struct vs_chore chore = {do_piece, are_too_many, &pieces};
	const struct vs_batch *batch;
	struct vs_read_ahead *ahead;
	int status;

	(void)state;
	assert_int_equal(source.rewind(source.context), 0);
	assert_int_equal(vs_read_ahead_start(&ahead, &source), 0);
	vs_read_ahead_give_chore(ahead, &chore);
	do {
		batch = vs_read_ahead_get(ahead, 0);
		assert_non_null(batch);
		status = batch->status;
		pieces.nr_given += 2;
		vs_read_ahead_release(ahead);
		assert_false(are_too_many(&pieces));
	} while (status > 0);
	vs_read_ahead_stop(ahead);
	assert_in_range(pieces.nr_given - pieces.nr_done, 0, pieces.most);
	vs_reader_close(reader);
}

static int fail_at_once(void *context, struct vs_record *record)
{
	(void)context;
	(void)record;
	return -VS_ERR_IO;
}

static void test_error_comes_behind_what_was_read(void **state)
{
	struct vs_source source = {.next = fail_at_once};
	const struct vs_batch *batch;
	struct vs_read_ahead *ahead;

	(void)state;
	assert_int_equal(vs_read_ahead_start(&ahead, &source), 0);
	batch = vs_read_ahead_get(ahead, 0);
	assert_int_equal(batch->nr, 0);
	assert_int_equal(batch->status, -VS_ERR_IO);
	vs_read_ahead_release(ahead);
	assert_null(vs_read_ahead_get(ahead, 0));
	vs_read_ahead_stop(ahead);
}

/* ---- trace_source.c, vs_reader_survey ------------------------------------------------------- */

static void test_extent_is_guessed_from_headers(void **state)
{
	struct vs_reader *reader = open_trace("long.vscope");
	struct vs_source source = vs_trace_source_make(reader);
	struct vs_source_extent extent;
	struct vs_record record;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	(void)state;
	assert_int_equal(source.guess(source.context, &extent), 1);
	assert_true(extent.has_steps && extent.has_phases);
	assert_int_equal(source.rewind(source.context), 0);
	while (source.next(source.context, &record) > 0) {
		if (!vs_record_is_event(record.type))
			continue;
		first_ns = record.time_ns < first_ns ? record.time_ns : first_ns;
		last_ns = record.time_ns > last_ns ? record.time_ns : last_ns;
	}
	assert_int_equal(extent.first_ns, first_ns);
	assert_int_equal(extent.now_ns, last_ns);
	vs_reader_close(reader);
}

static void test_nothing_is_guessed_of_a_trace_that_is_cut(void **state)
{
	struct vs_reader *reader;
	struct vs_source source;
	struct vs_source_extent extent;

	(void)state;
	assert_int_equal(system("head -c 100000 long.vscope > cut.vscope"), 0);
	reader = open_trace("cut.vscope");
	source = vs_trace_source_make(reader);
	assert_int_equal(source.guess(source.context, &extent), 0);
	vs_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_trace_comes_as_it_is),
		cmocka_unit_test(test_definitions_among_events_come_as_they_are),
		cmocka_unit_test(test_damaged_trace_comes_as_one_reads_it_oneself),
		cmocka_unit_test(test_trace_that_is_cut_comes_as_one_reads_it_oneself),
		cmocka_unit_test(test_source_that_is_no_file_is_read_in_batches_too),
		cmocka_unit_test(test_source_can_be_used_again_after_a_stop_in_the_middle),
		cmocka_unit_test(
			test_chore_is_done_by_one_thread_at_a_time_and_never_gets_too_long),
		cmocka_unit_test(test_error_comes_behind_what_was_read),
		cmocka_unit_test(test_extent_is_guessed_from_headers),
		cmocka_unit_test(test_nothing_is_guessed_of_a_trace_that_is_cut),
	};

	return cmocka_run_group_tests(tests, make_traces, vs_scratch_leave);
}

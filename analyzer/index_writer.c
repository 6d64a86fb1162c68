#include "index_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32.h"
#include "grow.h"
#include "index_file.h"
#include "interrupt.h"
#include "snapshot.h"

struct vs_index_plan vs_index_writer_plan = {.least = 500000,
					     .interval = 65536,
					     .spread = 8,
					     .reach = 260000,
					     .weight = 2,
					     .share = 4,
					     .chain = 2};

/* Parts of an index's bytes that may be used at the start of the trace, and never by snapshots. */
#define AT_THE_START 4
#define FOR_THE_REST 8

static void give_up(struct vs_index_writer *writer, int err)
{
	writer->is_over |= err != 0;
}

/* ---- Notes: where things are ---------------------------------------------------------------- */

/* New pools come with what they adopt, and seldom. */
static int find_pool(struct vs_index_directory *directory, const struct vs_pool *pool,
		     uint32_t *number)
{
	size_t i;
	int err;

	for (i = 0; i < directory->nr_pools; i++) {
		if (directory->pools[i].id == pool->id) {
			*number = (uint32_t)i;
			return 0;
		}
	}
	err = VS_GROW(directory->pools, directory->pools_capacity, directory->nr_pools + 1);
	if (err)
		return err;
	*number = (uint32_t)directory->nr_pools;
	directory->pools[directory->nr_pools++] = *pool;
	return 0;
}

/* What the latest record has adopted. */
static int add_adoptions(struct vs_index_writer *writer)
{
	struct vs_index_directory *directory = &writer->directory;
	const struct vs_adoption *adoption = writer->adoption;
	int err = 0;

	for (; writer->nr_adopted < adoption->nr_keys && !err; writer->nr_adopted++) {
		struct vs_index_adoption new = {.record = writer->nr_records,
						.key = adoption->keys[writer->nr_adopted]};

		err = find_pool(directory, vs_adoption_get(adoption, new.key), &new.pool);
		if (!err)
			err = VS_GROW(directory->adoptions, directory->adoptions_capacity,
				      directory->nr_adoptions + 1);
		if (!err)
			directory->adoptions[directory->nr_adoptions++] = new;
	}
	return err;
}

static int add_definition(struct vs_index_writer *writer, const struct vs_reader_block *block)
{
	struct vs_index_directory *directory = &writer->directory;
	struct vs_reader_block *last = NULL;
	int err;

	if (directory->nr_stretches)
		last = &directory->stretches[directory->nr_stretches - 1].block;
	if (last && last->end == block->end)
		return 0;
	if (last && last->end == block->offset) {
		last->end = block->end;
		return 0;
	}
	err = VS_GROW(directory->stretches, directory->stretches_capacity,
		      directory->nr_stretches + 1);
	if (!err)
		directory->stretches[directory->nr_stretches++].block = *block;
	return err;
}

/* The site of the stack that was just defined, or had been before. */
static int add_stack(struct vs_index_writer *writer)
{
	struct vs_index_directory *directory = &writer->directory;
	int err = VS_GROW(directory->stack_sites, directory->stacks_capacity,
			  directory->nr_stacks + 1);

	if (!err)
		directory->stack_sites[directory->nr_stacks++] =
			vs_definitions_get_site(writer->definitions, writer->stack)->index;
	return err;
}

static int add_module_end(struct vs_index_writer *writer, uint32_t module)
{
	struct vs_index_directory *directory = &writer->directory;
	int err = VS_GROW(directory->module_ends, directory->module_ends_capacity,
			  directory->nr_module_ends + 1);

	if (!err)
		directory->module_ends[directory->nr_module_ends++] =
			(struct vs_index_module_end){.record = writer->nr_records,
						     .nr_definitions = writer->nr_definitions,
						     .module = module};
	return err;
}

static void note_record(struct vs_index_writer *writer, const struct vs_record *record,
			const struct vs_reader_block *block)
{
	writer->has_stack = record->type == VS_RECORD_STACK;
	if (writer->has_stack)
		writer->stack = record->stack.id;
	if (!vs_record_is_event(record->type))
		give_up(writer, add_definition(writer, block));
	else if (record->type == VS_RECORD_MODULE_END)
		give_up(writer, add_module_end(writer, record->module_end.id));
}

/* ---- Snapshots ------------------------------------------------------------------------------ */

/* A file without a name, so that nothing is left of it whatever happens. */
static int open_spool(struct vs_index_writer *writer)
{
	char *name;

	if (writer->spool_fd >= 0)
		return 0;
	if (asprintf(&name, "%s.XXXXXX", writer->path) < 0)
		return -VS_ERR_NO_MEMORY;
	/* A limit on the size of files is no reason to die for an index. */
	signal(SIGXFSZ, SIG_IGN);
	writer->spool_fd = vs_interrupt_make_file(name);
	if (writer->spool_fd >= 0)
		unlink(name);
	vs_interrupt_release_file();
	free(name);
	return writer->spool_fd < 0 ? -VS_ERR_IO : 0;
}

static int spool(struct vs_index_writer *writer, const struct vs_pack *stored)
{
	size_t done = 0;
	int err = open_spool(writer);

	while (!err && done < stored->size) {
		ssize_t got = pwrite(writer->spool_fd, stored->bytes + done, stored->size - done,
				     (off_t)(writer->spool_size + done));

		if (got <= 0)
			err = -VS_ERR_IO;
		else
			done += (size_t)got;
	}
	return err;
}

/*
 * Bytes that snapshots before a place of the trace may take. They are used up as the trace goes on,
 * so that its end is as near to a snapshot as its start; but much may come to life at the start.
 */
static uint64_t get_allowance(const struct vs_index_writer *writer, uint64_t offset)
{
	uint64_t most = writer->most_bytes - writer->most_bytes / FOR_THE_REST;
	uint64_t start = most / AT_THE_START;

	if (writer->most_bytes == UINT64_MAX)
		return UINT64_MAX;
	return start + (uint64_t)((double)(most - start) * (double)offset /
				  (double)(writer->trace_size + 1));
}

/* Where so many bytes are allowed; UINT64_MAX: nowhere. */
static uint64_t find_allowance(const struct vs_index_writer *writer, uint64_t bytes)
{
	uint64_t low = 0, high = writer->trace_size;

	if (get_allowance(writer, high) < bytes)
		return UINT64_MAX;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (get_allowance(writer, middle) < bytes)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_snapshot(struct vs_index_writer *writer, const struct vs_reader_block *block,
			const struct vs_pack *stored, bool is_whole)
{
	struct vs_index_directory *directory = &writer->directory;
	int err = VS_GROW(directory->snapshots, directory->snapshots_capacity,
			  directory->nr_snapshots + 1);

	if (!err)
		err = spool(writer, stored);
	if (err)
		return err;
	directory->snapshots[directory->nr_snapshots++] = (struct vs_index_snapshot){
		.block = *block,
		.nr_records = writer->nr_records,
		.nr_events = writer->nr_events,
		.nr_definitions = writer->nr_definitions,
		.now_ns = writer->replay->now_ns,
		.offset = writer->spool_size,
		.size = (uint32_t)stored->size,
		.crc = vs_crc32_add(0, stored->bytes, stored->size),
		.is_whole = is_whole,
	};
	writer->spool_size += stored->size;
	return 0;
}

/* 1: taken. 0: not now, it would take too many bytes. */
static int take_snapshot(struct vs_index_writer *writer, const struct vs_reader_block *block,
			 bool is_whole)
{
	struct vs_pack stored = {0};
	uint64_t nr_told = vs_snapshot_put(&stored, writer->replay, writer->memory, is_whole);
	uint64_t size = writer->spool_size + stored.size;
	int err = stored.error;

	if (!err && stored.size > UINT32_MAX / 2)
		err = -VS_ERR_NO_MEMORY;
	if (!err && size > get_allowance(writer, block->offset)) {
		writer->next_offset = find_allowance(writer, size);
		vs_pack_fini(&stored);
		return 0;
	}
	if (!err)
		err = add_snapshot(writer, block, &stored, is_whole);
	vs_pack_fini(&stored);
	if (err)
		return err;
	vs_snapshot_memory_keep(writer->memory);
	writer->nr_items = vs_snapshot_memory_count(writer->memory);
	writer->nr_told = is_whole ? 0 : writer->nr_told + nr_told;
	return 1;
}

/* A whole one if it would take long to read all that the next one is told from. */
static int take_next(struct vs_index_writer *writer, const struct vs_reader_block *block)
{
	const struct vs_index_plan *plan = &vs_index_writer_plan;
	bool is_first = !writer->directory.nr_snapshots;
	int ret = 0;

	vs_replay_settle(writer->replay);
	if (is_first || writer->nr_told > plan->chain * writer->nr_items + plan->interval / 4)
		ret = take_snapshot(writer, block, true);
	if (!ret && !is_first)
		ret = take_snapshot(writer, block, false);
	return ret < 0 ? ret : 0;
}

/*
 * How many events after a snapshot the next one may come. To take one costs more the more is alive,
 * and so does the way back to an instant; where there is time left for that, it goes into events.
 */
static uint64_t get_interval(const struct vs_index_writer *writer)
{
	const struct vs_index_plan *plan = &vs_index_writer_plan;
	uint64_t interval = plan->spread * writer->nr_items,
		 weight = plan->weight * writer->nr_items;
	uint64_t most = weight < plan->reach ? plan->reach - weight : 0;

	if (interval > most)
		interval = most;
	/* To look at all that is alive takes as long as to replay a tenth of as many events. */
	if (interval < writer->nr_items / 2)
		interval = writer->nr_items / 2;
	return interval < plan->interval ? plan->interval : interval;
}

void vs_index_writer_enter_block(struct vs_index_writer *writer,
				 const struct vs_reader_block *block)
{
	const struct vs_index_directory *directory = &writer->directory;
	uint64_t last = 0;

	if (writer->is_over || !writer->takes_snapshots || block->offset == writer->block)
		return;
	writer->block = block->offset;
	if (directory->nr_snapshots)
		last = directory->snapshots[directory->nr_snapshots - 1].nr_events;
	if (writer->nr_events - last >= get_interval(writer) &&
	    block->offset >= writer->next_offset)
		give_up(writer, take_next(writer, block));
}

/* ---- Every record ---------------------------------------------------------------------------- */

void vs_index_writer_enter(struct vs_index_writer *writer, const struct vs_record *record,
			   const struct vs_reader_block *block)
{
	if (writer->is_over)
		return;
	writer->nr_records++;
	if (writer->takes_notes)
		note_record(writer, record, block);
	if (vs_record_is_event(record->type))
		writer->nr_events++;
	else
		writer->nr_definitions++;
}

void vs_index_writer_leave(struct vs_index_writer *writer)
{
	if (!writer->takes_notes || writer->is_over)
		return;
	give_up(writer, add_adoptions(writer));
	if (writer->has_stack)
		give_up(writer, add_stack(writer));
}

void vs_index_writer_init(struct vs_index_writer *writer, struct vs_reader *reader,
			  const char *path)
{
	struct vs_reader_file trace = {0};

	*writer = (struct vs_index_writer){
		.reader = reader,
		.path = path,
		.spool_fd = -1,
	};
	give_up(writer, vs_reader_get_file(reader, &trace));
	give_up(writer, vs_snapshot_memory_create(&writer->memory));
	writer->trace_size = trace.size;
	writer->most_bytes =
		vs_index_writer_plan.share ? trace.size / vs_index_writer_plan.share : UINT64_MAX;
}

void vs_index_writer_fini(struct vs_index_writer *writer)
{
	vs_index_directory_fini(&writer->directory);
	vs_snapshot_memory_destroy(writer->memory);
	writer->memory = NULL;
	if (writer->spool_fd >= 0)
		close(writer->spool_fd);
	writer->spool_fd = -1;
}

void vs_index_writer_take_notes(struct vs_index_writer *writer, const struct vs_adoption *adoption,
				const struct vs_replay *replay)
{
	writer->adoption = adoption;
	writer->definitions = &replay->definitions;
	writer->takes_notes = true;
}

void vs_index_writer_take_snapshots(struct vs_index_writer *writer, struct vs_replay *replay)
{
	writer->replay = replay;
	writer->takes_snapshots = true;
	writer->directory.nr_snapshots = 0;
	writer->spool_size = writer->block = 0;
	writer->nr_items = writer->nr_told = writer->next_offset = 0;
}

void vs_index_writer_end_pass(struct vs_index_writer *writer)
{
	/* Small ones are read in no time. Those that still grow are read anew each time. */
	if (writer->nr_events <= vs_index_writer_plan.least || !vs_reader_can_seek(writer->reader))
		writer->is_over = true;
	writer->directory.nr_definitions = writer->nr_definitions;
	writer->nr_records = writer->nr_events = writer->nr_definitions = 0;
	writer->takes_notes = writer->takes_snapshots = false;
}

/* The index within its limit, or none at all. Without the last snapshots, if need be. */
static int fit(struct vs_index_writer *writer)
{
	uint64_t size;
	int err = vs_index_file_measure(writer->reader, &writer->directory, &size);

	while (!err && size > writer->most_bytes) {
		if (!writer->directory.nr_snapshots)
			return -VS_ERR_INVALID;
		writer->directory.nr_snapshots -= 1 + writer->directory.nr_snapshots / 8;
		err = vs_index_file_measure(writer->reader, &writer->directory, &size);
	}
	return err;
}

bool vs_index_writer_finish(struct vs_index_writer *writer, const struct vs_pack *totals)
{
	struct vs_index_directory *directory = &writer->directory;
	const struct vs_replay *replay = writer->replay;
	struct vs_reader_state state;
	int err;

	/* Found damaged only in the second pass: the file changes. */
	if (writer->is_over || !vs_reader_can_seek(writer->reader))
		return false;
	vs_reader_get_state(writer->reader, &state);
	directory->is_complete = state.is_complete;
	directory->nr_lost = state.nr_lost;
	directory->first_ns = replay->first_ns;
	directory->now_ns = replay->now_ns;
	directory->nr_steps = replay->nr_steps;
	directory->nr_phases = replay->nr_phases;
	vs_snapshot_put_sums(&directory->sums, replay);
	vs_pack_put_bytes(&directory->totals, totals->bytes, totals->size);
	err = directory->sums.error ? directory->sums.error : directory->totals.error;
	if (!err)
		err = fit(writer);
	if (!err)
		err = vs_index_file_write(writer->path, writer->reader, directory,
					  writer->spool_fd);
	return !err;
}

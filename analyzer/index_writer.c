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

struct vs_index_plan vs_index_writer_plan = {.interval = 500000, .share = 10};

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

/* Every second one goes: the first, the third, ... */
static void thin(struct vs_index_writer *writer)
{
	struct vs_index_directory *directory = &writer->directory;
	size_t i, kept = 0;

	writer->nr_bytes = 0;
	for (i = 1; i < directory->nr_snapshots; i += 2) {
		directory->snapshots[kept++] = directory->snapshots[i];
		writer->nr_bytes += directory->snapshots[i].stored_size;
	}
	directory->nr_snapshots = kept;
	writer->interval *= 2;
}

static int add_snapshot(struct vs_index_writer *writer, const struct vs_reader_block *block,
			const struct vs_pack *stored, size_t raw_size)
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
		.stored_size = (uint32_t)stored->size,
		.raw_size = (uint32_t)raw_size,
		.crc = vs_crc32_add(0, stored->bytes, stored->size),
	};
	writer->spool_size += stored->size;
	writer->nr_bytes += stored->size;
	while (directory->nr_snapshots && writer->nr_bytes > writer->most_bytes)
		thin(writer);
	return 0;
}

static int take_snapshot(struct vs_index_writer *writer, const struct vs_reader_block *block)
{
	struct vs_pack raw = {0}, stored = {0};
	size_t stored_size;
	int err;

	vs_snapshot_put(&raw, writer->replay, VS_SNAPSHOT_WHOLE);
	err = raw.error;
	if (!err && raw.size > UINT32_MAX / 2)
		err = -VS_ERR_NO_MEMORY;
	if (!err)
		err = vs_pack_deflate(&stored, raw.bytes, raw.size, &stored_size);
	if (!err)
		err = add_snapshot(writer, block, &stored, raw.size);
	vs_pack_fini(&raw);
	vs_pack_fini(&stored);
	return err;
}

/* A block has been entered; its first record has not been replayed yet. */
static void enter_block(struct vs_index_writer *writer, const struct vs_reader_block *block)
{
	const struct vs_index_directory *directory = &writer->directory;
	uint64_t last = 0;

	if (writer->nr_events - writer->block_event > writer->most_events)
		writer->most_events = writer->nr_events - writer->block_event;
	writer->block_event = writer->nr_events;
	writer->block = block->offset;
	if (directory->nr_snapshots)
		last = directory->snapshots[directory->nr_snapshots - 1].nr_events;
	/* The next block may be as long as the longest: it would be too far then. */
	if (writer->nr_events - last + writer->most_events >= writer->interval)
		give_up(writer, take_snapshot(writer, block));
}

/* ---- Every record ---------------------------------------------------------------------------- */

void vs_index_writer_enter(struct vs_index_writer *writer, const struct vs_record *record,
			   const struct vs_reader_block *block)
{
	if (writer->is_over)
		return;
	if (writer->takes_snapshots && block->offset != writer->block)
		enter_block(writer, block);
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
	if (writer->takes_notes && !writer->is_over)
		give_up(writer, add_adoptions(writer));
}

void vs_index_writer_init(struct vs_index_writer *writer, struct vs_reader *reader,
			  const char *path)
{
	struct vs_reader_file trace = {0};

	*writer = (struct vs_index_writer){
		.reader = reader,
		.path = path,
		.spool_fd = -1,
		.interval = vs_index_writer_plan.interval,
	};
	give_up(writer, vs_reader_get_file(reader, &trace));
	writer->most_bytes =
		vs_index_writer_plan.share ? trace.size / vs_index_writer_plan.share : UINT64_MAX;
}

void vs_index_writer_fini(struct vs_index_writer *writer)
{
	vs_index_directory_fini(&writer->directory);
	if (writer->spool_fd >= 0)
		close(writer->spool_fd);
	writer->spool_fd = -1;
}

void vs_index_writer_take_notes(struct vs_index_writer *writer, const struct vs_adoption *adoption)
{
	writer->adoption = adoption;
	writer->takes_notes = true;
}

void vs_index_writer_take_snapshots(struct vs_index_writer *writer, const struct vs_replay *replay)
{
	writer->replay = replay;
	writer->takes_snapshots = true;
	writer->directory.nr_snapshots = 0;
	writer->spool_size = writer->nr_bytes = 0;
	writer->interval = vs_index_writer_plan.interval;
	writer->block = writer->block_event = writer->most_events = 0;
}

void vs_index_writer_end_pass(struct vs_index_writer *writer)
{
	/* Small ones are read in no time. Those that still grow are read anew each time. */
	if (writer->nr_events <= vs_index_writer_plan.interval ||
	    !vs_reader_can_seek(writer->reader))
		writer->is_over = true;
	writer->directory.nr_definitions = writer->nr_definitions;
	writer->nr_records = writer->nr_events = writer->nr_definitions = 0;
	writer->takes_notes = writer->takes_snapshots = false;
}

/* The index within its limit, or none at all. */
static int fit(struct vs_index_writer *writer)
{
	uint64_t size;
	int err = vs_index_file_measure(writer->reader, &writer->directory, &size);

	while (!err && size > writer->most_bytes) {
		if (!writer->directory.nr_snapshots)
			return -VS_ERR_INVALID;
		thin(writer);
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
	vs_snapshot_put(&directory->sums, replay, VS_SNAPSHOT_SUMS);
	vs_pack_put_bytes(&directory->totals, totals->bytes, totals->size);
	err = directory->sums.error ? directory->sums.error : directory->totals.error;
	if (!err)
		err = fit(writer);
	if (!err)
		err = vs_index_file_write(writer->path, writer->reader, directory,
					  writer->spool_fd);
	return !err;
}

#include "trace_index.h"

#include <stdlib.h>
#include <unistd.h>

#include "index_file.h"
#include "snapshot.h"

struct vs_trace_index {
	char *path;
	struct vs_reader *reader;
	struct vs_index_file file;
	bool is_open;
	bool is_there; /* and has not proved wrong */
};

int vs_trace_index_open(struct vs_trace_index **index, const char *trace_path,
			struct vs_reader *reader)
{
	struct vs_trace_index *new = calloc(1, sizeof(*new));

	if (!new)
		return -VS_ERR_NO_MEMORY;
	new->reader = reader;
	new->path = vs_index_file_name(trace_path);
	if (!new->path) {
		free(new);
		return -VS_ERR_NO_MEMORY;
	}
	vs_trace_index_reload(new);
	*index = new;
	return 0;
}

void vs_trace_index_close(struct vs_trace_index *index)
{
	if (!index)
		return;
	if (index->is_open)
		vs_index_file_close(&index->file);
	free(index->path);
	free(index);
}

const struct vs_index_directory *vs_trace_index_get(const struct vs_trace_index *index)
{
	return index->is_there ? &index->file.directory : NULL;
}

uint64_t vs_trace_index_get_size(const struct vs_trace_index *index)
{
	return index->is_there ? index->file.size : 0;
}

const char *vs_trace_index_get_path(const struct vs_trace_index *index)
{
	return index->path;
}

struct vs_reader *vs_trace_index_get_reader(const struct vs_trace_index *index)
{
	return index->reader;
}

bool vs_trace_index_is_sound(const struct vs_trace_index *index)
{
	struct vs_reader_state state;

	vs_reader_get_state(index->reader, &state);
	return !state.is_damaged;
}

void vs_trace_index_reload(struct vs_trace_index *index)
{
	if (index->is_open)
		vs_index_file_close(&index->file);
	index->is_open = !vs_index_file_open(&index->file, index->path, index->reader);
	index->is_there = index->is_open;
}

void vs_trace_index_drop(struct vs_trace_index *index)
{
	if (!index->is_there)
		return;
	/* What came from it may still be in use: names. */
	index->is_there = false;
	unlink(index->path);
}

/* ---- Which snapshot ------------------------------------------------------------------------- */

static bool is_after(const struct vs_index_snapshot *snapshot, uint64_t nr_records,
		     uint64_t time_ns)
{
	return snapshot->nr_records > nr_records || snapshot->now_ns > time_ns;
}

/* Both numbers never fall from one snapshot to the next. */
static const struct vs_index_snapshot *find(const struct vs_trace_index *index, uint64_t nr_records,
					    uint64_t time_ns)
{
	const struct vs_index_directory *directory = vs_trace_index_get(index);
	size_t low = 0, high = directory ? directory->nr_snapshots : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_after(&directory->snapshots[middle], nr_records, time_ns))
			high = middle;
		else
			low = middle + 1;
	}
	return low ? &directory->snapshots[low - 1] : NULL;
}

const struct vs_index_snapshot *vs_trace_index_find_record(const struct vs_trace_index *index,
							   uint64_t nr_records)
{
	return find(index, nr_records, UINT64_MAX);
}

const struct vs_index_snapshot *vs_trace_index_find_time(const struct vs_trace_index *index,
							 uint64_t time_ns)
{
	return find(index, UINT64_MAX, time_ns);
}

/* ---- Definitions ---------------------------------------------------------------------------- */

/* The definitions that a replay has at some instant. */
struct definer {
	const struct vs_index_directory *directory;
	struct vs_definitions *definitions;
	uint64_t nr_records; /* before the instant */
	uint64_t nr_given;
	size_t nr_ended; /* of the directory's module_ends */
};

/* What a stack's addresses belong to depends on the modules that had gone before it. */
static int end_modules(struct definer *definer)
{
	const struct vs_index_directory *directory = definer->directory;
	int err = 0;

	while (definer->nr_ended < directory->nr_module_ends && !err) {
		const struct vs_index_module_end *end = &directory->module_ends[definer->nr_ended];
		struct vs_record record = {.type = VS_RECORD_MODULE_END,
					   .module_end = {end->module}};

		if (end->nr_definitions > definer->nr_given || end->record > definer->nr_records)
			break;
		err = vs_definitions_add(definer->definitions, &record);
		definer->nr_ended++;
	}
	return err;
}

/* The definitions in some blocks, up to `end`. */
static int read_stretch(struct definer *definer, struct vs_reader *reader,
			const struct vs_reader_block *block, uint64_t end)
{
	struct vs_record record;
	int got, err = vs_reader_seek(reader, block, end);

	while (!err && (got = vs_reader_next(reader, &record)) != 0) {
		if (got < 0 || vs_record_is_event(record.type))
			return got < 0 ? got : -VS_ERR_CORRUPT;
		err = end_modules(definer);
		if (!err)
			err = vs_definitions_add(definer->definitions, &record);
		definer->nr_given++;
	}
	return err;
}

/* All definitions before a place in the trace, nr of them. */
static int read_definitions(struct vs_trace_index *index, struct vs_replay *replay, uint64_t offset,
			    uint64_t nr_records, uint64_t nr)
{
	const struct vs_index_directory *directory = &index->file.directory;
	struct definer definer = {.directory = directory,
				  .definitions = &replay->definitions,
				  .nr_records = nr_records};
	size_t i;
	int err = vs_reader_rewind(index->reader);

	for (i = 0; i < directory->nr_stretches && !err; i++) {
		const struct vs_reader_block *block = &directory->stretches[i].block;

		if (block->offset >= offset)
			break;
		err = read_stretch(&definer, index->reader, block,
				   block->end < offset ? block->end : offset);
	}
	if (!err)
		err = end_modules(&definer);
	return !err && definer.nr_given != nr ? -VS_ERR_CORRUPT : err;
}

/* ---- States --------------------------------------------------------------------------------- */

/* What a snapshot and those that it is told from say. */
static int restore(const struct vs_trace_index *index, const struct vs_index_snapshot *snapshot,
		   struct vs_replay *replay)
{
	const struct vs_index_snapshot *first, *next;
	struct vs_snapshot_chain *chain = NULL;
	uint8_t *bytes;
	int err = vs_index_file_read_chain(&index->file, snapshot, &first, &bytes);

	if (err)
		return err;
	err = vs_snapshot_chain_create(&chain);
	for (next = first; next <= snapshot && !err; next++)
		err = vs_snapshot_chain_add(chain, bytes + (next->offset - first->offset),
					    next->size, next->is_whole);
	if (!err)
		err = vs_snapshot_get(replay, chain);
	vs_snapshot_chain_destroy(chain);
	free(bytes);
	return !err && replay->counters.nr_records != snapshot->nr_records ? -VS_ERR_CORRUPT : err;
}

int vs_trace_index_enter(struct vs_trace_index *index, const struct vs_index_snapshot *snapshot,
			 struct vs_replay *replay)
{
	int err = read_definitions(index, replay, snapshot->block.offset, snapshot->nr_records,
				   snapshot->nr_definitions);

	if (!err)
		err = restore(index, snapshot, replay);
	return err ? err : vs_reader_seek(index->reader, &snapshot->block, UINT64_MAX);
}

int vs_trace_index_enter_end(struct vs_trace_index *index, struct vs_replay *replay)
{
	const struct vs_index_directory *directory = &index->file.directory;
	int err =
		read_definitions(index, replay, UINT64_MAX, UINT64_MAX, directory->nr_definitions);

	return err ? err
		   : vs_snapshot_get_sums(replay, directory->sums.bytes, directory->sums.size);
}

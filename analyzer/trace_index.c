#include "trace_index.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "aside.h"
#include "definition_book.h"
#include "index_file.h"
#include "large_heap.h"
#include "snapshot.h"

/* What snapshots say, read before it is put into a replay. */
struct reading {
	const struct vs_index_file *file;
	const struct vs_index_snapshot *snapshot; /* the last of them; NULL: nothing is read */
	struct vs_snapshot_chain *chain;
	uint8_t *bytes; /* which it points into */
	int err;
	sem_t *has_begun; /* posted once; NULL: nobody waits for it */
	size_t nr_items;  /* then: what was alive in the first of them */
};

struct vs_trace_index {
	char *path;
	struct vs_reader *reader;
	struct vs_index_file file;
	struct vs_definition_book *book; /* NULL: nobody has needed it yet */
	bool is_open;
	bool is_there;           /* and has not proved wrong */
	struct reading expected; /* the thread's, as long as it runs */
	sem_t has_begun;
	bool has_thread;
	pthread_t thread;
};

/* ---- What snapshots say --------------------------------------------------------------------- */

static void begin_chain(struct reading *reading, const struct vs_index_snapshot **first)
{
	reading->err =
		vs_index_file_read_chain(reading->file, reading->snapshot, first, &reading->bytes);
	if (!reading->err)
		reading->err = vs_snapshot_chain_create(&reading->chain);
	if (!reading->err)
		reading->err = vs_snapshot_chain_add(reading->chain, reading->bytes, (*first)->size,
						     (*first)->is_whole);
	if (!reading->err)
		reading->nr_items = vs_snapshot_chain_count(reading->chain);
	if (reading->has_begun)
		sem_post(reading->has_begun);
}

static void read_chain(struct reading *reading)
{
	const struct vs_index_snapshot *first = NULL, *next;

	begin_chain(reading, &first);
	if (reading->err)
		return;
	for (next = first + 1; next <= reading->snapshot && !reading->err; next++)
		reading->err = vs_snapshot_chain_add(
			reading->chain, reading->bytes + (next->offset - first->offset), next->size,
			next->is_whole);
}

static void *run(void *context)
{
	read_chain(context);
	return NULL;
}

static void forget(struct reading *reading)
{
	vs_snapshot_chain_destroy(reading->chain);
	free(reading->bytes);
	*reading = (struct reading){0};
}

static void wait_for_thread(struct vs_trace_index *index)
{
	if (index->has_thread)
		pthread_join(index->thread, NULL);
	index->has_thread = false;
}

/* Read already, or now. To be forgotten. */
static struct reading take_reading(struct vs_trace_index *index,
				   const struct vs_index_snapshot *snapshot)
{
	struct reading reading = {.file = &index->file, .snapshot = snapshot};

	wait_for_thread(index);
	if (index->expected.snapshot == snapshot) {
		reading = index->expected;
		index->expected = (struct reading){0};
	} else {
		read_chain(&reading);
	}
	return reading;
}

/* ---- Its file ------------------------------------------------------------------------------- */

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
	wait_for_thread(index);
	forget(&index->expected);
	vs_definition_book_destroy(index->book);
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
	wait_for_thread(index);
	forget(&index->expected);
	vs_definition_book_destroy(index->book);
	index->book = NULL;
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

/* Some definitions before a place in the trace, nr of them. */
static int give_definitions(struct vs_trace_index *index, struct vs_replay *replay,
			    uint64_t nr_records, uint64_t nr)
{
	const struct vs_index_directory *directory = &index->file.directory;
	int err = 0;

	if (!index->book) {
		vs_large_heap_prepare();
		err = vs_definition_book_create(&index->book, index->reader, directory);
	}
	return err ? err
		   : vs_definition_book_give(index->book, directory, nr_records, nr,
					     &replay->definitions);
}

/* ---- States --------------------------------------------------------------------------------- */

void vs_trace_index_expect(struct vs_trace_index *index, uint64_t time_ns)
{
	const struct vs_index_snapshot *snapshot = vs_trace_index_find_time(index, time_ns);

	wait_for_thread(index);
	forget(&index->expected);
	if (!snapshot)
		return;
	vs_large_heap_prepare();
	sem_init(&index->has_begun, 0, 0); /* nobody waits, and none is left that could post */
	index->expected = (struct reading){
		.file = &index->file, .snapshot = snapshot, .has_begun = &index->has_begun};
	index->has_thread = vs_aside_start(&index->thread, run, &index->expected);
	if (!index->has_thread)
		forget(&index->expected);
}

/* While the others are read, if they are: to make items takes a good part of the time. */
static int prepare(struct vs_trace_index *index, const struct vs_index_snapshot *snapshot,
		   struct vs_replay *replay)
{
	if (!index->has_thread || index->expected.snapshot != snapshot)
		return 0;
	while (sem_wait(&index->has_begun))
		; /* a signal that has a handler */
	return vs_snapshot_prepare(replay, index->expected.nr_items);
}

/* What a snapshot and those that it is told from say. */
int vs_trace_index_restore(struct vs_trace_index *index, const struct vs_index_snapshot *snapshot,
			   struct vs_replay *replay)
{
	int err = prepare(index, snapshot, replay);
	struct reading reading = take_reading(index, snapshot);

	if (!err)
		err = reading.err;
	if (!err)
		err = vs_snapshot_get(replay, reading.chain);
	forget(&reading);
	return !err && replay->counters.nr_records != snapshot->nr_records ? -VS_ERR_CORRUPT : err;
}

int vs_trace_index_approach(struct vs_trace_index *index, const struct vs_index_snapshot *snapshot,
			    struct vs_replay *replay)
{
	int err = give_definitions(index, replay, snapshot->nr_records, snapshot->nr_definitions);

	if (!err)
		err = vs_reader_rewind(index->reader);
	return err ? err : vs_reader_seek(index->reader, &snapshot->block, UINT64_MAX);
}

int vs_trace_index_enter(struct vs_trace_index *index, const struct vs_index_snapshot *snapshot,
			 struct vs_replay *replay)
{
	int err = vs_trace_index_approach(index, snapshot, replay);

	return err ? err : vs_trace_index_restore(index, snapshot, replay);
}

int vs_trace_index_enter_end(struct vs_trace_index *index, struct vs_replay *replay)
{
	const struct vs_index_directory *directory = &index->file.directory;
	int err = give_definitions(index, replay, UINT64_MAX, directory->nr_definitions);

	return err ? err
		   : vs_snapshot_get_sums(replay, directory->sums.bytes, directory->sums.size);
}

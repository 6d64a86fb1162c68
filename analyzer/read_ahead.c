#include "read_ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "aside.h"
#include "codec.h"

/* Enough to read on while a snapshot is taken, which takes as long as to replay a few dozen. */
#define NR_BATCHES 32

/* At first it is fewer, and one more for each that came back: who wants to know of an instant needs
 * few, and what was read beyond that was read for nothing. */
#define NR_AT_FIRST 8

/* The most that one record can point to: its text, or the frames of a stack. */
#define TEXT_MAX (VS_CODEC_MAX + VS_STACK_MAX * sizeof(uint64_t))

/*
 * nr_filled counts batches that the reading thread has handed over, nr_released those that came
 * back: 0 <= nr_filled - nr_released <= NR_BATCHES. Batch n is in batches[n % NR_BATCHES].
 */
struct vs_read_ahead {
	const struct vs_source *source;
	struct vs_batch *batches; /* NR_BATCHES */
	struct vs_record *kept;   /* of the next block: they did not belong to the last batch */
	struct vs_reader_block kept_block;
	uint32_t nr_kept;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t mutex; /* for what follows */
	pthread_cond_t changed;
	uint64_t nr_filled;
	uint64_t nr_released;
	bool is_over;                 /* the last batch has been handed over */
	bool is_stopped;              /* no more are wanted */
	const struct vs_chore *chore; /* or NULL */
	pthread_mutex_t chore_mutex;  /* who is at it has this one, and not the other */
};

/* ---- A batch: by whoever reads -------------------------------------------------------------- */

static const void *keep_bytes(struct vs_batch *batch, const void *bytes, size_t size)
{
	uint8_t *kept = batch->text + batch->text_size;

	if (!size)
		return bytes;
	memcpy(kept, bytes, size);
	batch->text_size += (size + 7) & ~(size_t)7;
	return kept;
}

/* What a record points to is its source's until the next one is read: record_fields.def knows. */
static void keep(struct vs_batch *batch, struct vs_record *record)
{
	switch (record->type) {
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELDS_END         break;
#define VS_FIELD(how, member) KEEP_##how(record->member)
#define KEEP_text(text)       (text).bytes = keep_bytes(batch, (text).bytes, (text).size);
#define KEEP_short_text(text) KEEP_text(text)
#define KEEP_frames(stack) \
	(stack).frames = keep_bytes(batch, (stack).frames, (stack).nr_frames * sizeof(uint64_t));
#define KEEP_u32(member)
#define KEEP_u64(member)
#define KEEP_device(member)
#define KEEP_flag(member)
#define KEEP_uuid(member)
#define KEEP_build_id(member)
#define KEEP_owner(member)
#define KEEP_kind(member)
#define KEEP_change(member)
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELDS_END
#undef VS_FIELD
	default:
		break;
	}
}

/* Those of another block begin the next batch. */
static bool belongs(struct vs_read_ahead *ahead, struct vs_batch *batch)
{
	struct vs_reader_block block;

	if (!ahead->source->get_block)
		return true;
	ahead->source->get_block(ahead->source->context, &block);
	if (!batch->nr)
		batch->block = block;
	if (block.offset == batch->block.offset)
		return true;
	ahead->kept_block = block;
	return false;
}

/* Only definitions point to anything, and they come one by one. */
static void take(struct vs_batch *batch, uint32_t nr)
{
	if (!vs_record_is_event(batch->records[batch->nr].type))
		keep(batch, &batch->records[batch->nr]);
	batch->nr += nr;
}

/* The first records of a batch may be there already. */
static void begin_batch(struct vs_read_ahead *ahead, struct vs_batch *batch)
{
	batch->nr = 0;
	batch->text_size = 0;
	batch->status = 1;
	batch->block = (struct vs_reader_block){0};
	if (!ahead->nr_kept)
		return;
	memcpy(batch->records, ahead->kept, ahead->nr_kept * sizeof(batch->records[0]));
	take(batch, ahead->nr_kept); /* nothing was read since */
	batch->block = ahead->kept_block;
	ahead->nr_kept = 0;
}

/* Events of one block, or one record. */
static int read_some(const struct vs_source *source, struct vs_record *records, uint32_t most)
{
	if (source->next_some)
		return source->next_some(source->context, records, most);
	return source->next(source->context, records);
}

static void fill(struct vs_read_ahead *ahead, struct vs_batch *batch)
{
	begin_batch(ahead, batch);
	while (batch->nr < VS_BATCH_MAX && sizeof(batch->text) - batch->text_size >= TEXT_MAX) {
		struct vs_record *records = &batch->records[batch->nr];
		uint32_t nr;

		batch->status = read_some(ahead->source, records, VS_BATCH_MAX - batch->nr);
		if (batch->status <= 0)
			return;
		nr = (uint32_t)batch->status;
		if (!belongs(ahead, batch)) {
			memcpy(ahead->kept, records, nr * sizeof(*records));
			ahead->nr_kept = nr;
			return;
		}
		take(batch, nr);
	}
}

/* ---- Both threads --------------------------------------------------------------------------- */

static struct vs_batch *get_batch(const struct vs_read_ahead *ahead, uint64_t number)
{
	return &ahead->batches[number % NR_BATCHES];
}

/* A little of the chore, without the mutex meanwhile. False: there is none, or the other thread is
 * at it. */
static bool work(struct vs_read_ahead *ahead)
{
	bool has_worked;

	if (!ahead->chore || pthread_mutex_trylock(&ahead->chore_mutex))
		return false;
	pthread_mutex_unlock(&ahead->mutex);
	has_worked = ahead->chore->work(ahead->chore->context);
	pthread_mutex_unlock(&ahead->chore_mutex);
	pthread_mutex_lock(&ahead->mutex);
	return has_worked;
}

/*
 * Waits for the other thread, or does something useful meanwhile; with the mutex, which is given up
 * for both: the caller looks again then. *is_idle: there was nothing to do; false at first.
 */
static void wait_for_change(struct vs_read_ahead *ahead, bool *is_idle)
{
	if (*is_idle || !ahead->chore) {
		pthread_cond_wait(&ahead->changed, &ahead->mutex);
		*is_idle = false;
	} else {
		*is_idle = !work(ahead);
	}
}

/* By the replaying thread, which is the one that sets it. */
static void work_if_urgent(struct vs_read_ahead *ahead)
{
	const struct vs_chore *chore = ahead->chore;

	if (!chore || !chore->is_urgent(chore->context))
		return;
	pthread_mutex_lock(&ahead->chore_mutex);
	while (chore->is_urgent(chore->context) && chore->work(chore->context))
		;
	pthread_mutex_unlock(&ahead->chore_mutex);
}

/* So many may be full. With the mutex. */
static uint64_t get_most(const struct vs_read_ahead *ahead)
{
	uint64_t most = NR_AT_FIRST + ahead->nr_released;

	return most < NR_BATCHES ? most : NR_BATCHES;
}

/*
 * When as many are full the reading thread sleeps, until half of them have come back: to sleep and
 * to be woken for each takes as long as to read a good part of it. With the mutex.
 */
static bool is_half_back(const struct vs_read_ahead *ahead)
{
	return ahead->nr_filled - ahead->nr_released <= get_most(ahead) / 2;
}

/* Until there is room; with the mutex. */
static void wait_for_room(struct vs_read_ahead *ahead)
{
	bool is_idle = false;

	if (ahead->nr_filled - ahead->nr_released < get_most(ahead))
		return;
	while (!ahead->is_stopped && !is_half_back(ahead))
		wait_for_change(ahead, &is_idle);
}

/* The next one; false when there will be none. */
static bool read_batch(struct vs_read_ahead *ahead)
{
	struct vs_batch *batch;
	bool is_wanted;

	pthread_mutex_lock(&ahead->mutex);
	wait_for_room(ahead);
	is_wanted = !ahead->is_stopped;
	batch = get_batch(ahead, ahead->nr_filled);
	pthread_mutex_unlock(&ahead->mutex);
	if (!is_wanted)
		return false;
	fill(ahead, batch);
	pthread_mutex_lock(&ahead->mutex);
	ahead->nr_filled++;
	ahead->is_over = batch->status <= 0;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	return batch->status > 0;
}

static void *run(void *context)
{
	while (read_batch(context))
		;
	return NULL;
}

/*
 * Batches of the last time: a command often reads twice, and memory that was not touched before is
 * dearer than what is read into it. Whoever wants them takes them.
 */
static struct vs_batch *_Atomic spare_batches;

int vs_read_ahead_start(struct vs_read_ahead **out, const struct vs_source *source)
{
	struct vs_read_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return -VS_ERR_NO_MEMORY;
	ahead->batches = atomic_exchange(&spare_batches, NULL);
	if (!ahead->batches)
		ahead->batches = malloc(NR_BATCHES * sizeof(*ahead->batches));
	ahead->kept = malloc(VS_BATCH_MAX * sizeof(*ahead->kept));
	if (!ahead->batches || !ahead->kept) {
		free(ahead->kept);
		free(ahead->batches);
		free(ahead);
		return -VS_ERR_NO_MEMORY;
	}
	ahead->source = source;
	pthread_mutex_init(&ahead->mutex, NULL);
	pthread_mutex_init(&ahead->chore_mutex, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	ahead->has_thread = source->get_block && vs_aside_start(&ahead->thread, run, ahead);
	*out = ahead;
	return 0;
}

const struct vs_batch *vs_read_ahead_get(struct vs_read_ahead *ahead, uint32_t number)
{
	const struct vs_batch *batch;
	bool is_idle = false;

	/* At most two are ever asked for, so there is room for the one that is read here. */
	while (!ahead->has_thread && !ahead->is_over &&
	       ahead->nr_filled - ahead->nr_released <= number)
		read_batch(ahead);
	pthread_mutex_lock(&ahead->mutex);
	while (!ahead->is_over && ahead->nr_filled - ahead->nr_released <= number)
		wait_for_change(ahead, &is_idle);
	batch = ahead->nr_filled - ahead->nr_released > number
			? get_batch(ahead, ahead->nr_released + number)
			: NULL;
	pthread_mutex_unlock(&ahead->mutex);
	return batch;
}

void vs_read_ahead_release(struct vs_read_ahead *ahead)
{
	pthread_mutex_lock(&ahead->mutex);
	ahead->nr_released++;
	if (is_half_back(ahead))
		pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	work_if_urgent(ahead);
}

void vs_read_ahead_give_chore(struct vs_read_ahead *ahead, const struct vs_chore *chore)
{
	pthread_mutex_lock(&ahead->mutex);
	ahead->chore = chore;
	pthread_mutex_unlock(&ahead->mutex);
}

void vs_read_ahead_stop(struct vs_read_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->mutex);
	ahead->is_stopped = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	if (ahead->has_thread)
		pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->chore_mutex);
	pthread_mutex_destroy(&ahead->mutex);
	free(ahead->kept);
	free(atomic_exchange(&spare_batches, ahead->batches));
	free(ahead);
}

#include "pair_maker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cmocka_all.h"
#include "info.h"
#include "live_record.h"

#define LIST_SIZE_MAX    (64u << 20)
#define LIST_RECORDS_MAX (1u << 20)

#define NS_PER_RECORD    1000 /* what traces keep times in: they come back exactly */
#define TICKS_PER_RECORD 3000
#define FIRST_TICKS      5000

static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};

const enum vs_record_type vs_pair_maker_types[] = {
#define VS_RECORD(number, NAME, name) VS_RECORD_##NAME,
#include "record.def"
#undef VS_RECORD
};
const size_t vs_pair_maker_nr_types = sizeof(vs_pair_maker_types) / sizeof(vs_pair_maker_types[0]);

/* ---- Records --------------------------------------------------------------------------------- */

/* splitmix64 */
uint64_t vs_pair_maker_draw(struct vs_pair_maker_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

struct filler {
	struct vs_pair_maker_random *random;
	struct vs_pair_maker_storage *storage;
};

/* Small, large, any length between, and the two ends. */
static uint64_t draw_number(struct filler *filler)
{
	uint64_t value = vs_pair_maker_draw(filler->random);

	switch (vs_pair_maker_draw(filler->random) % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	default:
		return value >> vs_pair_maker_draw(filler->random) % 64;
	}
}

static void fill_u64(struct filler *filler, uint64_t *value)
{
	*value = draw_number(filler);
}

static void fill_u32(struct filler *filler, uint32_t *value)
{
	*value = (uint32_t)draw_number(filler);
}

static void fill_device(struct filler *filler, uint32_t *value)
{
	fill_u32(filler, value);
}

static void fill_flag(struct filler *filler, bool *value)
{
	*value = vs_pair_maker_draw(filler->random) & 1;
}

static void fill_kind(struct filler *filler, enum vs_memory_kind *value)
{
	*value = (enum vs_memory_kind)(vs_pair_maker_draw(filler->random) % VS_NR_MEMORY_KINDS);
}

static void fill_owner(struct filler *filler, enum vs_pool_owner *value)
{
	*value = (enum vs_pool_owner)(vs_pair_maker_draw(filler->random) % 3);
}

static void fill_change(struct filler *filler, enum vs_context_change *value)
{
	*value = (enum vs_context_change)(vs_pair_maker_draw(filler->random) % 3);
}

/* Mostly short, now and then as long as it may be. */
static uint32_t draw_length(struct filler *filler, uint32_t max)
{
	uint64_t value = vs_pair_maker_draw(filler->random);

	return value % 32 == 0 ? max : (uint32_t)(value >> 8) % 40;
}

static void fill_text(struct filler *filler, struct vs_text *text)
{
	text->bytes = filler->storage->text;
	text->size = draw_length(filler, VS_CODEC_TEXT_MAX);
	for (uint32_t i = 0; i < text->size; i++)
		filler->storage->text[i] = (char)vs_pair_maker_draw(filler->random);
}

/* May share its bytes with the text before it. */
static void fill_short_text(struct filler *filler, struct vs_text *text)
{
	text->bytes = filler->storage->text;
	text->size = draw_length(filler, VS_CODEC_SHORT_TEXT_MAX);
}

static void fill_uuid(struct filler *filler, uint8_t (*uuid)[16])
{
	for (uint32_t i = 0; i < sizeof(*uuid); i++)
		(*uuid)[i] = (uint8_t)vs_pair_maker_draw(filler->random);
}

static void fill_build_id(struct filler *filler, struct vs_module *module)
{
	module->build_id_size =
		(uint32_t)(vs_pair_maker_draw(filler->random) % (VS_BUILD_ID_MAX + 1));
	for (uint32_t i = 0; i < module->build_id_size; i++)
		module->build_id[i] = (uint8_t)vs_pair_maker_draw(filler->random);
}

static void fill_frames(struct filler *filler, struct vs_stack *stack)
{
	fill_flag(filler, &stack->is_cut);
	fill_flag(filler, &stack->is_deep);
	stack->frames = filler->storage->frames;
	stack->nr_frames = draw_length(filler, VS_STACK_MAX);
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		filler->storage->frames[i] = draw_number(filler);
}

void vs_pair_maker_fill(struct vs_record *record, enum vs_record_type type,
			struct vs_pair_maker_random *random, struct vs_pair_maker_storage *storage)
{
	struct filler filler = {.random = random, .storage = storage};

	memset(record, 0, sizeof(*record));
	memset(storage->text, 0, VS_CODEC_SHORT_TEXT_MAX);
	record->type = type;
	if (vs_record_is_event(type)) {
		record->time_ns = draw_number(&filler);
		record->thread = (uint32_t)draw_number(&filler);
	}
	switch (type) {
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) fill_##how(&filler, &record->member);
#define VS_FIELDS_END         break;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
	}
}

/* ---- Files ----------------------------------------------------------------------------------- */

uint8_t *vs_pair_maker_load(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	uint8_t *bytes;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	*size = fread(bytes, 1, (size_t)st.st_size, file);
	assert_int_equal(*size, st.st_size);
	fclose(file);
	return bytes;
}

void vs_pair_maker_save(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

int vs_pair_maker_make_fd(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

/* ---- The log --------------------------------------------------------------------------------- */

struct vs_live_chunk *vs_pair_maker_get_chunk(const struct vs_pair_maker *maker, uint32_t index)
{
	char *chunks = (char *)maker->live + maker->live->chunks_offset;

	return (struct vs_live_chunk *)(void *)(chunks + (size_t)index * maker->live->chunk_size);
}

struct vs_live_slot *vs_pair_maker_get_slot(const struct vs_pair_maker *maker, uint32_t ring)
{
	char *slots = (char *)maker->live + maker->live->slots_offset;

	return (struct vs_live_slot *)(void *)(slots + (size_t)(ring - 1) * VS_LIVE_SLOT_SIZE);
}

static void make_log(struct vs_pair_maker *maker, uint32_t nr_chunks, uint32_t chunk_size)
{
	int fd = open(maker->live_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct vs_live_header *header;

	assert_true(fd >= 0);
	maker->live_size = 2 * VS_LIVE_HEADER_SIZE + (size_t)nr_chunks * chunk_size;
	assert_int_equal(posix_fallocate(fd, 0, (off_t)maker->live_size), 0);
	header = mmap(NULL, maker->live_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(header != MAP_FAILED);
	close(fd);
	header->version = VS_LIVE_VERSION;
	for (uint32_t i = 0; i < VS_LIVE_ID_SIZE; i++)
		header->identity[i] = (uint8_t)(i * 0x11);
	header->slots_offset = VS_LIVE_HEADER_SIZE;
	header->nr_slots = VS_PAIR_MAKER_NR_RINGS;
	header->chunks_offset = 2 * VS_LIVE_HEADER_SIZE;
	header->chunk_size = chunk_size;
	header->nr_chunks = nr_chunks;
	header->anchors[0] = (struct vs_live_anchor){.ticks = FIRST_TICKS};
	header->anchors[2] = (struct vs_live_anchor){
		.ticks = FIRST_TICKS + 1000000ull * TICKS_PER_RECORD,
		.ns = 1000000ull * NS_PER_RECORD,
	};
	header->newest = 2;
	snprintf(header->trace_path, VS_LIVE_PATH_MAX, "%s", maker->path);
	vs_live_seal(header);
	maker->live = header;
}

/* A free chunk for a ring, or false. */
static bool take_chunk(struct vs_pair_maker *maker, uint32_t ring, uint32_t number, uint32_t *index)
{
	for (uint32_t i = 0; i < maker->live->nr_chunks; i++) {
		struct vs_live_chunk *chunk = vs_pair_maker_get_chunk(maker, i);

		if (atomic_load(&chunk->ring))
			continue;
		chunk->number = number;
		chunk->first = maker->rings[ring].sequence;
		atomic_store(&chunk->next, 0);
		atomic_store(&chunk->end, VS_LIVE_CHUNK_HEAD);
		atomic_store(&chunk->ring, ring);
		*index = i;
		return true;
	}
	atomic_fetch_add(&maker->live->nr_lost, 1);
	return false;
}

static bool open_ring(struct vs_pair_maker *maker, uint32_t number)
{
	struct vs_pair_maker_ring *ring = &maker->rings[number];
	struct vs_live_slot *slot = vs_pair_maker_get_slot(maker, number);

	assert_true(number > 0 && number <= VS_PAIR_MAKER_NR_RINGS);
	if (ring->is_open)
		return true;
	if (!take_chunk(maker, number, 0, &ring->chunk))
		return false;
	atomic_store(&slot->ring, number);
	atomic_store(&slot->state, VS_LIVE_SLOT_OWNED);
	ring->oldest = ring->chunk;
	ring->drain_chunk = ring->chunk;
	ring->flushed_chunk = ring->chunk;
	ring->drain_offset = VS_LIVE_CHUNK_HEAD;
	ring->is_open = true;
	return true;
}

/* Where a record of that size goes, in another chunk if need be; NULL if there is none. */
static char *find_room(struct vs_pair_maker *maker, uint32_t number, uint32_t size)
{
	struct vs_pair_maker_ring *ring = &maker->rings[number];
	struct vs_live_chunk *chunk;
	uint32_t next;

	if (!open_ring(maker, number))
		return NULL;
	chunk = vs_pair_maker_get_chunk(maker, ring->chunk);
	if (atomic_load(&chunk->end) + size > maker->live->chunk_size) {
		if (!take_chunk(maker, number, chunk->number + 1, &next))
			return NULL;
		atomic_store(&chunk->next, next + 1);
		ring->chunk = next;
		chunk = vs_pair_maker_get_chunk(maker, next);
	}
	return (char *)chunk + atomic_load(&chunk->end);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void init_list(struct vs_pair_maker_list *list)
{
	/* Mostly never touched. */
	list->bytes = malloc(LIST_SIZE_MAX);
	list->records = malloc(LIST_RECORDS_MAX * sizeof(list->records[0]));
	assert_non_null(list->bytes);
	assert_non_null(list->records);
}

static void fini_list(struct vs_pair_maker_list *list)
{
	free(list->bytes);
	free(list->records);
}

void vs_pair_maker_init_sized(struct vs_pair_maker *maker, uint32_t nr_chunks, uint32_t chunk_size,
			      bool with_zlib)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	memset(maker, 0, sizeof(*maker));
	if (!tmp || strlen(tmp) > 32)
		tmp = "/tmp";
	snprintf(maker->folder, sizeof(maker->folder), "%s/vs-trace-XXXXXX", tmp);
	assert_non_null(mkdtemp(maker->folder));
	snprintf(maker->path, sizeof(maker->path), "%s/t.vscope", maker->folder);
	snprintf(maker->live_path, sizeof(maker->live_path), "%s/t.vscope.live", maker->folder);
	init_list(&maker->events);
	init_list(&maker->definitions);
	maker->order = malloc(2 * LIST_RECORDS_MAX);
	assert_non_null(maker->order);
	fd = open(maker->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(vs_writer_create(&maker->writer, fd, with_zlib ? &zlib : NULL), 0);
	assert_int_equal(
		vs_writer_add_info(maker->writer, VS_INFO_IDENTITY, VS_PAIR_MAKER_IDENTITY), 0);
	assert_int_equal(vs_writer_add_info(maker->writer, VS_INFO_HOST, "somewhere"), 0);
	assert_int_equal(vs_writer_flush(maker->writer), 0);
	if (nr_chunks)
		make_log(maker, nr_chunks, chunk_size);
}

void vs_pair_maker_init(struct vs_pair_maker *maker, uint32_t nr_chunks, bool with_zlib)
{
	vs_pair_maker_init_sized(maker, nr_chunks, VS_PAIR_MAKER_CHUNK_SIZE, with_zlib);
}

void vs_pair_maker_drop(struct vs_pair_maker *maker)
{
	if (maker->writer)
		vs_writer_abandon(maker->writer);
	if (maker->live)
		munmap(maker->live, maker->live_size);
	maker->writer = NULL;
	maker->live = NULL;
}

void vs_pair_maker_fini(struct vs_pair_maker *maker)
{
	vs_pair_maker_drop(maker);
	unlink(maker->path);
	unlink(maker->live_path);
	assert_int_equal(rmdir(maker->folder), 0); /* nobody left anything behind */
	fini_list(&maker->events);
	fini_list(&maker->definitions);
	free(maker->order);
}

void vs_pair_maker_close(struct vs_pair_maker *maker, uint64_t nr_lost)
{
	assert_int_equal(vs_writer_close(maker->writer, nr_lost), 0);
	maker->writer = NULL;
	if (maker->live)
		assert_int_equal(unlink(maker->live_path), 0);
	vs_pair_maker_drop(maker);
}

/* ---- Recording ------------------------------------------------------------------------------- */

uint32_t vs_pair_maker_get_nr(const struct vs_pair_maker *maker)
{
	return maker->events.nr + maker->definitions.nr;
}

static void expect_later(struct vs_pair_maker *maker, const struct vs_record *record)
{
	struct vs_pair_maker_list *list =
		vs_record_is_event(record->type) ? &maker->events : &maker->definitions;

	assert_true(list->nr < LIST_RECORDS_MAX && list->size + VS_CODEC_MAX <= LIST_SIZE_MAX);
	list->size += vs_codec_put_record(list->bytes + list->size, record);
	list->records[list->nr++] = (struct vs_pair_maker_expected){
		.end = list->size,
		.nr_definitions = maker->definitions.nr,
	};
}

/* The record as it will come back. */
static struct vs_record stamp(struct vs_pair_maker *maker, uint32_t ring,
			      const struct vs_record *record)
{
	struct vs_record stamped = *record;

	maker->time_ns += NS_PER_RECORD;
	if (vs_record_is_event(record->type)) {
		stamped.time_ns = maker->time_ns;
		stamped.thread = ring;
	}
	return stamped;
}

static uint32_t put_live_record(char *out, const struct vs_record *record, const uint8_t *row,
				uint32_t row_size, uint64_t ticks)
{
	bool is_event = vs_record_is_event(record->type);
	uint32_t body_size = is_event ? vs_live_record_get_body_size(record->type) : row_size;
	struct vs_live_record head = {
		.type = (uint8_t)record->type,
		.flags = is_event ? 0 : VS_LIVE_ENCODED,
		.size = (uint16_t)(VS_LIVE_RECORD_HEAD + (body_size + 7) / 8 * 8),
		.ticks = ticks,
	};

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), is_event ? (const void *)&record->alloc : row, body_size);
	return head.size;
}

bool vs_pair_maker_push(struct vs_pair_maker *maker, uint32_t ring, const struct vs_record *record)
{
	struct vs_record stamped = stamp(maker, ring, record);
	uint64_t ticks = FIRST_TICKS + maker->time_ns / NS_PER_RECORD * TICKS_PER_RECORD;
	uint8_t row[VS_CODEC_MAX];
	uint32_t row_size = (uint32_t)vs_codec_put_record(row, &stamped);
	uint32_t room = VS_LIVE_RECORD_HEAD + VS_CODEC_MAX; /* any record fits */
	struct vs_live_chunk *chunk;
	char *out;

	if (vs_record_is_event(record->type))
		room = VS_LIVE_RECORD_HEAD + 64;
	else if (row_size < VS_CODEC_MAX - 8)
		room = VS_LIVE_RECORD_HEAD + row_size + 8;
	out = find_room(maker, ring, room);
	if (!out)
		return false;
	chunk = vs_pair_maker_get_chunk(maker, maker->rings[ring].chunk);
	atomic_fetch_add(&chunk->end, put_live_record(out, &stamped, row, row_size, ticks));
	maker->rings[ring].sequence++;
	maker->order[maker->nr_pushed++] = (uint8_t)ring;
	expect_later(maker, &stamped);
	return true;
}

static void draw_record(struct vs_pair_maker *maker, struct vs_record *record,
			struct vs_pair_maker_storage *storage, bool is_event)
{
	do {
		size_t type = vs_pair_maker_draw(&maker->random) % vs_pair_maker_nr_types;

		vs_pair_maker_fill(record, vs_pair_maker_types[type], &maker->random, storage);
	} while (is_event && !vs_record_is_event(record->type));
	/* Sums of lost events are the business of tests about lost events. */
	if (record->type == VS_RECORD_LOST)
		record->lost.nr_events = 0;
}

static uint32_t draw_ring(struct vs_pair_maker *maker)
{
	return 1 + (uint32_t)(vs_pair_maker_draw(&maker->random) % VS_PAIR_MAKER_NR_RINGS);
}

bool vs_pair_maker_push_random(struct vs_pair_maker *maker)
{
	struct vs_pair_maker_storage storage;
	struct vs_record record;

	draw_record(maker, &record, &storage, false);
	return vs_pair_maker_push(maker, draw_ring(maker), &record);
}

bool vs_pair_maker_push_event(struct vs_pair_maker *maker)
{
	struct vs_pair_maker_storage storage;
	struct vs_record record;

	draw_record(maker, &record, &storage, true);
	return vs_pair_maker_push(maker, draw_ring(maker), &record);
}

void vs_pair_maker_add(struct vs_pair_maker *maker, const struct vs_record *record)
{
	uint32_t ring = draw_ring(maker);
	struct vs_record stamped = stamp(maker, ring, record);

	if (vs_writer_is_full(maker->writer))
		vs_pair_maker_flush(maker);
	vs_writer_add(maker->writer, &stamped, ring, maker->rings[ring].sequence++);
	expect_later(maker, &stamped);
}

void vs_pair_maker_add_random(struct vs_pair_maker *maker)
{
	struct vs_pair_maker_storage storage;
	struct vs_record record;

	draw_record(maker, &record, &storage, false);
	vs_pair_maker_add(maker, &record);
}

void vs_pair_maker_begin(struct vs_pair_maker *maker, uint32_t ring)
{
	char *out = find_room(maker, ring, 128);

	assert_non_null(out);
	atomic_fetch_add(&vs_pair_maker_get_slot(maker, ring)->mark, 1);
	memset(out, 0x5a, 100); /* half of something */
}

/* ---- Draining -------------------------------------------------------------------------------- */

static void drain_record(struct vs_pair_maker *maker, uint32_t number)
{
	struct vs_pair_maker_ring *ring = &maker->rings[number];
	struct vs_live_chunk *chunk = vs_pair_maker_get_chunk(maker, ring->drain_chunk);
	uint64_t frames[VS_STACK_MAX];
	struct vs_live_record head;
	struct vs_record record;
	const uint8_t *bytes;

	if (ring->drain_offset == atomic_load(&chunk->end)) {
		ring->drain_chunk = atomic_load(&chunk->next) - 1;
		ring->drain_offset = VS_LIVE_CHUNK_HEAD;
		chunk = vs_pair_maker_get_chunk(maker, ring->drain_chunk);
	}
	bytes = (const uint8_t *)chunk + ring->drain_offset;
	memcpy(&head, bytes, sizeof(head));
	assert_int_equal(vs_live_record_get(bytes, head.size, number, &record, frames), 1);
	if (vs_record_is_event(record.type))
		record.time_ns = vs_live_time_ns(&maker->live->anchors[0], &maker->live->anchors[2],
						 head.ticks);
	vs_writer_add(maker->writer, &record, number, ring->drain_sequence++);
	ring->drain_offset += head.size;
}

void vs_pair_maker_drain(struct vs_pair_maker *maker, uint32_t nr_records)
{
	while (nr_records-- && maker->nr_drained < maker->nr_pushed) {
		if (vs_writer_is_full(maker->writer))
			vs_pair_maker_flush(maker);
		drain_record(maker, maker->order[maker->nr_drained++]);
	}
}

void vs_pair_maker_flush(struct vs_pair_maker *maker)
{
	assert_int_equal(vs_writer_flush(maker->writer), 0);
	for (uint32_t i = 1; i <= VS_PAIR_MAKER_NR_RINGS; i++)
		maker->rings[i].flushed_chunk = maker->rings[i].drain_chunk;
}

void vs_pair_maker_release(struct vs_pair_maker *maker)
{
	for (uint32_t i = 1; i <= VS_PAIR_MAKER_NR_RINGS; i++) {
		struct vs_pair_maker_ring *ring = &maker->rings[i];

		while (ring->is_open && ring->oldest != ring->flushed_chunk) {
			struct vs_live_chunk *chunk = vs_pair_maker_get_chunk(maker, ring->oldest);

			ring->oldest = atomic_load(&chunk->next) - 1;
			atomic_store(&chunk->ring, 0);
		}
	}
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool is_number(const struct vs_pair_maker_list *list, uint32_t number, const uint8_t *bytes,
		      size_t size)
{
	size_t begin = number ? list->records[number - 1].end : 0;

	return number < list->nr && list->records[number].end - begin == size &&
	       !memcmp(list->bytes + begin, bytes, size);
}

void vs_pair_maker_expect(const struct vs_pair_maker *maker, struct vs_pair_maker_place *place,
			  const struct vs_record *record)
{
	uint8_t bytes[VS_CODEC_MAX];
	size_t size = vs_codec_put_record(bytes, record);

	if (vs_record_is_event(record->type)) {
		assert_true(is_number(&maker->events, place->nr_events, bytes, size));
		assert_true(place->nr_definitions >=
			    maker->events.records[place->nr_events].nr_definitions);
		place->nr_events++;
		return;
	}
	if (is_number(&maker->definitions, place->nr_definitions, bytes, size)) {
		place->nr_definitions++;
		return;
	}
	for (uint32_t i = place->nr_definitions; i-- > 0;)
		if (is_number(&maker->definitions, i, bytes, size))
			return;
	fail_msg("a definition that nobody wrote, or not yet");
}

uint32_t vs_pair_maker_compare(const struct vs_pair_maker *maker, struct vs_reader *reader,
			       struct vs_pair_maker_place *place, int *err)
{
	struct vs_record record;
	int ret;

	while ((ret = vs_reader_next(reader, &record)) == 1)
		vs_pair_maker_expect(maker, place, &record);
	*err = ret;
	return place->nr_events + place->nr_definitions;
}

void vs_pair_maker_expect_all(const struct vs_pair_maker *maker, struct vs_reader_state *state)
{
	struct vs_pair_maker_place place = {0};
	struct vs_reader *reader;
	int err;

	assert_int_equal(vs_reader_open(&reader, maker->path), 0);
	assert_int_equal(vs_pair_maker_compare(maker, reader, &place, &err),
			 vs_pair_maker_get_nr(maker));
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, state);
	assert_true(state->nr_records >= vs_pair_maker_get_nr(maker));
	assert_false(state->is_damaged);
	vs_reader_close(reader);
}

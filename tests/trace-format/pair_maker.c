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

#define EXPECTED_MAX (8u << 20)

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
	record->type = type;
	if (type >= 16) {
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

static void make_log(struct vs_pair_maker *maker, uint64_t ring_size)
{
	size_t size = VS_LIVE_HEADER_SIZE + ring_size;
	int fd = open(maker->live_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)size), 0);
	maker->live = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(maker->live != MAP_FAILED);
	close(fd);
	maker->ring = (unsigned char *)maker->live + VS_LIVE_HEADER_SIZE;
	maker->ring_size = ring_size;
	maker->live->version = VS_LIVE_VERSION;
	for (uint32_t i = 0; i < VS_LIVE_ID_SIZE; i++)
		maker->live->identity[i] = (uint8_t)(i * 0x11);
	maker->live->ring_offset = VS_LIVE_HEADER_SIZE;
	maker->live->ring_size = ring_size;
	snprintf(maker->live->trace_path, VS_LIVE_PATH_MAX, "%s", maker->path);
	vs_live_seal(maker->live);
}

void vs_pair_maker_init(struct vs_pair_maker *maker, uint64_t ring_size, bool with_zlib)
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
	maker->expected = malloc(EXPECTED_MAX);
	assert_non_null(maker->expected);
	fd = open(maker->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(vs_writer_create(&maker->writer, fd, with_zlib ? &zlib : NULL), 0);
	assert_int_equal(
		vs_writer_add_info(maker->writer, VS_INFO_IDENTITY, VS_PAIR_MAKER_IDENTITY), 0);
	assert_int_equal(vs_writer_add_info(maker->writer, VS_INFO_HOST, "somewhere"), 0);
	assert_int_equal(vs_writer_flush(maker->writer), 0);
	if (ring_size)
		make_log(maker, ring_size);
}

void vs_pair_maker_drop(struct vs_pair_maker *maker)
{
	if (maker->writer)
		vs_writer_abandon(maker->writer);
	if (maker->live)
		munmap(maker->live, VS_LIVE_HEADER_SIZE + maker->ring_size);
	maker->writer = NULL;
	maker->live = NULL;
}

void vs_pair_maker_fini(struct vs_pair_maker *maker)
{
	vs_pair_maker_drop(maker);
	unlink(maker->path);
	unlink(maker->live_path);
	assert_int_equal(rmdir(maker->folder), 0); /* nobody left anything behind */
	free(maker->expected);
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

static void expect(struct vs_pair_maker *maker, const uint8_t *bytes, size_t size)
{
	assert_true(maker->expected_size + size <= EXPECTED_MAX);
	memcpy(maker->expected + maker->expected_size, bytes, size);
	maker->expected_size += size;
	maker->nr_records++;
}

/* False when the ring has no room. */
static bool reserve(struct vs_pair_maker *maker, uint32_t size, uint64_t *position)
{
	uint64_t head = atomic_load(&maker->live->head);
	uint64_t stride = vs_live_stride(size);

	if (head + stride > atomic_load(&maker->live->tail) + maker->ring_size) {
		atomic_fetch_add(&maker->live->nr_lost, 1);
		return false;
	}
	atomic_store(&maker->live->head, head + stride);
	*position = head;
	return true;
}

bool vs_pair_maker_push(struct vs_pair_maker *maker, const struct vs_record *record)
{
	uint8_t bytes[VS_CODEC_MAX];
	uint32_t size = (uint32_t)vs_codec_put_record(bytes, record);
	uint64_t position;

	if (!reserve(maker, size, &position))
		return false;
	for (uint32_t i = 0; i < size; i++)
		maker->ring[(position + VS_LIVE_WORD_SIZE + i) & (maker->ring_size - 1)] = bytes[i];
	atomic_store_explicit(vs_live_slot(maker->ring, maker->ring_size, position),
			      vs_live_word(position, size), memory_order_release);
	expect(maker, bytes, size);
	return true;
}

static void draw_record(struct vs_pair_maker *maker, struct vs_record *record,
			struct vs_pair_maker_storage *storage)
{
	size_t type = vs_pair_maker_draw(&maker->random) % vs_pair_maker_nr_types;

	vs_pair_maker_fill(record, vs_pair_maker_types[type], &maker->random, storage);
	/* Sums of lost events are the business of tests about lost events. */
	if (record->type == VS_RECORD_LOST)
		record->lost.nr_events = 0;
}

bool vs_pair_maker_push_random(struct vs_pair_maker *maker)
{
	struct vs_pair_maker_storage storage;
	struct vs_record record;

	draw_record(maker, &record, &storage);
	return vs_pair_maker_push(maker, &record);
}

void vs_pair_maker_add_random(struct vs_pair_maker *maker)
{
	struct vs_pair_maker_storage storage;
	uint8_t bytes[VS_CODEC_MAX];
	struct vs_record record;
	size_t size;

	draw_record(maker, &record, &storage);
	size = vs_codec_put_record(bytes, &record);
	assert_int_equal(vs_writer_add_records(maker->writer, maker->drained, bytes, size, 1), 0);
	maker->drained += vs_live_stride(size);
	expect(maker, bytes, size);
}

void vs_pair_maker_reserve(struct vs_pair_maker *maker, uint32_t size)
{
	uint64_t position;

	assert_true(reserve(maker, size, &position));
}

void vs_pair_maker_drain(struct vs_pair_maker *maker, uint32_t nr_records)
{
	uint64_t head = atomic_load(&maker->live->head);

	while (nr_records-- && maker->drained < head) {
		uint64_t position = maker->drained;
		uint64_t word = atomic_load(vs_live_slot(maker->ring, maker->ring_size, position));
		uint32_t size = vs_live_size(word, position);
		uint8_t bytes[VS_CODEC_MAX];

		assert_true(size > 0);
		for (uint32_t i = 0; i < size; i++)
			bytes[i] = maker->ring[(position + VS_LIVE_WORD_SIZE + i) &
					       (maker->ring_size - 1)];
		assert_int_equal(vs_writer_add_records(maker->writer, position, bytes, size, 1), 0);
		maker->drained += vs_live_stride(size);
	}
}

void vs_pair_maker_flush(struct vs_pair_maker *maker)
{
	assert_int_equal(vs_writer_flush(maker->writer), 0);
}

void vs_pair_maker_move_tail(struct vs_pair_maker *maker)
{
	atomic_store_explicit(&maker->live->tail, vs_writer_get_end(maker->writer),
			      memory_order_release);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Where the expected record of a number stands. */
static size_t find_expected(const struct vs_pair_maker *maker, uint32_t number)
{
	size_t at = 0;

	while (number--)
		at += (size_t)vs_codec_get_size(maker->expected + at, maker->expected_size - at);
	return at;
}

uint32_t vs_pair_maker_compare(const struct vs_pair_maker *maker, struct vs_reader *reader,
			       uint32_t first, int *err)
{
	size_t at = find_expected(maker, first);
	uint8_t bytes[VS_CODEC_MAX];
	struct vs_record record;
	int ret;

	*err = 0;
	while ((ret = vs_reader_next(reader, &record)) != 0) {
		size_t size;

		if (ret < 0) {
			*err = ret;
			break;
		}
		size = vs_codec_put_record(bytes, &record);
		assert_true(first < maker->nr_records);
		assert_true(size <= maker->expected_size - at);
		assert_memory_equal(bytes, maker->expected + at, size);
		at += size;
		first++;
	}
	return first;
}

void vs_pair_maker_expect_all(const struct vs_pair_maker *maker, struct vs_reader_state *state)
{
	struct vs_reader *reader;
	int err;

	assert_int_equal(vs_reader_open(&reader, maker->path), 0);
	assert_int_equal(vs_pair_maker_compare(maker, reader, 0, &err), maker->nr_records);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, state);
	assert_int_equal(state->nr_records, maker->nr_records);
	assert_false(state->is_damaged);
	vs_reader_close(reader);
}

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "columns.h"
#include "reader.h"
#include "shorten.h"
#include "writer.h"

#define NR_OLD   1000u                /* events before the snapshot */
#define NR_ALIVE (VS_COLUMNS_MAX + 5) /* in it: more than a block holds */
#define NR_NEW   500u

static char dir[] = "/tmp/vramscope-shorten.XXXXXX";
static char path[64], new_path[64];

struct rig {
	struct vs_writer *writer;
	uint64_t offset; /* of the snapshot */
};

static void add_steps(struct vs_writer *writer, uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; i < first + nr; i++) {
		struct vs_record step = {.type = VS_RECORD_STEP,
					 .time_ns = i * 1000,
					 .thread = 1,
					 .step = {.number = i}};

		/* Record 0 of the ring is the name. */
		vs_writer_add(writer, &step, 1, 1 + i);
	}
	assert_int_equal(vs_writer_flush(writer), 0);
}

static void put_snapshot(struct vs_writer *writer)
{
	const struct vs_writer_totals totals = {.nr_events = NR_OLD, .nr_lost = 7};
	struct vs_record alloc = {.type = VS_RECORD_ALLOC, .alloc = {.size = 16}};

	vs_writer_begin_snapshot(writer, &totals);
	vs_writer_add_ring_end(writer, 1, 1 + NR_OLD);
	for (uint32_t i = 0; i < NR_ALIVE; i++) {
		alloc.alloc.address = 0x1000 + 16 * i;
		vs_writer_add_to_snapshot(writer, &alloc);
	}
	assert_int_equal(vs_writer_end_snapshot(writer), 0);
}

/* A name and old events, a snapshot, new events. */
static void set_up(struct rig *rig)
{
	const struct vs_record name = {.type = VS_RECORD_NAME, .name = {5, {"five", 4}}};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(vs_writer_create(&rig->writer, fd, NULL), 0);
	assert_int_equal(vs_writer_add_info(rig->writer, "host", "here"), 0);
	assert_int_equal(vs_writer_flush(rig->writer), 0);
	vs_writer_add(rig->writer, &name, 1, 0);
	add_steps(rig->writer, 0, NR_OLD);
	rig->offset = vs_writer_get_size(rig->writer);
	put_snapshot(rig->writer);
	add_steps(rig->writer, NR_OLD, NR_NEW);
}

static int shorten(struct rig *rig, uint64_t *offset)
{
	const struct vs_shorten_request request = {
		.path = path,
		.new_path = new_path,
		.offset = rig->offset,
		.end = vs_writer_get_size(rig->writer),
	};
	int fd, err;

	err = vs_shorten_trace(&request, &fd, offset);
	if (!err)
		vs_writer_move(rig->writer, fd, NR_OLD);
	return err;
}

struct seen {
	uint32_t nr_names, nr_allocs, nr_steps, first_step;
	struct vs_reader_state state;
};

static void read_all(struct seen *seen)
{
	struct vs_reader *reader;
	struct vs_record record;
	int ret;

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(vs_reader_open(&reader, path), 0);
	assert_string_equal(vs_reader_get_info(reader, "host"), "here");
	while ((ret = vs_reader_next(reader, &record)) == 1) {
		seen->nr_names += record.type == VS_RECORD_NAME;
		if (record.type == VS_RECORD_ALLOC) {
			assert_int_equal(record.alloc.address, 0x1000 + 16 * seen->nr_allocs);
			assert_int_equal(seen->nr_steps, 0);
			seen->nr_allocs++;
		}
		if (record.type == VS_RECORD_STEP && !seen->nr_steps++)
			seen->first_step = (uint32_t)record.step.number;
	}
	assert_int_equal(ret, 0);
	vs_reader_get_state(reader, &seen->state);
	vs_reader_close(reader);
	assert_false(seen->state.is_damaged);
	assert_true(seen->state.is_complete);
}

static void test_who_reads_from_the_start_passes_over_a_snapshot(void **state)
{
	struct rig rig;
	struct seen seen;

	(void)state;
	set_up(&rig);
	assert_int_equal(vs_writer_close(rig.writer, 0), 0);
	read_all(&seen);
	assert_int_equal(seen.nr_allocs, 0);
	assert_int_equal(seen.nr_steps, NR_OLD + NR_NEW);
	assert_int_equal(seen.state.nr_dropped, 0);
}

static void test_snapshot_takes_the_place_of_what_goes(void **state)
{
	struct stat before, after;
	uint64_t offset;
	struct rig rig;
	struct seen seen;

	(void)state;
	set_up(&rig);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(shorten(&rig, &offset), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_true(after.st_size < before.st_size);
	assert_int_equal(after.st_size, vs_writer_get_size(rig.writer));
	assert_int_equal(before.st_size - (off_t)rig.offset, after.st_size - (off_t)offset);
	assert_int_equal(access(new_path, F_OK), -1);
	/* It goes on there. */
	add_steps(rig.writer, NR_OLD + NR_NEW, 10);
	assert_int_equal(vs_writer_close(rig.writer, 7), 0);
	read_all(&seen);
	assert_int_equal(seen.nr_names, 1);
	assert_int_equal(seen.nr_allocs, NR_ALIVE);
	assert_int_equal(seen.nr_steps, NR_NEW + 10);
	assert_int_equal(seen.first_step, NR_OLD);
	assert_int_equal(seen.state.nr_dropped, NR_OLD);
	assert_int_equal(seen.state.dropped_until_ns, NR_OLD * 1000);
	assert_int_equal(seen.state.nr_events_end, NR_NEW + 10);
	assert_int_equal(seen.state.nr_lost, 7);
}

static void make_file(const char *name, const char *text, size_t size)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void test_leftover_of_a_kill_is_replaced_and_nothing_else(void **state)
{
	char bytes[4096];
	uint64_t offset;
	struct rig rig;
	struct seen seen;
	int fd;

	(void)state;
	set_up(&rig);
	make_file(new_path, "a letter", 8);
	assert_int_equal(shorten(&rig, &offset), -VS_ERR_IO);
	assert_int_equal(errno, EEXIST);
	vs_shorten_remove(new_path);
	assert_int_equal(access(new_path, F_OK), 0);
	/* The beginning of a trace, as a kill leaves it. */
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	make_file(new_path, bytes, sizeof(bytes));
	assert_int_equal(shorten(&rig, &offset), 0);
	assert_int_equal(vs_writer_close(rig.writer, 0), 0);
	read_all(&seen);
	assert_int_equal(seen.nr_steps, NR_NEW);
}

static void test_trace_that_is_not_what_was_written_stays(void **state)
{
	struct rig rig;
	uint64_t offset;

	(void)state;
	set_up(&rig);
	rig.offset += 3; /* in the middle of a block */
	assert_int_equal(shorten(&rig, &offset), -VS_ERR_CORRUPT);
	assert_int_equal(access(new_path, F_OK), -1);
	vs_writer_abandon(rig.writer);
	unlink(path);
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/trace.vscope", dir);
	snprintf(new_path, sizeof(new_path), "%s/trace.vscope%s", dir, VS_SHORTEN_SUFFIX);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_reads_from_the_start_passes_over_a_snapshot),
		cmocka_unit_test(test_snapshot_takes_the_place_of_what_goes),
		cmocka_unit_test(test_leftover_of_a_kill_is_replaced_and_nothing_else),
		cmocka_unit_test(test_trace_that_is_not_what_was_written_stays),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

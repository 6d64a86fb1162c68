/*
 * A trace and its log of any bytes (fuzz_pair.h), folded: either both files stay as they are, or
 * the one that comes of it holds the same events. What is refused is then recovered: whatever could
 * be read before can be read afterwards.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fold.h"
#include "fuzz_pair.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/vs-fuzz-XXXXXX";
static char path[64], live_path[64];

static void remove_folder(void)
{
	unlink(path);
	unlink(live_path);
	if (rmdir(folder)) /* nobody left anything behind */
		abort();
}

static void make_folder(void)
{
	if (path[0])
		return;
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/t", folder);
	snprintf(live_path, sizeof(live_path), "%s/t.live", folder);
	atexit(remove_folder);
}

static int create(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	return fd;
}

struct sum {
	uint64_t nr_events;
	uint64_t threads;
	uint64_t nr_errors;
};

static struct sum read_all(size_t limit)
{
	struct vs_reader *reader;
	struct vs_record record;
	struct sum sum = {0};
	size_t nr_calls = 0;
	int ret;

	if (vs_reader_open(&reader, path))
		abort();
	while ((ret = vs_reader_next(reader, &record)) != 0) {
		sum.nr_errors += ret < 0;
		if (ret == 1 && vs_record_is_event(record.type)) {
			sum.nr_events++;
			sum.threads += record.thread * sum.nr_events;
		}
		if (nr_calls++ > limit)
			abort();
	}
	vs_reader_close(reader);
	return sum;
}

static void recover(const struct sum *before, size_t limit)
{
	const struct vs_fold_request request = {.path = path};
	struct vs_fold_result result;
	struct sum after;

	if (vs_fold_recover(&request, &result)) {
		if (access(live_path, F_OK))
			abort();
		return;
	}
	after = read_all(limit);
	if (after.nr_events != before->nr_events || after.threads != before->threads)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t limit = vs_fuzz_pair_get_limit(size);
	struct sum before, after;
	struct vs_wire in;
	int fd;

	make_folder();
	vs_wire_init(&in, data, size);
	fd = create(path);
	vs_fuzz_pair_put_trace(fd, &in);
	close(fd);
	fd = create(live_path);
	vs_fuzz_pair_put_log(fd, &in);
	close(fd);
	before = read_all(limit);
	if (vs_fold_trace(path)) {
		if (access(live_path, F_OK))
			abort();
		recover(&before, limit);
		return 0;
	}
	after = read_all(limit);
	if (!before.nr_errors && (after.nr_errors || after.nr_events != before.nr_events ||
				  after.threads != before.threads))
		abort();
	return 0;
}

/*
 * A trace and its log of any bytes, read. By the first byte: the input is the trace as it stands,
 * or the log as it stands, or it says what both contain (fuzz_pair.h).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "codec.h"
#include "fuzz_pair.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_fd(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}

/* Everything, and an end. Returns the number of records. */
static size_t read_all(struct vs_reader *reader, size_t limit)
{
	uint8_t bytes[VS_CODEC_MAX];
	size_t nr_records = 0, nr_calls = 0;
	struct vs_record record;
	int ret;

	while ((ret = vs_reader_next(reader, &record)) != 0) {
		if (ret == 1) {
			vs_codec_put_record(bytes, &record); /* touches all there is */
			nr_records++;
		}
		if (nr_calls++ > limit)
			abort();
	}
	return nr_records;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t limit = vs_fuzz_pair_get_limit(size);
	struct vs_reader *reader;
	struct vs_wire in;
	int fd, log_fd = -1;
	size_t nr_records;

	if (!size)
		return 0;
	vs_wire_init(&in, data + 1, size - 1);
	fd = make_fd();
	switch (data[0] % 4) {
	case 0:
		vs_fuzz_pair_write(fd, in.next, vs_wire_left(&in));
		break;
	case 1:
		log_fd = make_fd();
		vs_fuzz_pair_put_empty_trace(fd);
		vs_fuzz_pair_put_raw_log(log_fd, &in);
		break;
	default:
		log_fd = make_fd();
		vs_fuzz_pair_put_trace(fd, &in);
		vs_fuzz_pair_put_log(log_fd, &in);
	}
	if (vs_reader_open_fds(&reader, fd, log_fd))
		return 0;
	nr_records = read_all(reader, limit);
	if (vs_reader_rewind(reader) || read_all(reader, limit) != nr_records)
		abort();
	vs_reader_close(reader);
	return 0;
}

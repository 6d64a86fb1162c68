#include "index_trace.h"

#include <fcntl.h>
#include <zlib.h>

#include "index_writer.h"
#include "info.h"
#include "writer.h"

void index_trace_write(const struct script *script, const char *path, size_t nr_in_flush)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct vs_writer *writer;

	assert_true(fd >= 0);
	assert_int_equal(vs_writer_create(&writer, fd, &zlib), 0);
	assert_int_equal(vs_writer_add_info(writer, VS_INFO_COMMAND, "train\n--fast\n"), 0);
	assert_int_equal(
		vs_writer_add_info(writer, VS_INFO_IDENTITY, "000102030405060708090a0b0c0d0e0f"),
		0);
	for (size_t i = 0; i < script->nr_records; i++) {
		if (vs_writer_is_full(writer) || (i && i % nr_in_flush == 0))
			assert_int_equal(vs_writer_flush(writer), 0);
		vs_writer_add(writer, &script->records[i], 1, i);
	}
	assert_int_equal(vs_writer_close(writer, 0), 0);
}

void index_trace_plan(uint64_t interval, uint64_t share)
{
	vs_index_writer_plan = (struct vs_index_plan){
		.least = interval, .interval = interval, .share = share, .chain = 2};
}

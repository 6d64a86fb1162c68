#include "trace_maker.h"

#include <fcntl.h>

#include "codec.h"
#include "info.h"
#include "live_format.h"
#include "writer.h"

static int add_record(struct vs_writer *writer, uint64_t *position, const struct vs_record *record)
{
	uint8_t bytes[VS_CODEC_MAX];
	size_t size = vs_codec_put_record(bytes, record);
	int err = vs_writer_add_records(writer, *position, bytes, size, 1);

	*position += vs_live_stride(size);
	return err;
}

static int add_records(struct vs_writer *writer, uint32_t nr_allocs)
{
	const uint64_t frames[] = {0x401000, 0x402000};
	struct vs_record record = {
		.type = VS_RECORD_DEVICE,
		.device = {.total_size = 8ull << 30,
			   .compute_capability = 90,
			   .is_simulated = true,
			   .name = {"softgpu", 7}},
	};
	uint64_t position = 0;
	uint32_t i;
	int err;

	err = add_record(writer, &position, &record);
	record = (struct vs_record){.type = VS_RECORD_NAME, .name = {1, {"cudaMalloc", 10}}};
	if (!err)
		err = add_record(writer, &position, &record);
	record = (struct vs_record){.type = VS_RECORD_STACK, .stack = {1, frames, 2, false}};
	if (!err)
		err = add_record(writer, &position, &record);
	for (i = 0; !err && i < nr_allocs; i++) {
		record = (struct vs_record){
			.type = VS_RECORD_ALLOC,
			.time_ns = 1000ull * (i + 1),
			.thread = 1,
			.alloc = {.kind = VS_MEMORY_DEVICE,
				  .address = 0x7f0000000000 + ((uint64_t)i << 21),
				  .size = 1 << 20,
				  .stack = 1,
				  .api = 1},
		};
		err = add_record(writer, &position, &record);
	}
	return err;
}

int vs_trace_maker_write(const char *path, uint32_t nr_allocs, bool is_complete)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct vs_writer *writer;
	int err;

	if (fd < 0)
		return -VS_ERR_IO;
	err = vs_writer_create(&writer, fd, NULL);
	if (err)
		return err;
	err = vs_writer_add_info(writer, VS_INFO_IDENTITY, "00112233445566778899aabbccddeeff");
	if (!err)
		err = add_records(writer, nr_allocs);
	if (!err)
		err = vs_writer_flush(writer);
	if (is_complete && !err)
		return vs_writer_close(writer, 0);
	vs_writer_abandon(writer);
	return err;
}

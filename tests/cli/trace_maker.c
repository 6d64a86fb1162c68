#include "trace_maker.h"

#include <fcntl.h>
#include <stdio.h>

#include "info.h"
#include "writer.h"

/* One thread's records, one after the other. */
static int add_record(struct vs_writer *writer, const struct vs_record *record, uint64_t *sequence)
{
	int err = vs_writer_is_full(writer) ? vs_writer_flush(writer) : 0;

	if (!err)
		vs_writer_add(writer, record, 1, (*sequence)++);
	return err;
}

static int add_definitions(struct vs_writer *writer, uint64_t *sequence)
{
	static const uint64_t frames[] = {0x401000, 0x402000};
	const struct vs_record records[VS_TRACE_MAKER_NR_DEFINITIONS] = {
		{.type = VS_RECORD_DEVICE,
		 .device = {.total_size = 8ull << 30,
			    .compute_capability = 90,
			    .is_simulated = true,
			    .name = {"softgpu", 7}}},
		{.type = VS_RECORD_THREAD, .thread_name = {1, 4711, {"main", 4}}},
		{.type = VS_RECORD_MODULE,
		 .module = {.id = 1, .start = 0x400000, .end = 0x500000, .path = {"/program", 8}}},
		{.type = VS_RECORD_NAME, .name = {1, {"cudaMalloc", 10}}},
		{.type = VS_RECORD_STACK, .stack = {.id = 1, .frames = frames, .nr_frames = 2}},
	};
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < VS_TRACE_MAKER_NR_DEFINITIONS; i++)
		err = add_record(writer, &records[i], sequence);
	return err;
}

struct vs_record vs_trace_maker_get_alloc(uint32_t number)
{
	return (struct vs_record){
		.type = VS_RECORD_ALLOC,
		.time_ns = 1000ull * (number + 1),
		.thread = 1,
		.alloc = {.kind = VS_MEMORY_DEVICE,
			  .address = 0x7f0000000000 + ((uint64_t)number << 21),
			  .size = 1 << 20,
			  .stack = 1,
			  .api = 1},
	};
}

/* No recorder writes these. */
static int add_odd(struct vs_writer *writer, uint64_t *sequence)
{
	struct vs_record records[] = {
		vs_trace_maker_get_alloc(0), /* lies over the first one, and is too early */
		{.type = VS_RECORD_FREE,
		 .thread = 2,
		 .free = {.kind = VS_MEMORY_DEVICE, .address = 0x1000, .stack = 7, .api = 8}},
		{.type = VS_RECORD_MARK, .thread = 1, .mark = {9}},
		{.type = VS_RECORD_BLOCK_ALLOC, .thread = 1, .block_alloc = {5, 0x2000, 16, 1}},
		{.type = VS_RECORD_MODULE_END, .thread = 1, .module_end = {6}},
		/* A framework that says it has 4096 bytes where there are two blocks of 512. */
		{.type = VS_RECORD_POOL,
		 .pool = {.id = 3, .owner = VS_POOL_FRAMEWORK, .name = {"PyTorch", 7}}},
		{.type = VS_RECORD_BLOCK_ALLOC,
		 .thread = 1,
		 .block_alloc = {3, 0x7f0000000000, 512, 1}},
		{.type = VS_RECORD_POOL_STATE, .thread = 1, .pool_state = {3, 1 << 20, 512}},
		{.type = VS_RECORD_BLOCK_ALLOC,
		 .thread = 1,
		 .block_alloc = {3, 0x7f0000000200, 512, 1}},
		{.type = VS_RECORD_POOL_STATE, .thread = 1, .pool_state = {3, 1 << 20, 4096}},
	};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(records) / sizeof(records[0]); i++) {
		if (i && vs_record_is_event(records[i].type))
			records[i].time_ns = 1000000;
		err = add_record(writer, &records[i], sequence);
	}
	return err;
}

static int add_records(struct vs_writer *writer, const struct vs_trace_maker_plan *plan)
{
	uint64_t sequence = 0;
	uint32_t i;
	int err = add_definitions(writer, &sequence);

	for (i = 0; !err && i < plan->nr_allocs; i++) {
		struct vs_record record = vs_trace_maker_get_alloc(i);

		err = add_record(writer, &record, &sequence);
	}
	return !err && plan->is_odd ? add_odd(writer, &sequence) : err;
}

static int add_number(struct vs_writer *writer, const char *key, uint64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return vs_writer_add_info(writer, key, digits);
}

static int add_info(struct vs_writer *writer, const struct vs_trace_maker_plan *plan)
{
	int err = vs_writer_add_info(writer, VS_INFO_IDENTITY, "00112233445566778899aabbccddeeff");

	if (err || !plan->run)
		return err;
	err = vs_writer_add_info(writer, VS_INFO_RUN, plan->run);
	err = err ? err : add_number(writer, VS_INFO_PID, plan->pid);
	err = err ? err : add_number(writer, VS_INFO_PPID, plan->parent);
	return err ? err : add_number(writer, VS_INFO_START, plan->start_ns);
}

int vs_trace_maker_write(int fd, const struct vs_trace_maker_plan *plan)
{
	struct vs_writer *writer;
	int err;

	err = vs_writer_create(&writer, fd, plan->zlib);
	if (err)
		return err;
	err = add_info(writer, plan);
	if (!err)
		err = add_records(writer, plan);
	if (!err)
		err = vs_writer_flush(writer);
	if (!plan->is_cut && !err)
		return vs_writer_close(writer, 0);
	vs_writer_abandon(writer);
	return err;
}

int vs_trace_maker_create(const char *path, const struct vs_trace_maker_plan *plan)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	return fd < 0 ? -VS_ERR_IO : vs_trace_maker_write(fd, plan);
}

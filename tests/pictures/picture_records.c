#include "picture_records.h"

#include <string.h>

static struct vs_record make_event(enum vs_record_type type, uint64_t time_ns)
{
	return (struct vs_record){.type = type, .time_ns = time_ns, .thread = PICTURE_THREAD};
}

static struct vs_text make_text(const char *text)
{
	return (struct vs_text){.bytes = text, .size = (uint32_t)strlen(text)};
}

struct vs_record picture_device(uint32_t ordinal, uint64_t total)
{
	return (struct vs_record){
		.type = VS_RECORD_DEVICE,
		.device = {.device = ordinal,
			   .total_size = total,
			   .is_simulated = true,
			   .name = make_text("softgpu")},
	};
}

struct vs_record picture_name(uint32_t id, const char *text)
{
	return (struct vs_record){.type = VS_RECORD_NAME, .name = {id, make_text(text)}};
}

struct vs_record picture_pool(uint32_t id, uint32_t device, const char *name)
{
	return (struct vs_record){
		.type = VS_RECORD_POOL,
		.pool = {.id = id, .device = device, .name = make_text(name)},
	};
}

struct vs_record picture_alloc(uint64_t time_ns, enum vs_memory_kind kind, uint32_t device,
			       uint64_t address, uint64_t size)
{
	struct vs_record record = make_event(VS_RECORD_ALLOC, time_ns);

	record.alloc =
		(struct vs_alloc){.kind = kind, .device = device, .address = address, .size = size};
	return record;
}

struct vs_record picture_free(uint64_t time_ns, enum vs_memory_kind kind, uint64_t address)
{
	struct vs_record record = make_event(VS_RECORD_FREE, time_ns);

	record.free = (struct vs_free){.kind = kind, .address = address};
	return record;
}

struct vs_record picture_free_failed(uint64_t time_ns, enum vs_memory_kind kind, uint64_t address)
{
	struct vs_record record = make_event(VS_RECORD_FREE_FAILED, time_ns);

	record.free_failed = (struct vs_free_failed){.kind = kind, .address = address, .error = 1};
	return record;
}

struct vs_record picture_alloc_failed(uint64_t time_ns, uint32_t device, uint64_t size)
{
	struct vs_record record = make_event(VS_RECORD_ALLOC_FAILED, time_ns);

	record.alloc_failed = (struct vs_alloc_failed){.device = device, .size = size, .error = 2};
	return record;
}

struct vs_record picture_reserve(uint64_t time_ns, uint64_t address, uint64_t size)
{
	struct vs_record record = make_event(VS_RECORD_RESERVE, time_ns);

	record.reserve = (struct vs_reserve){.address = address, .size = size};
	return record;
}

struct vs_record picture_map(uint64_t time_ns, uint64_t address, uint64_t size, uint64_t handle)
{
	struct vs_record record = make_event(VS_RECORD_MAP, time_ns);

	record.map = (struct vs_map){.address = address, .size = size, .handle = handle};
	return record;
}

struct vs_record picture_unmap(uint64_t time_ns, uint64_t address, uint64_t size)
{
	struct vs_record record = make_event(VS_RECORD_UNMAP, time_ns);

	record.map = (struct vs_map){.address = address, .size = size};
	return record;
}

struct vs_record picture_block(uint64_t time_ns, uint32_t pool, uint64_t address, uint64_t size)
{
	struct vs_record record = make_event(VS_RECORD_BLOCK_ALLOC, time_ns);

	record.block_alloc =
		(struct vs_block_alloc){.pool = pool, .address = address, .size = size};
	return record;
}

struct vs_record picture_block_free(uint64_t time_ns, uint32_t pool, uint64_t address)
{
	struct vs_record record = make_event(VS_RECORD_BLOCK_FREE, time_ns);

	record.block_free = (struct vs_block_free){.pool = pool, .address = address};
	return record;
}

struct vs_record picture_block_failed(uint64_t time_ns, uint32_t pool, uint64_t size)
{
	struct vs_record record = make_event(VS_RECORD_BLOCK_FAILED, time_ns);

	record.block_failed = (struct vs_block_failed){.pool = pool, .size = size};
	return record;
}

struct vs_record picture_step(uint64_t time_ns, uint64_t number)
{
	struct vs_record record = make_event(VS_RECORD_STEP, time_ns);

	record.step = (struct vs_step){.number = number};
	return record;
}

struct vs_record picture_push(uint64_t time_ns, uint32_t name)
{
	struct vs_record record = make_event(VS_RECORD_PHASE_PUSH, time_ns);

	record.phase_push = (struct vs_phase_push){.name = name};
	return record;
}

struct vs_record picture_pop(uint64_t time_ns)
{
	return make_event(VS_RECORD_PHASE_POP, time_ns);
}

#include "script.h"

#include <stdlib.h>
#include <string.h>

static int next_record(void *context, struct vs_record *record)
{
	struct script *script = context;

	if (script->next == script->nr_records)
		return 0;
	*record = script->records[script->next++];
	return 1;
}

static int rewind_records(void *context)
{
	struct script *script = context;

	script->next = 0;
	return 0;
}

void script_init(struct script *script)
{
	memset(script, 0, sizeof(*script));
	script->thread = 1;
	script->source = (struct vs_source){
		.next = next_record, .rewind = rewind_records, .context = script};
}

void script_init_usual(struct script *script)
{
	static const uint64_t frames[][1] = {{0x100}, {0x200}, {0x300}, {0x400}};

	script_init(script);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	for (uint32_t i = 0; i < 4; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_name(script, 1, "forward");
	script_name(script, 2, "backward");
}

void script_fini(struct script *script)
{
	free(script->records);
}

void script_set_time(struct script *script, uint64_t time_ns)
{
	script->time_ns = time_ns - 1000;
}

void script_set_thread(struct script *script, uint32_t thread)
{
	script->thread = thread;
}

void script_set_stack(struct script *script, uint32_t stack)
{
	script->stack = stack;
}

void script_set_context(struct script *script, uint32_t context)
{
	script->context = context;
}

void script_add(struct script *script, struct vs_record record)
{
	if (script->nr_records == script->capacity) {
		script->capacity = script->capacity ? script->capacity * 2 : 64;
		script->records =
			realloc(script->records, script->capacity * sizeof(*script->records));
		assert_non_null(script->records);
	}
	if (record.type >= VS_RECORD_ALLOC) {
		script->time_ns += 1000;
		record.time_ns = script->time_ns;
		record.thread = script->thread;
	}
	script->records[script->nr_records++] = record;
}

static struct vs_text text_of(const char *text)
{
	return (struct vs_text){text, (uint32_t)strlen(text)};
}

void script_name(struct script *script, uint32_t id, const char *text)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_NAME, .name = {id, text_of(text)}});
}

void script_module(struct script *script, uint32_t id, uint64_t start, uint64_t end,
		   const char *path)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_MODULE,
					      .module = {.id = id,
							 .start = start,
							 .end = end,
							 .bias = start,
							 .path = text_of(path)}});
}

void script_stack(struct script *script, uint32_t id, const uint64_t *frames, uint32_t nr_frames)
{
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_STACK,
				   .stack = {.id = id, .frames = frames, .nr_frames = nr_frames}});
}

void script_device(struct script *script, uint32_t device, uint64_t total_size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_DEVICE,
					      .device = {.device = device,
							 .total_size = total_size,
							 .name = text_of("paper")}});
}

void script_pool(struct script *script, uint32_t id, enum vs_pool_owner owner, uint32_t device,
		 uint64_t limit_size, const char *name)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_POOL,
					      .pool = {.id = id,
						       .owner = owner,
						       .device = device,
						       .limit_size = limit_size,
						       .name = text_of(name)}});
}

void script_alloc_on(struct script *script, uint32_t device, enum vs_memory_kind kind,
		     uint64_t address, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC,
					      .alloc = {.kind = kind,
							.device = device,
							.address = address,
							.size = size,
							.context = script->context,
							.stack = script->stack}});
}

void script_alloc(struct script *script, enum vs_memory_kind kind, uint64_t address, uint64_t size)
{
	script_alloc_on(script, 0, kind, address, size);
}

void script_alloc_async(struct script *script, uint32_t pool, uint64_t address, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC,
					      .alloc = {.kind = VS_MEMORY_ASYNC,
							.address = address,
							.size = size,
							.pool = pool,
							.stack = script->stack}});
}

void script_free(struct script *script, enum vs_memory_kind kind, uint64_t address)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_FREE,
					      .free = {.kind = kind, .address = address}});
}

void script_free_failed(struct script *script, enum vs_memory_kind kind, uint64_t address)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_FREE_FAILED,
					      .free_failed = {kind, address, 1}});
}

void script_fail(struct script *script, uint64_t size, uint64_t free_size, uint64_t total_size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC_FAILED,
					      .alloc_failed = {.kind = VS_MEMORY_DEVICE,
							       .size = size,
							       .error = 2,
							       .free_size = free_size,
							       .total_size = total_size,
							       .stack = script->stack}});
}

void script_fail_async(struct script *script, uint32_t pool, uint64_t size, uint64_t free_size,
		       uint64_t total_size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC_FAILED,
					      .alloc_failed = {.kind = VS_MEMORY_ASYNC,
							       .size = size,
							       .error = 2,
							       .free_size = free_size,
							       .total_size = total_size,
							       .pool = pool,
							       .stack = script->stack}});
}

void script_fail_error(struct script *script, enum vs_memory_kind kind, uint64_t size,
		       uint32_t error)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC_FAILED,
					      .alloc_failed = {.kind = kind,
							       .size = size,
							       .error = error,
							       .stack = script->stack}});
}

void script_reserve(struct script *script, uint64_t address, uint64_t size)
{
	script_add(script,
		   (struct vs_record){.type = VS_RECORD_RESERVE, .reserve = {address, size}});
}

void script_unreserve(struct script *script, uint64_t address, uint64_t size)
{
	script_add(script,
		   (struct vs_record){.type = VS_RECORD_UNRESERVE, .reserve = {address, size}});
}

void script_map(struct script *script, uint64_t address, uint64_t size, uint64_t handle)
{
	script_add(script,
		   (struct vs_record){.type = VS_RECORD_MAP, .map = {address, size, handle, 0}});
}

void script_unmap(struct script *script, uint64_t address, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_UNMAP,
					      .map = {.address = address, .size = size}});
}

void script_end_context(struct script *script, enum vs_context_change change, uint32_t context,
			uint32_t device)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_CONTEXT,
					      .context = {change, context, device}});
}

void script_pool_state(struct script *script, uint32_t pool, uint64_t reserved_size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_POOL_STATE,
					      .pool_state = {pool, reserved_size, 0}});
}

void script_pool_end(struct script *script, uint32_t pool)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_POOL_END, .pool_end = {pool}});
}

void script_block(struct script *script, uint32_t pool, uint64_t address, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_BLOCK_ALLOC,
					      .block_alloc = {pool, address, size, script->stack}});
}

void script_block_free(struct script *script, uint32_t pool, uint64_t address)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_BLOCK_FREE,
					      .block_free = {pool, address, script->stack}});
}

void script_block_fail(struct script *script, uint32_t pool, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_BLOCK_FAILED,
					      .block_failed = {pool, size, script->stack}});
}

void script_push(struct script *script, uint32_t name)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_PHASE_PUSH, .phase_push = {name}});
}

void script_pop(struct script *script)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_PHASE_POP});
}

void script_step(struct script *script, uint64_t number)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_STEP, .step = {number}});
}

void script_analyse_window(struct script *script, struct vs_analysis *analysis, uint64_t from_ns,
			   uint64_t to_ns)
{
	struct vs_window window = {from_ns, to_ns};

	assert_int_equal(vs_analysis_init(analysis, &script->source, &window), 0);
}

void script_analyse(struct script *script, struct vs_analysis *analysis)
{
	script_analyse_window(script, analysis, 0, UINT64_MAX);
}

struct vs_replay *script_replay(struct script *script)
{
	struct vs_replay *replay;
	size_t i;

	assert_int_equal(vs_replay_create(&replay), 0);
	for (i = 0; i < script->nr_records; i++)
		assert_int_equal(vs_replay_add(replay, &script->records[i]), 0);
	return replay;
}

const struct vs_replay_device *script_get_device(const struct vs_replay *replay)
{
	const struct vs_replay_device *device = vs_replay_get_device(replay, 0);

	assert_non_null(device);
	return device;
}

const struct vs_account *script_get_account(const struct vs_replay *replay, uint32_t stack)
{
	const struct vs_site *site = vs_definitions_get_site(&replay->definitions, stack);
	size_t i;

	for (i = 0; i < replay->nr_accounts; i++)
		if (replay->accounts[i]->site == site && replay->accounts[i]->device->ordinal == 0)
			return replay->accounts[i];
	fail_msg("stack %u has no account", stack);
	return NULL;
}

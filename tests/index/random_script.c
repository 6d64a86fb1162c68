#include "random_script.h"

#include <stdlib.h>

#define NR_STACKS  60
#define NR_MODULES 6
#define NR_POOLS   6
#define BASE       ((uint64_t)0x100000)

static unsigned int seed;

static uint64_t pick(unsigned int below)
{
	return (uint64_t)rand_r(&seed) % below;
}

static uint64_t pick_address(void)
{
	return BASE + 0x1000 * pick(120);
}

static uint64_t pick_size(void)
{
	return pick(30) ? 0x200 * pick(24) : pick(2) ? 0x1000 * pick(200) : pick(5000);
}

/* ---- Definitions ---------------------------------------------------------------------------- */

/* Stacks keep pointing to their frames. */
static uint64_t frames[NR_STACKS + 1][4];

static void define_stack(struct script *script)
{
	uint32_t stack = 1 + (uint32_t)pick(NR_STACKS);
	uint32_t nr_frames = (uint32_t)pick(5);

	for (uint32_t i = 0; i < nr_frames && !frames[stack][0]; i++)
		frames[stack][i] = 0x10000 * (1 + pick(NR_MODULES)) + 8 * pick(6);
	script_stack(script, stack, frames[stack], frames[stack][0] ? nr_frames : 0);
}

static void define_module(struct script *script)
{
	static const char *const paths[] = {"/lib/a.so", "/lib/b.so", "/bin/c"};
	uint32_t module = 1 + (uint32_t)pick(NR_MODULES);

	if (pick(2))
		script_module(script, module, 0x10000 * module, 0x10000 * module + 0x100,
			      paths[pick(3)]);
	else
		script_add(script, (struct vs_record){.type = VS_RECORD_MODULE_END,
						      .module_end = {module}});
}

static void define_something(struct script *script)
{
	static const char *const names[] = {"forward", "backward", "cudaMalloc", "step", ""};
	static const char *const pools[] = {"torch", "arena", "", "x"};
	uint32_t pool = 1 + (uint32_t)pick(NR_POOLS);

	switch (pick(8)) {
	case 0:
		script_name(script, 1 + (uint32_t)pick(8), names[pick(5)]);
		break;
	case 1:
		define_module(script);
		break;
	case 2:
		script_device(script, (uint32_t)pick(3), GIB << pick(4));
		break;
	case 3:
		script_pool(script, pool, (enum vs_pool_owner)(pool % 3), (uint32_t)pick(2),
			    MIB * pick(3), pools[pick(4)]);
		break;
	case 4:
		script_add(script, (struct vs_record){.type = VS_RECORD_LOST,
						      .lost = {.nr_events = pick(5)}});
		break;
	case 5:
		script_add(script,
			   (struct vs_record){
				   .type = VS_RECORD_THREAD,
				   .thread_name = {1 + (uint32_t)pick(4), 77, {"worker", 6}}});
		break;
	default:
		define_stack(script);
		break;
	}
}

/* ---- Events --------------------------------------------------------------------------------- */

static void add_free(struct script *script, enum vs_memory_kind kind, uint64_t address)
{
	script_free(script, kind, address);
	if (pick(4))
		return;
	/* Something else may come between, of another thread. */
	if (pick(2)) {
		uint32_t thread = script->thread;

		script_set_thread(script, thread + 1);
		script_step(script, pick(1000));
		script_set_thread(script, thread);
	}
	script_free_failed(script, kind, address);
}

static void add_memory(struct script *script)
{
	enum vs_memory_kind kind = (enum vs_memory_kind)pick(VS_NR_MEMORY_KINDS);

	switch (pick(9)) {
	case 0:
	case 1:
	case 2:
		script_set_context(script, (uint32_t)pick(3));
		script_alloc_on(script, pick(5) ? (uint32_t)pick(3) : VS_NO_DEVICE,
				pick(2) ? VS_MEMORY_DEVICE : kind, pick_address(), pick_size());
		script->records[script->nr_records - 1].alloc.api = (uint32_t)pick(9);
		break;
	case 3:
		script_alloc_async(script, (uint32_t)pick(NR_POOLS + 1), pick_address(),
				   pick_size());
		break;
	case 4:
	case 5:
	case 6:
		add_free(script, kind, pick_address());
		break;
	case 7:
		script_fail_error(script, kind, pick_size(), (uint32_t)pick(4));
		script->records[script->nr_records - 1].alloc_failed.pool = (uint32_t)pick(4);
		script->records[script->nr_records - 1].alloc_failed.total_size = GIB * pick(2);
		break;
	default:
		if (!pick(25))
			script_end_context(script, (enum vs_context_change)pick(3),
					   (uint32_t)pick(3), (uint32_t)pick(3));
		break;
	}
}

static void add_pages(struct script *script)
{
	switch (pick(7)) {
	case 0:
	case 1:
		script_alloc(script, VS_MEMORY_VMM, 1 + pick(20), 0x1000);
		break;
	case 2:
		add_free(script, VS_MEMORY_VMM, 1 + pick(20));
		break;
	case 3:
		script_reserve(script, pick_address(), 0x1000 * pick(20));
		break;
	case 4:
		script_unmap(script, pick_address(), 0x1000 * pick(3));
		break;
	case 5:
		if (!pick(5))
			script_unreserve(script, pick_address(), 0x1000 * pick(20));
		break;
	default:
		script_map(script, pick_address(), 0x1000, 1 + pick(20));
		break;
	}
}

static void add_blocks(struct script *script)
{
	uint32_t pool = (uint32_t)pick(NR_POOLS + 1);
	uint64_t address = pick_address() + 0x200 * pick(8);

	switch (pick(8)) {
	case 0:
	case 1:
	case 2:
	case 3:
		script_block(script, pool, address, 0x200 * pick(5));
		break;
	case 4:
	case 5:
		script_block_free(script, pool, address);
		break;
	case 6:
		script_block_fail(script, pool, pick_size());
		break;
	default:
		if (pick(40))
			script_pool_state(script, pool, 0x200 * pick(100));
		else
			script_pool_end(script, pool);
		break;
	}
}

static void add_sample(struct script *script)
{
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_MEMORY_INFO,
				   .memory_info = {.device = (uint32_t)pick(3),
						   .flags = (uint32_t)pick(2),
						   .total_size = pick_size(),
						   .free_size = pick_size(),
						   .used_size = pick_size(),
						   .reserved_size = pick_size()},
			   });
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_MEMORY_OWN,
				   .memory_own = {.device = (uint32_t)pick(3),
						  .flags = (uint32_t)pick(4),
						  .nr_others = (uint32_t)pick(12),
						  .own_size = pick_size(),
						  .others_size = pick_size(),
						  .context_size = pick_size()},
			   });
	for (uint64_t i = pick(10); i-- > 0;)
		script_add(script, (struct vs_record){
					   .type = VS_RECORD_MEMORY_HOLDER,
					   .memory_holder = {.device = (uint32_t)pick(3),
							     .pid = (uint32_t)pick(9999),
							     .name = (uint32_t)pick(9),
							     .size = pick_size()},
				   });
}

static void add_phase(struct script *script)
{
	switch (pick(5)) {
	case 4:
		add_sample(script);
		break;
	case 0:
		script_step(script, pick(1000));
		break;
	case 1:
		script_add(script, (struct vs_record){.type = VS_RECORD_MARK,
						      .mark = {1 + (uint32_t)pick(8)}});
		break;
	case 2:
		script_push(script, (uint32_t)pick(9));
		break;
	default:
		script_pop(script);
		break;
	}
}

void random_script_make(struct script *script, unsigned int from, size_t nr_records)
{
	seed = from;
	script_init(script);
	while (script->nr_records < nr_records) {
		script_set_thread(script, 1 + (uint32_t)pick(3));
		script_set_stack(script, (uint32_t)pick(NR_STACKS + 2));
		switch (pick(12)) {
		case 0:
			define_something(script);
			break;
		case 1:
			add_phase(script);
			break;
		case 2:
		case 3:
		case 4:
		case 5:
			add_memory(script);
			break;
		case 6:
		case 7:
			add_pages(script);
			break;
		default:
			add_blocks(script);
			break;
		}
	}
}

#ifndef VS_SCRIPT_H
#define VS_SCRIPT_H

/*
 * Records made by hand, for tests of the analyzer: each call appends one. Time goes on by a
 * microsecond with every event; thread 1 does everything unless told otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis.h"
#include "record.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct script {
	struct vs_record *records;
	size_t nr_records;
	size_t capacity;
	size_t next; /* of the source */
	uint64_t time_ns;
	uint32_t thread;
	uint32_t stack;   /* of the events that follow */
	uint32_t context; /* likewise */
	struct vs_source source;
};

void script_init(struct script *script);
void script_fini(struct script *script);

/* What many tests start with: device 0 of 1000 MiB, pool 1 of the program, stacks 1 to 4 of a frame
 * each, and the names 1 "forward" and 2 "backward". */
void script_init_usual(struct script *script);

/* What is said next happens at this time, on this thread, at this stack. */
void script_set_time(struct script *script, uint64_t time_ns);
void script_set_thread(struct script *script, uint32_t thread);
void script_set_stack(struct script *script, uint32_t stack);
void script_set_context(struct script *script, uint32_t context);

/* Any record; time and thread are filled in for events. */
void script_add(struct script *script, struct vs_record record);

void script_name(struct script *script, uint32_t id, const char *text);
void script_module(struct script *script, uint32_t id, uint64_t start, uint64_t end,
		   const char *path);
/* frames belong to the caller. */
void script_stack(struct script *script, uint32_t id, const uint64_t *frames, uint32_t nr_frames);
void script_device(struct script *script, uint32_t device, uint64_t total_size);
void script_pool(struct script *script, uint32_t id, enum vs_pool_owner owner, uint32_t device,
		 uint64_t limit_size, const char *name);

void script_alloc(struct script *script, enum vs_memory_kind kind, uint64_t address, uint64_t size);
void script_alloc_on(struct script *script, uint32_t device, enum vs_memory_kind kind,
		     uint64_t address, uint64_t size);
void script_alloc_async(struct script *script, uint32_t pool, uint64_t address, uint64_t size);
void script_free(struct script *script, enum vs_memory_kind kind, uint64_t address);
void script_free_failed(struct script *script, enum vs_memory_kind kind, uint64_t address);
/* error 2 is out of memory. */
void script_fail(struct script *script, uint64_t size, uint64_t free_size, uint64_t total_size);
void script_fail_async(struct script *script, uint32_t pool, uint64_t size, uint64_t free_size,
		       uint64_t total_size);
void script_fail_error(struct script *script, enum vs_memory_kind kind, uint64_t size,
		       uint32_t error);
void script_reserve(struct script *script, uint64_t address, uint64_t size);
void script_unreserve(struct script *script, uint64_t address, uint64_t size);
void script_map(struct script *script, uint64_t address, uint64_t size, uint64_t handle);
void script_unmap(struct script *script, uint64_t address, uint64_t size);
void script_end_context(struct script *script, enum vs_context_change change, uint32_t context,
			uint32_t device);
void script_pool_state(struct script *script, uint32_t pool, uint64_t reserved_size);
void script_pool_end(struct script *script, uint32_t pool);
void script_block(struct script *script, uint32_t pool, uint64_t address, uint64_t size);
void script_block_free(struct script *script, uint32_t pool, uint64_t address);
void script_block_fail(struct script *script, uint32_t pool, uint64_t size);
void script_push(struct script *script, uint32_t name);
void script_pop(struct script *script);
void script_step(struct script *script, uint64_t number);

/* All of it, in both passes; the result is the caller's to fini. */
void script_analyse(struct script *script, struct vs_analysis *analysis);
void script_analyse_window(struct script *script, struct vs_analysis *analysis, uint64_t from_ns,
			   uint64_t to_ns);

/* One pass without knowing who will be adopted; destroy the replay. */
struct vs_replay *script_replay(struct script *script);

/* Device 0 of a replay, and the account of a stack there; fails the test if there is none. */
const struct vs_replay_device *script_get_device(const struct vs_replay *replay);
const struct vs_account *script_get_account(const struct vs_replay *replay, uint32_t stack);

#endif

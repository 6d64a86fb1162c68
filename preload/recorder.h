#ifndef VS_RECORDER_H
#define VS_RECORDER_H

#include "guard.h"
#include "record.h"

/*
 * What hooks say. Each call stamps time, thread, name and stack (of the outermost hook) and puts
 * one record into the log. None of them waits, allocates after the first use, fails visibly, or
 * changes errno. Any thread, between vs_guard_enter and vs_guard_leave.
 *
 * Order: a free is said before the real call, an allocation after it. So the log's order is one in
 * which no address is given out twice.
 */

/* A number for a hook's name; defined in the trace when first used. Any thread; text is static. */
uint32_t vs_recorder_name(const char *text);

/* The same for text that is not: it is copied. 0: there is no room. */
uint32_t vs_recorder_keep_name(const char *text);

/* Memory was given. pool: vs_recorder_driver_pool(), or VS_NO_ID. context: vs_recorder_context().
 */
void vs_recorder_add_alloc(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			   uint64_t address, uint64_t size, uint32_t pool, uint32_t context);

/* Memory is about to be given back; and: it was not, after all. */
void vs_recorder_add_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address);
void vs_recorder_take_back_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address,
				uint32_t error);

/*
 * A request failed. free_size and total_size as the driver tells, 0 and 0 when it cannot be asked.
 * pool: of the driver, that was asked; without one, the pool whose request the thread is in
 * (pool_request.h).
 */
void vs_recorder_add_failure(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			     uint64_t size, uint32_t error, uint64_t free_size, uint64_t total_size,
			     uint32_t pool);

/* Virtual memory. unreserve and unmap are said before the call, the others after it. */
void vs_recorder_add_reserve(struct vs_thread *self, uint64_t address, uint64_t size);
void vs_recorder_add_unreserve(struct vs_thread *self, uint64_t address, uint64_t size);
void vs_recorder_add_map(struct vs_thread *self, uint64_t address, uint64_t size, uint64_t handle,
			 uint64_t offset);
void vs_recorder_add_unmap(struct vs_thread *self, uint64_t address, uint64_t size);

/*
 * So many events of this thread, the newest, were seen by this source and by no hook. nr_events -
 * nr_states of the thread counts them. Says nothing if there are none.
 */
void vs_recorder_add_seen_by(struct vs_thread *self, enum vs_seen_source source,
			     uint64_t nr_events);

/* A context came or is about to go; VS_CONTEXT_RESET: all of the device. */
void vs_recorder_add_context(struct vs_thread *self, enum vs_context_change change,
			     uint32_t context, uint32_t device);

/* A small number for a context handle; the same handle after its end gets a new one. 0 for NULL. */
uint32_t vs_recorder_context(uint64_t handle);
void vs_recorder_forget_context(uint64_t handle);

/* A number for a driver pool, defined when first seen. */
uint32_t vs_recorder_driver_pool(uint64_t handle, uint32_t device);
/* The same when it is made. limit_size: the most it may hold, 0: not known. */
uint32_t vs_recorder_create_driver_pool(uint64_t handle, uint32_t device, uint64_t limit_size);
void vs_recorder_add_pool_state(struct vs_thread *self, uint32_t pool, uint64_t reserved_size,
				uint64_t used_size);
void vs_recorder_end_driver_pool(struct vs_thread *self, uint64_t handle);

/* What NVML told of a device (memory_info.h), names by vs_recorder_keep_name(). Makes no trace. */
struct vs_memory_sampled {
	struct vs_memory_info info;
	struct vs_memory_own own; /* written if it has flags */
	uint32_t nr_holders;
	struct vs_memory_holder holders[VS_MEMORY_HOLDERS_MAX];
};

/* False: there is no trace to write it to. */
bool vs_recorder_add_memory(struct vs_thread *self, const struct vs_memory_sampled *sampled);

/* Define a device when it is first used. Once per ordinal; later calls do nothing. */
bool vs_recorder_has_device(uint32_t device);
void vs_recorder_define_device(uint32_t device, const char *name, uint64_t total_size,
			       uint32_t compute_capability, const uint8_t uuid[16],
			       bool is_simulated);

/* Pools of the program or a framework. */
uint32_t vs_recorder_create_pool(struct vs_thread *self, enum vs_pool_owner owner, const char *name,
				 uint32_t device, uint64_t limit_size);
void vs_recorder_end_pool(struct vs_thread *self, uint32_t pool);
void vs_recorder_add_block(struct vs_thread *self, uint32_t pool, uint64_t address, uint64_t size);
/* The same, with what it was asked for: bytes, and the run of a function (0: none). */
void vs_recorder_add_asked_block(struct vs_thread *self, uint32_t pool, uint64_t address,
				 uint64_t size, uint64_t asked_size, uint64_t run);
void vs_recorder_free_block(struct vs_thread *self, uint32_t pool, uint64_t address);
void vs_recorder_fail_block(struct vs_thread *self, uint32_t pool, uint64_t size);

/* What the pool says about its failure just before, on this thread; any bytes. */
#define VS_RECORDER_TEXT_MAX 4000u
void vs_recorder_quote_failure(struct vs_thread *self, uint32_t pool, const char *text,
			       size_t size);

/* Something about the process; of a key, only the first counts. Needs no vs_guard_enter. */
void vs_recorder_add_fact(const char *key, const char *value);

/*
 * Phases of the thread. A source (vramscope.h, a domain of NVTX) has a stack of its own; what it
 * has not opened it cannot close. name: vs_recorder_name(), or VS_NO_ID. These, steps, marks and
 * ranges alone make no trace; open phases and ranges and the newest steps and marks are in it when
 * it begins.
 */
#define VS_PHASE_SOURCE_HEADER 0u
void vs_recorder_push_phase(struct vs_thread *self, uint32_t source, uint32_t name);
void vs_recorder_pop_phase(struct vs_thread *self, uint32_t source);

/* A phase of the process: any thread may end it. Returns its number; never 0. */
uint64_t vs_recorder_start_range(struct vs_thread *self, uint32_t name);
void vs_recorder_end_range(struct vs_thread *self, uint64_t id);
void vs_recorder_add_step(struct vs_thread *self, uint64_t number);
void vs_recorder_add_mark(struct vs_thread *self, uint32_t name);

/*
 * The calling thread has other threads do its work (delegation.h): what these allocate meanwhile is
 * shown below its Python frames. frame: of the hook. Returns what end_call is to be given; a call
 * that never ends, because an exception passed through, is over when its thread begins another.
 */
uint32_t vs_recorder_begin_call(struct vs_thread *self, enum vs_frame_link link, const void *frame);
void vs_recorder_end_call(struct vs_thread *self, uint32_t call);

/* How often a context was forgotten. Changes before the handle can mean another one. */
uint64_t vs_recorder_get_nr_forgotten_contexts(void);

/* ---- Not for hooks: for the rest of the recorder ---- */

/* An event that cannot be recorded, because its thread is in the recorder already. Any thread,
 * signal handlers too. */
void vs_recorder_lose_event(void);

/* Some library was unloaded: says which modules of the trace are gone. Any thread, anywhere. */
void vs_recorder_check_modules(void);

/* A child starts with nothing of its parent's. One thread. */
void vs_recorder_clear(void);

#endif

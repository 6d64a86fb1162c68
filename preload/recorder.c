#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "drain.h"
#include "handles.h"
#include "lifecycle.h"
#include "message.h"
#include "modules.h"
#include "names.h"
#include "pools.h"
#include "stack.h"
#include "stack_table.h"
#include "thread.h"

#define NR_DEVICES 128u

static struct vs_handles contexts;
static _Atomic uint32_t last_context;

/* Recording that knows the device. */
static _Atomic uint32_t device_defined_in[NR_DEVICES];

/* Lost events that LOST records tell of. */
static _Atomic uint64_t nr_told;

/* ---- Into the log ---------------------------------------------------------------------------- */

static bool put(struct vs_thread_state *self, const struct vs_record *record)
{
	size_t size = vs_codec_put_record(self->scratch->bytes, record);

	return vs_live_log_push(self->log, &self->claim, self->scratch->bytes, (uint32_t)size);
}

/* A definition; without it, the event that needs it cannot be kept. */
static bool define(struct vs_thread_state *self, const struct vs_record *record)
{
	if (!put(self, record))
		self->is_short = true;
	return !self->is_short;
}

static void define_thread(struct vs_thread_state *self)
{
	uint32_t recording = vs_lifecycle_recording();
	char name[17] = "";
	struct vs_record record = {.type = VS_RECORD_THREAD};

	if (self->defined_in == recording)
		return;
	prctl(PR_GET_NAME, name);
	record.thread_name.id = self->base.id;
	record.thread_name.tid = (uint32_t)syscall(SYS_gettid);
	record.thread_name.name.bytes = name;
	record.thread_name.name.size = (uint32_t)strlen(name);
	if (!define(self, &record))
		return;
	self->spare_stack = VS_NO_ID; /* numbers start anew with the recording */
	self->defined_in = recording;
}

/* Says how much was lost since it was last said, if there is room now. */
static void tell_lost(struct vs_thread_state *self)
{
	struct vs_record record = {.type = VS_RECORD_LOST, .thread = self->base.id};
	uint64_t lost = vs_live_log_get_lost(self->log);
	uint64_t told = atomic_load_explicit(&nr_told, memory_order_relaxed);

	/* The exchange: two threads never tell of the same loss. */
	if (lost <= told ||
	    !atomic_compare_exchange_strong_explicit(&nr_told, &told, lost, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	record.time_ns = vs_clock_now_ns() - vs_lifecycle_start_ns();
	record.lost.nr_events = lost - told;
	if (!put(self, &record))
		atomic_fetch_sub_explicit(&nr_told, lost - told, memory_order_relaxed);
}

static void leave(struct vs_thread_state *self)
{
	/* The signal handler of this thread must see the claim settled before it may record. */
	atomic_signal_fence(memory_order_seq_cst);
	self->base.is_inside = false;
	errno = self->saved_errno;
}

/* Into the recorder; false: there is nothing to write to. */
static bool enter(struct vs_thread *thread)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	self->saved_errno = errno;
	self->inside = __builtin_frame_address(0);
	self->is_short = false;
	self->base.is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	vs_message_flush();
	self->log = vs_lifecycle_get_log();
	if (!self->log)
		goto leave_recorder;
	if (!vs_thread_prepare(self)) {
		vs_live_log_add_lost(self->log);
		goto leave_recorder;
	}
	define_thread(self);
	if (vs_live_log_get_lost(self->log) && !self->is_short)
		tell_lost(self);
	return true;
leave_recorder:
	leave(self);
	return false;
}

/* The event itself, stamped now, and out of the recorder. */
static void finish(struct vs_thread *thread, struct vs_record *record)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	record->thread = self->base.id;
	record->time_ns = vs_clock_now_ns() - vs_lifecycle_start_ns();
	if (self->is_short || !put(self, record))
		vs_live_log_add_lost(self->log);
	if (vs_live_log_is_filling(self->log))
		vs_drain_wake();
	leave(self);
}

/* ---- Definitions that events need ------------------------------------------------------------ */

static uint32_t use_name(struct vs_thread *thread, uint32_t number)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	uint32_t recording = vs_lifecycle_recording();
	struct vs_record record = {.type = VS_RECORD_NAME, .name.id = number};

	if (number == VS_NO_ID || vs_names_is_defined(number, recording))
		return number;
	record.name.text = vs_names_text(number);
	if (define(self, &record))
		vs_names_set_defined(number, recording);
	return number;
}

static uint32_t use_pool(struct vs_thread *thread, uint32_t number)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	uint32_t recording = vs_lifecycle_recording();
	struct vs_record record = {.type = VS_RECORD_POOL};

	if (number == VS_NO_ID || vs_pools_is_defined(number, recording) ||
	    !vs_pools_get(number, &record.pool))
		return number;
	if (define(self, &record))
		vs_pools_set_defined(number, recording);
	return number;
}

static void define_modules(struct vs_thread_state *self, const struct vs_stack *stack)
{
	struct vs_record record = {.type = VS_RECORD_MODULE};

	for (uint32_t i = 0; i < stack->nr_frames && !self->is_short; i++) {
		/* A return address may be the first one behind its function's module. */
		if (!vs_modules_describe(stack->frames[i] - 1, &record.module, self->scratch->path,
					 sizeof(self->scratch->path)))
			continue;
		if (define(self, &record))
			vs_modules_add(&record.module);
		else
			vs_modules_give_back(&record.module);
	}
}

static uint32_t define_stack(struct vs_thread_state *self, const struct vs_stack_table_key *key,
			     const struct vs_stack *stack)
{
	struct vs_record record = {.type = VS_RECORD_STACK, .stack = *stack};

	record.stack.id = self->spare_stack ? self->spare_stack : vs_stack_table_new_number();
	if (record.stack.id == VS_NO_ID)
		return VS_NO_ID;
	self->spare_stack = record.stack.id;
	define_modules(self, stack);
	if (self->is_short || !define(self, &record))
		return VS_NO_ID;
	self->spare_stack = VS_NO_ID;
	vs_stack_table_add(key, &record.stack);
	return record.stack.id;
}

/* The stack of the outermost hook; captured once for all events of it. */
static uint32_t use_stack(struct vs_thread *thread)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	struct vs_stack_table_key key;
	struct vs_stack stack;

	if (thread->stack != VS_NO_ID || vs_lifecycle_settings()->no_stacks)
		return thread->stack;
	vs_stack_capture(self, &stack);
	if (stack.nr_frames == 0)
		return VS_NO_ID;
	thread->stack = vs_stack_table_find(&key, &stack);
	if (thread->stack == VS_NO_ID)
		thread->stack = define_stack(self, &key, &stack);
	return thread->stack;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

uint32_t vs_recorder_name(const char *text)
{
	/* A hook may ask before it enters. */
	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	return vs_names_get(text);
}

void vs_recorder_add_alloc(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			   uint64_t address, uint64_t size, uint32_t pool, uint32_t context)
{
	struct vs_record record = {.type = VS_RECORD_ALLOC};

	self->nr_events++;
	if (!enter(self))
		return;
	record.alloc = (struct vs_alloc){
		.kind = kind,
		.device = device,
		.address = address,
		.size = size,
		.pool = use_pool(self, pool),
		.context = context,
		.stack = use_stack(self),
		.api = use_name(self, self->api),
	};
	finish(self, &record);
}

void vs_recorder_add_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address)
{
	struct vs_record record = {.type = VS_RECORD_FREE};

	self->nr_events++;
	if (!enter(self))
		return;
	record.free = (struct vs_free){
		.kind = kind,
		.address = address,
		.stack = use_stack(self),
		.api = use_name(self, self->api),
	};
	finish(self, &record);
}

void vs_recorder_take_back_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address,
				uint32_t error)
{
	struct vs_record record = {.type = VS_RECORD_FREE_FAILED};

	self->nr_events++;
	if (!enter(self))
		return;
	record.free_failed =
		(struct vs_free_failed){.kind = kind, .address = address, .error = error};
	finish(self, &record);
}

void vs_recorder_add_failure(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			     uint64_t size, uint32_t error, uint64_t free_size, uint64_t total_size,
			     uint32_t pool)
{
	struct vs_record record = {.type = VS_RECORD_ALLOC_FAILED};

	self->nr_events++;
	if (!enter(self))
		return;
	record.alloc_failed = (struct vs_alloc_failed){
		.kind = kind,
		.device = device,
		.size = size,
		.error = error,
		.free_size = free_size,
		.total_size = total_size,
		.pool = use_pool(self, pool),
		.stack = use_stack(self),
		.api = use_name(self, self->api),
	};
	finish(self, &record);
}

static void add_reserve(struct vs_thread *self, enum vs_record_type type, uint64_t address,
			uint64_t size)
{
	struct vs_record record = {.type = type};

	self->nr_events++;
	if (!enter(self))
		return;
	record.reserve = (struct vs_reserve){.address = address, .size = size};
	finish(self, &record);
}

void vs_recorder_add_reserve(struct vs_thread *self, uint64_t address, uint64_t size)
{
	add_reserve(self, VS_RECORD_RESERVE, address, size);
}

void vs_recorder_add_unreserve(struct vs_thread *self, uint64_t address, uint64_t size)
{
	add_reserve(self, VS_RECORD_UNRESERVE, address, size);
}

static void add_map(struct vs_thread *self, enum vs_record_type type, const struct vs_map *map)
{
	struct vs_record record = {.type = type};

	self->nr_events++;
	if (!enter(self))
		return;
	record.map = *map;
	finish(self, &record);
}

void vs_recorder_add_map(struct vs_thread *self, uint64_t address, uint64_t size, uint64_t handle,
			 uint64_t offset)
{
	struct vs_map map = {.address = address, .size = size, .handle = handle, .offset = offset};

	add_map(self, VS_RECORD_MAP, &map);
}

void vs_recorder_add_unmap(struct vs_thread *self, uint64_t address, uint64_t size)
{
	struct vs_map map = {.address = address, .size = size};

	add_map(self, VS_RECORD_UNMAP, &map);
}

/* ---- Contexts, devices ----------------------------------------------------------------------- */

void vs_recorder_add_context(struct vs_thread *self, enum vs_context_change change,
			     uint32_t context, uint32_t device)
{
	struct vs_record record = {.type = VS_RECORD_CONTEXT};

	self->nr_events++;
	if (!enter(self))
		return;
	record.context =
		(struct vs_context){.change = change, .context = context, .device = device};
	finish(self, &record);
}

uint32_t vs_recorder_context(uint64_t handle)
{
	uint32_t number = vs_handles_find(&contexts, handle);

	if (number || !handle)
		return number;
	number = atomic_fetch_add_explicit(&last_context, 1, memory_order_relaxed) + 1;
	return vs_handles_add(&contexts, handle, number);
}

void vs_recorder_forget_context(uint64_t handle)
{
	vs_handles_forget(&contexts, handle);
}

bool vs_recorder_has_device(uint32_t device)
{
	return device >= NR_DEVICES ||
	       atomic_load_explicit(&device_defined_in[device], memory_order_acquire) ==
		       vs_lifecycle_recording();
}

void vs_recorder_define_device(uint32_t device, const char *name, uint64_t total_size,
			       uint32_t compute_capability, const uint8_t uuid[16],
			       bool is_simulated)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_record record = {.type = VS_RECORD_DEVICE};

	if (vs_recorder_has_device(device) || !enter(&self->base))
		return;
	record.device = (struct vs_device){
		.device = device,
		.total_size = total_size,
		.compute_capability = compute_capability,
		.is_simulated = is_simulated,
		.name = {.bytes = name, .size = (uint32_t)strlen(name)},
	};
	memcpy(record.device.uuid, uuid, sizeof(record.device.uuid));
	if (define(self, &record))
		atomic_store_explicit(&device_defined_in[device], vs_lifecycle_recording(),
				      memory_order_release);
	leave(self);
}

/* ---- Pools ----------------------------------------------------------------------------------- */

uint32_t vs_recorder_driver_pool(uint64_t handle, uint32_t device)
{
	return vs_pools_get_driver(handle, device);
}

void vs_recorder_add_pool_state(struct vs_thread *self, uint32_t pool, uint64_t reserved_size,
				uint64_t used_size)
{
	struct vs_record record = {.type = VS_RECORD_POOL_STATE};

	self->nr_events++;
	if (!enter(self))
		return;
	record.pool_state = (struct vs_pool_state){
		.pool = use_pool(self, pool),
		.reserved_size = reserved_size,
		.used_size = used_size,
	};
	finish(self, &record);
}

uint32_t vs_recorder_create_pool(struct vs_thread *self, enum vs_pool_owner owner, const char *name,
				 uint32_t device, uint64_t limit_size)
{
	struct vs_pool pool = {
		.owner = owner,
		.device = device,
		.limit_size = limit_size,
		.name = {.bytes = name, .size = (uint32_t)strlen(name)},
	};
	uint32_t number = vs_pools_add(&pool);
	struct vs_thread_state *state = (struct vs_thread_state *)self;

	/* Its own event, so to say: a pool that is never used is in the trace, too. */
	if (number != VS_NO_ID && enter(self)) {
		use_pool(self, number);
		leave(state);
	}
	return number;
}

void vs_recorder_end_pool(struct vs_thread *self, uint32_t pool)
{
	struct vs_record record = {.type = VS_RECORD_POOL_END};

	if (pool == VS_NO_ID)
		return;
	self->nr_events++;
	if (!enter(self))
		return;
	record.pool_end.pool = use_pool(self, pool);
	finish(self, &record);
}

void vs_recorder_end_driver_pool(struct vs_thread *self, uint64_t handle)
{
	vs_recorder_end_pool(self, vs_pools_forget_driver(handle));
}

void vs_recorder_add_block(struct vs_thread *self, uint32_t pool, uint64_t address, uint64_t size)
{
	struct vs_record record = {.type = VS_RECORD_BLOCK_ALLOC};

	self->nr_events++;
	if (!enter(self))
		return;
	record.block_alloc = (struct vs_block_alloc){
		.pool = use_pool(self, pool),
		.address = address,
		.size = size,
		.stack = use_stack(self),
	};
	finish(self, &record);
}

void vs_recorder_free_block(struct vs_thread *self, uint32_t pool, uint64_t address)
{
	struct vs_record record = {.type = VS_RECORD_BLOCK_FREE};

	self->nr_events++;
	if (!enter(self))
		return;
	record.block_free = (struct vs_block_free){
		.pool = use_pool(self, pool),
		.address = address,
		.stack = use_stack(self),
	};
	finish(self, &record);
}

void vs_recorder_fail_block(struct vs_thread *self, uint32_t pool, uint64_t size)
{
	struct vs_record record = {.type = VS_RECORD_BLOCK_FAILED};

	self->nr_events++;
	if (!enter(self))
		return;
	record.block_failed = (struct vs_block_failed){
		.pool = use_pool(self, pool), .size = size, .stack = use_stack(self)};
	finish(self, &record);
}

/* ---- Phases ---------------------------------------------------------------------------------- */

void vs_recorder_push_phase(struct vs_thread *self, const char *name)
{
	struct vs_record record = {.type = VS_RECORD_PHASE_PUSH};

	self->nr_events++;
	if (!enter(self))
		return;
	record.phase_push.name = use_name(self, vs_names_get(name));
	finish(self, &record);
}

void vs_recorder_pop_phase(struct vs_thread *self)
{
	struct vs_record record = {.type = VS_RECORD_PHASE_POP};

	self->nr_events++;
	if (enter(self))
		finish(self, &record);
}

void vs_recorder_add_step(struct vs_thread *self, uint64_t number)
{
	struct vs_record record = {.type = VS_RECORD_STEP, .step.number = number};

	self->nr_events++;
	if (enter(self))
		finish(self, &record);
}

void vs_recorder_add_mark(struct vs_thread *self, const char *name)
{
	struct vs_record record = {.type = VS_RECORD_MARK};

	self->nr_events++;
	if (!enter(self))
		return;
	record.mark.name = use_name(self, vs_names_get(name));
	finish(self, &record);
}

/* ---- Not for hooks --------------------------------------------------------------------------- */

void vs_recorder_clear(void)
{
	vs_stack_table_clear();
	vs_modules_clear();
	atomic_store_explicit(&nr_told, 0, memory_order_relaxed);
}

void vs_recorder_check_modules(void)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_record record = {.type = VS_RECORD_MODULE_END};
	uint32_t number;

	if (!vs_lifecycle_peek_log() || self->base.is_inside || !enter(&self->base))
		return;
	/* A stack that had no number left may have had frames anywhere. */
	if (vs_stack_table_get_overflow())
		vs_stack_forget_code();
	while ((number = vs_modules_take_unloaded()) != VS_NO_ID) {
		vs_stack_forget_code();
		vs_stack_table_expire();
		record.thread = self->base.id;
		record.time_ns = vs_clock_now_ns() - vs_lifecycle_start_ns();
		record.module_end.id = number;
		if (!put(self, &record))
			vs_live_log_add_lost(self->log);
	}
	leave(self);
}

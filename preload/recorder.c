#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delegation.h"
#include "drain.h"
#include "event_room.h"
#include "facts.h"
#include "handles.h"
#include "hot.h"
#include "lifecycle.h"
#include "memory_info.h"
#include "message.h"
#include "modules.h"
#include "names.h"
#include "pool_request.h"
#include "pools.h"
#include "ranges.h"
#include "recorder_define.h"
#include "recorder_past.h"
#include "session.h"
#include "stack.h"
#include "stack_number.h"
#include "stack_table.h"
#include "thread.h"
#include "thread_calls.h"
#include "usual.h"

#define NR_DEVICES 128u

static struct vs_handles contexts;
static _Atomic uint32_t last_context;
VS_HOT_DATA static _Atomic uint64_t nr_forgotten_contexts;

/* Recording that knows the device. */
static _Atomic uint32_t device_defined_in[NR_DEVICES];

/* Lost events that LOST records tell of. */
static _Atomic uint64_t nr_told;

/* Lost before there was a log that counts them. */
static _Atomic uint64_t nr_lost_early;

/* ---- Into the log ---------------------------------------------------------------------------- */

static __attribute__((noinline)) void lose(struct vs_live_log *log, uint64_t nr_events)
{
	if (!nr_events)
		return;
	vs_live_log_add_lost(log, nr_events);
	vs_usual_clear(VS_USUAL_WHOLE);
}

bool vs_recorder_define(struct vs_thread_state *self, const struct vs_record *definition)
{
	struct vs_live_record *record;
	uint32_t size;

	if (self->is_short)
		return false;
	size = (uint32_t)vs_codec_put_record(self->scratch->bytes, definition);
	record = vs_event_room_begin_record(self, vs_event_room_pad(size));
	if (!record) {
		self->is_short = true;
		return false;
	}
	record->type = (uint8_t)definition->type;
	record->flags = VS_LIVE_ENCODED;
	if (self->past)
		record->ticks = self->past;
	memcpy(record + 1, self->scratch->bytes, size);
	vs_ring_end(&self->ring, record);
	return true;
}

/* Those that a thread knows to be defined: most of what it uses is in here. */
static inline bool is_known(uint64_t known, uint32_t number)
{
	return number < 64 && known >> number & 1;
}

static inline uint64_t make_known(uint32_t number)
{
	return number < 64 ? UINT64_C(1) << number : 0;
}

/* A ring in this recording's log, and a name for it. */
static bool open_ring(struct vs_thread_state *self, struct vs_live_log *log)
{
	bool is_open = vs_ring_open(&self->ring, log, self->base.id);
	struct vs_record record = {.type = VS_RECORD_THREAD};
	char name[17] = "";

	for (int i = 0; i < VS_EVENT_ROOM_NR_TRIES && !is_open && vs_live_log_has_slot(log) &&
			vs_session_make_room();
	     i++)
		is_open = vs_ring_open(&self->ring, log, self->base.id);
	if (!is_open)
		return false;
	self->spare_stack = VS_NO_ID; /* numbers start anew with the recording */
	self->defined_in = vs_lifecycle_recording();
	self->takes_free_stacks = vs_lifecycle_settings()->free_stacks;
	self->known_names = make_known(VS_NO_ID);
	self->known_pools = make_known(VS_NO_ID);
	self->base.ticket = vs_usual_make_ticket(self->defined_in);
	prctl(PR_GET_NAME, name);
	record.thread_name.id = self->base.id;
	record.thread_name.tid = (uint32_t)syscall(SYS_gettid);
	record.thread_name.name.bytes = name;
	record.thread_name.name.size = (uint32_t)strlen(name);
	/* The first of its ring, which has room for it. */
	return vs_recorder_define(self, &record);
}

/* What this recording does not know yet of the process. */
static void define_facts(struct vs_thread_state *self)
{
	struct vs_record record = {.type = VS_RECORD_FACT};
	uint32_t i = 0;

	for (; vs_facts_next_undefined(vs_lifecycle_recording(), &i, &record.fact); i++)
		if (vs_recorder_define(self, &record))
			vs_facts_set_defined(i, vs_lifecycle_recording());
}

/* Says how much was lost since it was last said, if there is room now. */
static __attribute__((noinline)) void tell_lost(struct vs_thread_state *self)
{
	struct vs_lost record;
	uint64_t lost = vs_live_log_get_lost(self->ring.log);
	uint64_t told = atomic_load_explicit(&nr_told, memory_order_relaxed);

	/* The exchange: two threads never tell of the same loss. */
	if (lost <= told ||
	    !atomic_compare_exchange_strong_explicit(&nr_told, &told, lost, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	record.nr_events = lost - told;
	if (!vs_event_room_put(self, VS_RECORD_LOST, &record, sizeof(record)))
		atomic_fetch_sub_explicit(&nr_told, lost - told, memory_order_relaxed);
}

static void leave(struct vs_thread_state *self)
{
	/* The signal handler of this thread must see the claim settled before it may record. */
	atomic_signal_fence(memory_order_seq_cst);
	self->base.is_inside = false;
	*self->error_number = self->saved_errno;
}

/* ---- In and out ------------------------------------------------------------------------------ */

/* A ring, and what this thread said before it had one. */
static bool begin_ring(struct vs_thread_state *self, struct vs_live_log *log)
{
	bool is_open;

	self->past = vs_recorder_past_get_first(self);
	is_open = open_ring(self, log);
	if (is_open)
		lose(log, vs_recorder_past_say(self));
	self->past = 0;
	return is_open;
}

/* The rare half of enter(): the first event of a thread, or of the whole recording. */
static __attribute__((noinline)) bool begin_thread(struct vs_thread_state *self, unsigned nr_events)
{
	struct vs_live_log *log = vs_lifecycle_get_log();

	if (!log)
		return false;
	if (self->defined_in == vs_lifecycle_recording())
		return true;
	lose(log, atomic_exchange_explicit(&nr_lost_early, 0, memory_order_relaxed));
	vs_ring_forget(&self->ring);
	if (vs_thread_prepare(self) && begin_ring(self, log)) {
		define_facts(self);
		return true;
	}
	lose(log, nr_events);
	vs_drain_wake();
	return false;
}

/* Something is to be seen to first. False: there is nothing to write to. */
static __attribute__((noinline)) bool enter_otherwise(struct vs_thread_state *self,
						      unsigned nr_events)
{
	self->error_number = &errno;
	self->saved_errno = errno;
	self->is_short = false;
	vs_message_flush();
	if ((!vs_lifecycle_is_open() || self->defined_in != vs_lifecycle_recording()) &&
	    !begin_thread(self, nr_events)) {
		leave(self);
		return false;
	}
	if (!(vs_usual_get() & VS_USUAL_WHOLE))
		tell_lost(self);
	return true;
}

/* Into the recorder, for so many events; false: there is nothing to write to. */
static inline __attribute__((always_inline)) bool enter_for(struct vs_thread *thread,
							    unsigned nr_events)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	/* A handler before the second of these has the recorder to itself, and leaves its own frame
	 * behind; one after it is turned away, and asks for the frame. */
	self->inside = __builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	self->base.is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	self->inside = __builtin_frame_address(0);
	/* Once more: the call that lies between may have taken its time. */
	if (__builtin_expect(self->base.ticket != vs_usual_get(), 0))
		return enter_otherwise(self, nr_events);
	self->saved_errno = *self->error_number;
	self->is_short = false;
	return true;
}

/* Inlined where most events are; the rest shares a copy. */
static inline __attribute__((always_inline)) bool enter_quickly(struct vs_thread *thread)
{
	return enter_for(thread, 1);
}

VS_HOT static __attribute__((noinline)) bool enter(struct vs_thread *thread)
{
	return enter_for(thread, 1);
}

/* What is rare at the end of an event. */
static __attribute__((noinline)) void finish_otherwise(struct vs_thread_state *self, bool is_kept)
{
	if (!is_kept)
		lose(self->ring.log, 1);
	if (!is_kept || (self->ring.has_moved && vs_ring_is_log_filling(&self->ring)))
		vs_drain_wake();
	self->ring.has_moved = false;
}

/* Out of the recorder, whether the event was kept or not. */
static inline void finish(struct vs_thread_state *self, bool is_kept)
{
	if (__builtin_expect(!is_kept || self->ring.has_moved, 0))
		finish_otherwise(self, is_kept);
	leave(self);
}

/* The event itself, stamped now, and out of the recorder. */
static inline __attribute__((always_inline)) void write_event(struct vs_thread *thread,
							      enum vs_record_type type,
							      const void *body, uint32_t size)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	finish(self, !self->is_short && vs_event_room_put(self, type, body, size));
}

/* ---- Definitions that events need ------------------------------------------------------------ */

/* Each of these has a rare half of its own: a whole record is a lot to clear at every event. */

static __attribute__((noinline)) void define_name(struct vs_thread_state *self, uint32_t number)
{
	struct vs_record record = {.type = VS_RECORD_NAME, .name.id = number};

	record.name.text = vs_names_text(number);
	if (vs_recorder_define(self, &record))
		vs_names_set_defined(number, vs_lifecycle_recording());
}

uint32_t vs_recorder_keep_name(const char *text)
{
	return vs_names_get(text);
}

void vs_recorder_define_name(struct vs_thread_state *self, uint32_t number)
{
	if (number != VS_NO_ID && !vs_names_is_defined(number, vs_lifecycle_recording()))
		define_name(self, number);
}

static __attribute__((noinline)) void use_other_name(struct vs_thread_state *self, uint32_t number)
{
	vs_recorder_define_name(self, number);
	if (vs_names_is_defined(number, vs_lifecycle_recording()))
		self->known_names |= make_known(number);
}

static inline uint32_t use_name(struct vs_thread *thread, uint32_t number)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	if (__builtin_expect(!is_known(self->known_names, number), 0))
		use_other_name(self, number);
	return number;
}

static __attribute__((noinline)) void define_pool(struct vs_thread_state *self, uint32_t number)
{
	struct vs_record record = {.type = VS_RECORD_POOL};

	if (vs_pools_get(number, &record.pool) && vs_recorder_define(self, &record))
		vs_pools_set_defined(number, vs_lifecycle_recording());
}

static __attribute__((noinline)) void use_other_pool(struct vs_thread_state *self, uint32_t number)
{
	if (!vs_pools_is_defined(number, vs_lifecycle_recording()))
		define_pool(self, number);
	if (vs_pools_is_defined(number, vs_lifecycle_recording()))
		self->known_pools |= make_known(number);
}

static inline uint32_t use_pool(struct vs_thread *thread, uint32_t number)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	if (__builtin_expect(!is_known(self->known_pools, number), 0))
		use_other_pool(self, number);
	return number;
}

/* ---- Events with a stack --------------------------------------------------------------------- */

/* A stack that is new, in front of the event that is begun, which will be stamped anew. */
static __attribute__((noinline)) void learn_first(struct vs_thread_state *self)
{
	vs_ring_cancel(&self->ring);
	vs_stack_number_learn(&self->base);
}

/*
 * As vs_event_room_begin(), in the recorder; the number of the stack is in self->base.stack then.
 * It is stamped before the stack is looked for: the clock waits until all that came before is done,
 * and would wait for that as well; what comes behind goes on beside the program.
 */
static inline __attribute__((always_inline)) void *begin_with_stack(struct vs_thread_state *self,
								    enum vs_record_type type,
								    uint32_t size)
{
	void *body = self->is_short ? NULL : vs_event_room_begin(self, type, size);

	if (__builtin_expect(!body || vs_stack_number_recall(&self->base), 1))
		return body;
	learn_first(self);
	return self->is_short ? NULL : vs_event_room_begin(self, type, size);
}

static VS_COLD void find_free_stack(struct vs_thread_state *self)
{
	vs_stack_number_get(&self->base);
}

/* Not the one of an allocation in the same hook. */
static inline uint32_t get_free_stack(const struct vs_thread_state *self)
{
	return __builtin_expect(self->takes_free_stacks, 0) ? self->base.stack : VS_NO_ID;
}

/* The same for a free: who gave memory back is rarely asked, and costs as much as who took it. */
static inline __attribute__((always_inline)) void *begin_free(struct vs_thread_state *self,
							      enum vs_record_type type,
							      uint32_t size)
{
	if (__builtin_expect(self->takes_free_stacks, 0))
		find_free_stack(self);
	return self->is_short ? NULL : vs_event_room_begin(self, type, size);
}

/* Publishes the event, if there was room for it, and leaves the recorder. */
static inline __attribute__((always_inline)) void finish_event(struct vs_thread_state *self,
							       const void *body)
{
	if (__builtin_expect(body != NULL, 1))
		vs_event_room_end(self, body);
	finish(self, body != NULL);
}

/* The same for an event of a framework's pool. */
static inline __attribute__((always_inline)) void finish_block(struct vs_thread_state *self,
							       const void *body)
{
	finish_event(self, body);
	vs_ring_expect(&self->ring);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

uint32_t vs_recorder_name(const char *text)
{
	/* A hook may ask before it enters. */
	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	return vs_names_get(text);
}

VS_HOT void vs_recorder_add_alloc(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
				  uint64_t address, uint64_t size, uint32_t pool, uint32_t context)
{
	struct vs_thread_state *state = (struct vs_thread_state *)self;
	struct vs_alloc *event;

	self->nr_events++;
	self->last_device = device;
	if (!enter_quickly(self))
		return;
	use_pool(self, pool);
	use_name(self, self->api);
	event = begin_with_stack(state, VS_RECORD_ALLOC, sizeof(*event));
	if (__builtin_expect(event != NULL, 1))
		*event = (struct vs_alloc){
			.kind = kind,
			.device = device,
			.address = address,
			.size = size,
			.pool = pool,
			.context = context,
			.stack = self->stack,
			.api = self->api,
		};
	finish_event(state, event);
}

VS_HOT void vs_recorder_add_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address)
{
	struct vs_thread_state *state = (struct vs_thread_state *)self;
	struct vs_free *event;

	self->nr_events++;
	if (!enter_quickly(self))
		return;
	use_name(self, self->api);
	event = begin_free(state, VS_RECORD_FREE, sizeof(*event));
	if (__builtin_expect(event != NULL, 1))
		*event = (struct vs_free){
			.kind = kind,
			.address = address,
			.stack = get_free_stack(state),
			.api = self->api,
		};
	finish_event(state, event);
}

void vs_recorder_take_back_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address,
				uint32_t error)
{
	struct vs_free_failed event;

	self->nr_events++;
	if (!enter(self))
		return;
	event = (struct vs_free_failed){.kind = kind, .address = address, .error = error};
	write_event(self, VS_RECORD_FREE_FAILED, &event, sizeof(event));
}

void vs_recorder_add_failure(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			     uint64_t size, uint32_t error, uint64_t free_size, uint64_t total_size,
			     uint32_t pool)
{
	struct vs_alloc_failed event;

	self->nr_events++;
	/* Before the event is begun: it may be the first that is heard of the pool. */
	if (pool == VS_NO_ID)
		pool = vs_pool_request_get(self, device);
	if (!enter(self))
		return;
	event = (struct vs_alloc_failed){
		.kind = kind,
		.device = device,
		.size = size,
		.error = error,
		.free_size = free_size,
		.total_size = total_size,
		.pool = use_pool(self, pool),
		.stack = vs_stack_number_get(self),
		.api = use_name(self, self->api),
	};
	write_event(self, VS_RECORD_ALLOC_FAILED, &event, sizeof(event));
	vs_memory_info_note_failure(device);
}

static void add_reserve(struct vs_thread *self, enum vs_record_type type, uint64_t address,
			uint64_t size)
{
	struct vs_reserve event = {.address = address, .size = size};

	self->nr_events++;
	if (enter(self))
		write_event(self, type, &event, sizeof(event));
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
	self->nr_events++;
	if (enter(self))
		write_event(self, type, map, sizeof(*map));
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

void vs_recorder_add_seen_by(struct vs_thread *self, enum vs_seen_source source, uint64_t nr_events)
{
	struct vs_seen_by event = {.source = source, .nr_events = (uint32_t)nr_events};

	/* No event by itself: one that finds no room is not lost. */
	if (nr_events && vs_lifecycle_is_open() && enter_for(self, 0)) {
		(void)vs_event_room_put((struct vs_thread_state *)self, VS_RECORD_SEEN_BY, &event,
					sizeof(event));
		leave((struct vs_thread_state *)self);
	}
}

/* ---- Contexts, devices ----------------------------------------------------------------------- */

void vs_recorder_add_context(struct vs_thread *self, enum vs_context_change change,
			     uint32_t context, uint32_t device)
{
	struct vs_context event;

	self->nr_events++;
	if (!enter(self))
		return;
	event = (struct vs_context){.change = change, .context = context, .device = device};
	write_event(self, VS_RECORD_CONTEXT, &event, sizeof(event));
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
	atomic_fetch_add_explicit(&nr_forgotten_contexts, 1, memory_order_release);
}

uint64_t vs_recorder_get_nr_forgotten_contexts(void)
{
	return atomic_load_explicit(&nr_forgotten_contexts, memory_order_acquire);
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

	if (vs_recorder_has_device(device) || !enter_for(&self->base, 0))
		return;
	record.device = (struct vs_device){
		.device = device,
		.total_size = total_size,
		.compute_capability = compute_capability,
		.is_simulated = is_simulated,
		.name = {.bytes = name, .size = (uint32_t)strlen(name)},
	};
	memcpy(record.device.uuid, uuid, sizeof(record.device.uuid));
	if (vs_recorder_define(self, &record))
		atomic_store_explicit(&device_defined_in[device], vs_lifecycle_recording(),
				      memory_order_release);
	leave(self);
}

bool vs_recorder_add_memory(struct vs_thread *thread, const struct vs_memory_sampled *sampled)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	bool is_kept;

	if (!vs_lifecycle_is_open() || !enter_for(thread, 0))
		return false;
	for (uint32_t i = 0; i < sampled->nr_holders; i++)
		use_name(thread, sampled->holders[i].name);
	is_kept = !self->is_short && vs_event_room_put(self, VS_RECORD_MEMORY_INFO, &sampled->info,
						       sizeof(sampled->info));
	if (sampled->own.flags)
		is_kept = is_kept && vs_event_room_put(self, VS_RECORD_MEMORY_OWN, &sampled->own,
						       sizeof(sampled->own));
	for (uint32_t i = 0; i < sampled->nr_holders; i++)
		is_kept = is_kept &&
			  vs_event_room_put(self, VS_RECORD_MEMORY_HOLDER, &sampled->holders[i],
					    sizeof(sampled->holders[i]));
	finish(self, is_kept);
	return true;
}

/* ---- Pools ----------------------------------------------------------------------------------- */

uint32_t vs_recorder_driver_pool(uint64_t handle, uint32_t device)
{
	return vs_pools_get_driver(handle, device);
}

uint32_t vs_recorder_create_driver_pool(uint64_t handle, uint32_t device, uint64_t limit_size)
{
	return vs_pools_create_driver(handle, device, limit_size);
}

void vs_recorder_add_pool_state(struct vs_thread *self, uint32_t pool, uint64_t reserved_size,
				uint64_t used_size)
{
	struct vs_pool_state event;

	self->nr_events++;
	self->nr_states++;
	if (!enter(self))
		return;
	event = (struct vs_pool_state){
		.pool = use_pool(self, pool),
		.reserved_size = reserved_size,
		.used_size = used_size,
	};
	write_event(self, VS_RECORD_POOL_STATE, &event, sizeof(event));
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

	/* A pool that is never used is in the trace, too. Should it not be, nothing is lost. */
	if (number != VS_NO_ID && enter_for(self, 0)) {
		use_pool(self, number);
		leave(state);
	}
	return number;
}

void vs_recorder_end_pool(struct vs_thread *self, uint32_t pool)
{
	struct vs_pool_end event;

	if (pool == VS_NO_ID)
		return;
	self->nr_events++;
	self->nr_states++;
	if (!enter(self))
		return;
	event.pool = use_pool(self, pool);
	write_event(self, VS_RECORD_POOL_END, &event, sizeof(event));
}

void vs_recorder_end_driver_pool(struct vs_thread *self, uint64_t handle)
{
	vs_recorder_end_pool(self, vs_pools_forget_driver(handle));
}

VS_HOT void vs_recorder_add_block(struct vs_thread *self, uint32_t pool, uint64_t address,
				  uint64_t size)
{
	struct vs_thread_state *state = (struct vs_thread_state *)self;
	struct vs_block_alloc *event;

	self->nr_events++;
	if (!enter_quickly(self))
		return;
	use_pool(self, pool);
	event = begin_with_stack(state, VS_RECORD_BLOCK_ALLOC, sizeof(*event));
	if (__builtin_expect(event != NULL, 1))
		*event = (struct vs_block_alloc){
			.pool = pool,
			.address = address,
			.size = size,
			.stack = self->stack,
		};
	finish_block(state, event);
}

VS_HOT void vs_recorder_add_asked_block(struct vs_thread *self, uint32_t pool, uint64_t address,
					uint64_t size, uint64_t asked_size, uint64_t run)
{
	struct vs_thread_state *state = (struct vs_thread_state *)self;
	const uint32_t block_size = vs_event_room_pad(sizeof(struct vs_block_alloc));
	const uint32_t both_size = block_size + vs_event_room_pad(sizeof(struct vs_block_asked));
	struct vs_live_record *record;
	struct vs_block_alloc *event;

	self->nr_events += 2;
	if (!enter_for(self, 2))
		return;
	use_pool(self, pool);
	event = begin_with_stack(state, VS_RECORD_BLOCK_ALLOC, both_size - VS_LIVE_RECORD_HEAD);
	if (__builtin_expect(!event, 0)) {
		lose(state->ring.log, 1); /* finish() counts the other one */
		finish(state, false);
		return;
	}
	*event = (struct vs_block_alloc){
		.pool = pool,
		.address = address,
		.size = size,
		.stack = self->stack,
	};
	record = vs_ring_split((struct vs_live_record *)(void *)event - 1, block_size);
	record->type = VS_RECORD_BLOCK_ASKED;
	record->flags = 0;
	*(struct vs_block_asked *)(record + 1) =
		(struct vs_block_asked){.size = asked_size, .run = run};
	vs_ring_end_all(&state->ring, both_size, 2);
	finish(state, true);
	vs_ring_expect(&state->ring);
}

VS_HOT void vs_recorder_free_block(struct vs_thread *self, uint32_t pool, uint64_t address)
{
	struct vs_thread_state *state = (struct vs_thread_state *)self;
	struct vs_block_free *event;

	self->nr_events++;
	if (!enter_quickly(self))
		return;
	use_pool(self, pool);
	event = begin_free(state, VS_RECORD_BLOCK_FREE, sizeof(*event));
	if (__builtin_expect(event != NULL, 1))
		*event = (struct vs_block_free){
			.pool = pool,
			.address = address,
			.stack = get_free_stack(state),
		};
	finish_block(state, event);
}

void vs_recorder_fail_block(struct vs_thread *self, uint32_t pool, uint64_t size)
{
	struct vs_block_failed event;

	self->nr_events++;
	if (!enter(self))
		return;
	event = (struct vs_block_failed){
		.pool = use_pool(self, pool), .size = size, .stack = vs_stack_number_get(self)};
	write_event(self, VS_RECORD_BLOCK_FAILED, &event, sizeof(event));
	vs_memory_info_note_failure(VS_NO_DEVICE);
}

void vs_recorder_quote_failure(struct vs_thread *self, uint32_t pool, const char *text, size_t size)
{
	struct vs_thread_state *state = (struct vs_thread_state *)self;
	struct vs_record name = {.type = VS_RECORD_NAME};
	struct vs_block_failed_text event;

	name.name.id = vs_names_take_number();
	if (name.name.id == VS_NO_ID)
		return;
	self->nr_events++;
	if (!enter(self))
		return;
	name.name.text = (struct vs_text){
		.bytes = text,
		.size = size < VS_RECORDER_TEXT_MAX ? (uint32_t)size : VS_RECORDER_TEXT_MAX,
	};
	/* Used once, so it need not be in the table of names. */
	vs_recorder_define(state, &name);
	event = (struct vs_block_failed_text){.pool = use_pool(self, pool), .name = name.name.id};
	write_event(self, VS_RECORD_BLOCK_FAILED_TEXT, &event, sizeof(event));
}

/* ---- Facts ----------------------------------------------------------------------------------- */

void vs_recorder_add_fact(const char *key, const char *value)
{
	struct vs_thread_state *self = vs_thread_self();

	/* No event: without a log it waits for the first one. */
	if (!vs_facts_add(key, value) || !vs_lifecycle_peek_log() || self->base.is_inside ||
	    !enter_for(&self->base, 0))
		return;
	define_facts(self);
	leave(self);
}

/* ---- Phases ---------------------------------------------------------------------------------- */

/* The thread's own, or NULL: no memory. */
static struct vs_phases *get_phases(struct vs_thread *thread)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;

	if (!vs_thread_prepare(self))
		return NULL;
	vs_phases_enter(&self->scratch->phases, vs_lifecycle_recording());
	return &self->scratch->phases;
}

void vs_recorder_push_phase(struct vs_thread *self, uint32_t source, uint32_t name)
{
	struct vs_phases *phases = get_phases(self);
	struct vs_phase_push event;

	if (!phases)
		return;
	self->nr_events++;
	/* Entered first: the phases around this one are said then, if they were not yet. */
	if (vs_lifecycle_is_open() && enter(self)) {
		event.name = use_name(self, name);
		write_event(self, VS_RECORD_PHASE_PUSH, &event, sizeof(event));
		vs_phases_push(phases, source, name, (struct vs_clock_instant){0});
	} else {
		vs_phases_push(phases, source, name, vs_clock_peek());
	}
}

/* Closes so many phases, and opens those again that were only in the way. */
static bool put_pops(struct vs_thread *thread, const struct vs_phases *phases, uint32_t nr)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	struct vs_phase_push push;
	bool is_kept = true;

	for (uint32_t i = 0; i < nr; i++)
		is_kept &= vs_event_room_put(self, VS_RECORD_PHASE_POP, "", 0);
	for (uint32_t i = phases->depth - nr + 1; i < phases->depth; i++) {
		push.name = use_name(thread, phases->open[i].name);
		is_kept &= !self->is_short &&
			   vs_event_room_put(self, VS_RECORD_PHASE_PUSH, &push, sizeof(push));
	}
	return is_kept;
}

void vs_recorder_pop_phase(struct vs_thread *self, uint32_t source)
{
	struct vs_phases *phases = get_phases(self);
	bool is_entered = phases && vs_lifecycle_is_open() && enter(self);
	uint32_t nr = phases ? vs_phases_pop(phases, source) : 0;

	self->nr_events++;
	if (is_entered)
		finish((struct vs_thread_state *)self, !nr || put_pops(self, phases, nr));
}

uint64_t vs_recorder_start_range(struct vs_thread *self, uint32_t name)
{
	struct vs_range_start event = {.id = vs_ranges_new_id()};

	self->nr_events++;
	if (!vs_lifecycle_is_open()) {
		vs_ranges_add(event.id, name, vs_clock_peek());
	} else if (enter(self)) {
		event.name = use_name(self, name);
		write_event(self, VS_RECORD_RANGE_START, &event, sizeof(event));
	}
	return event.id;
}

void vs_recorder_end_range(struct vs_thread *self, uint64_t id)
{
	struct vs_range_end event = {.id = id};

	self->nr_events++;
	if (!vs_ranges_remove(id) && vs_lifecycle_is_open() && enter(self))
		write_event(self, VS_RECORD_RANGE_END, &event, sizeof(event));
}

static void note(struct vs_thread *self, bool is_step, uint64_t value)
{
	struct vs_phases *phases = get_phases(self);

	if (phases)
		vs_phases_add_note(phases,
				   &(struct vs_phase_note){is_step, value, vs_clock_peek()});
}

void vs_recorder_add_step(struct vs_thread *self, uint64_t number)
{
	struct vs_step event = {.number = number};

	self->nr_events++;
	if (!vs_lifecycle_is_open())
		note(self, true, number);
	else if (enter(self))
		write_event(self, VS_RECORD_STEP, &event, sizeof(event));
}

void vs_recorder_add_mark(struct vs_thread *self, uint32_t name)
{
	struct vs_mark event;

	self->nr_events++;
	if (!vs_lifecycle_is_open()) {
		note(self, false, name);
	} else if (enter(self)) {
		event.name = use_name(self, name);
		write_event(self, VS_RECORD_MARK, &event, sizeof(event));
	}
}

/* ---- Work that others do --------------------------------------------------------------------- */

VS_HOT uint32_t vs_recorder_begin_call(struct vs_thread *thread, enum vs_frame_link link,
				       const void *frame)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	uint32_t call;

	if (!enter_for(thread, 0))
		return VS_DELEGATION_NONE;
	call = vs_thread_calls_begin(self, link, frame);
	leave(self);
	return call;
}

VS_HOT void vs_recorder_end_call(struct vs_thread *thread, uint32_t call)
{
	vs_thread_calls_end((struct vs_thread_state *)thread, call);
}

/* ---- Not for hooks --------------------------------------------------------------------------- */

void vs_recorder_clear(void)
{
	vs_stack_table_clear();
	vs_python_code_clear();
	vs_delegation_clear();
	vs_modules_clear();
	vs_ranges_clear();
	atomic_store_explicit(&nr_told, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_lost_early, 0, memory_order_relaxed);
}

void vs_recorder_lose_event(void)
{
	struct vs_live_log *log = vs_lifecycle_peek_log();

	if (log)
		lose(log, 1);
	else
		atomic_fetch_add_explicit(&nr_lost_early, 1, memory_order_relaxed);
}

void vs_recorder_check_modules(void)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_module_end event;

	/* First, and whatever was unloaded: not every stack was written, nor every module. */
	vs_stack_forget_code();
	if (!vs_lifecycle_peek_log() || self->base.is_inside || !enter_for(&self->base, 0))
		return;
	while ((event.id = vs_modules_take_unloaded()) != VS_NO_ID) {
		vs_stack_table_expire();
		if (!vs_event_room_put(self, VS_RECORD_MODULE_END, &event, sizeof(event)))
			lose(self->ring.log, 1);
	}
	leave(self);
}

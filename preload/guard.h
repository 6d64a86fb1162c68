#ifndef VS_GUARD_H
#define VS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The door into the recorder. Every hook begins with vs_guard_enter() and ends with
 * vs_guard_leave(); between them lies the real call.
 *
 * Hooks nest: cudaMalloc calls cuMemAlloc_v2. What is recorded carries the name and the stack of
 * the outermost hook, because that is the call people know; it is recorded by the innermost level
 * that knows the facts (the driver's), once.
 *
 * enter answers NULL when there is nothing to record: recording is off or has failed, the thread is
 * inside the recorder itself (the drain thread, an unwinder that allocates), or this is a child
 * that has not started its own recording. A hook then makes the real call and nothing else.
 *
 * Both keep errno: a hook calls the real function with the errno its caller had, and returns with
 * the errno the real function left.
 */
enum vs_guard_level {
	VS_GUARD_RUNTIME, /* cuda*: gives the name; records only what no driver hook saw */
	VS_GUARD_DRIVER,  /* cu*: records */
	VS_GUARD_POOL,    /* blocks of a pool; never calls CUDA */
	VS_GUARD_TOLD     /* cu* as well, but seen from inside of it (told_calls.h): records what no
			     driver-level hook is around, with or without hooks. Odd, like
			     VS_GUARD_DRIVER: guard.c */
};

/* What the recorder knows of a thread. Owned by that thread; never freed while it lives. */
struct vs_thread {
	/*
	 * What keeps a hook from being as most are, in one word: door equals the word of usual.h if
	 * this thread has a ring in the recording, all is as usual there, no hook is on the stack,
	 * and the thread is not in the recorder's own code.
	 */
	union {
		struct {
			uint32_t ticket;   /* VS_GUARD_NO_TICKET: it has no ring */
			uint16_t depth;    /* hooks on the stack */
			uint8_t nr_driver; /* driver-level hooks among them, and told ones */
			bool is_inside;    /* in the recorder's own code: do not record */
		};
		uint64_t door;
	};
	uint32_t id;        /* number in the trace */
	uint32_t api;       /* name (by number) of the outermost hook */
	uint32_t stack;     /* its stack once captured, VS_NO_ID before */
	uint64_t nr_events; /* recorded by this thread: lets the runtime level see whether the
			       driver's did */
	uint64_t nr_states; /* of those, what no call of the driver did: states and ends of pools */
	uint64_t label;     /* a frame in front of the stack: what a framework is doing; 0: none */
	uint32_t last_device; /* that it took memory from */
	const void *frame;    /* frame address of the outermost hook: where a stack starts */
};

/* No word of usual.h. */
#define VS_GUARD_NO_TICKET UINT32_MAX

/*
 * api: number of the hook's name, from vs_recorder_name(). frame: __builtin_frame_address(0) of the
 * hook.
 */
struct vs_thread *vs_guard_enter(enum vs_guard_level level, uint32_t api, const void *frame);
void vs_guard_leave(struct vs_thread *self, enum vs_guard_level level);

/* nr_events of the calling thread. */
uint64_t vs_guard_count_events(void);

/* Whether a driver-level hook may record now: it is the outermost of the driver level. */
static inline bool vs_guard_is_outermost_driver(const struct vs_thread *self)
{
	return self->nr_driver == 1;
}

#endif

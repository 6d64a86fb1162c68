#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "delegation.h"
#include "drain.h"
#include "hot.h"
#include "lifecycle.h"

/*
 * Initial-exec: the library is there from the program's start, and no lazy allocation may happen
 * inside a hook. Small, because that space is scarce when it is loaded later.
 */
static __thread struct vs_thread_state state __attribute__((tls_model("initial-exec"))) = {
	.base.ticket = VS_GUARD_NO_TICKET,
};

static _Atomic uint32_t last_id;
static pthread_key_t cleanup_key;
static bool has_cleanup;

/* Not a ring of the parent's, if this is a forked child. */
static void end_ring(void)
{
	if (state.defined_in == vs_lifecycle_recording() && vs_ring_close(&state.ring))
		vs_drain_wake();
	state.defined_in = 0;
	state.base.ticket = VS_GUARD_NO_TICKET;
}

/* Nobody works for it any more, nor for calls that it left by an exception. */
static void end_calls(struct vs_thread_scratch *scratch)
{
	if (scratch->call_places_in != vs_lifecycle_recording())
		return;
	while (scratch->nr_calls)
		vs_delegation_end(scratch->calls[--scratch->nr_calls].call);
	while (scratch->nr_call_places)
		vs_delegation_give_back(scratch->call_places[--scratch->nr_call_places]);
}

/*
 * The thread ends. Destructors of others may still call CUDA after this: then the scratch memory is
 * mapped again, the key is set again, and this is called again.
 */
static void clean_up(void *scratch)
{
	int saved = errno;

	end_calls(scratch);
	end_ring();
	state.scratch = NULL;
	munmap(scratch, sizeof(struct vs_thread_scratch));
	errno = saved;
}

void vs_thread_init(void)
{
	has_cleanup = pthread_key_create(&cleanup_key, clean_up) == 0;
}

VS_HOT struct vs_thread_state *vs_thread_self(void)
{
	struct vs_thread_state *self = &state;

	/* The compiler is not to know what it points to: it would address some of it by the
	 * thread's register, some by the pointer, and not see that it is the same. */
	__asm__("" : "+r"(self));
	return self;
}

bool vs_thread_prepare(struct vs_thread_state *self)
{
	int saved = errno;
	void *scratch;

	if (self->scratch)
		return true;
	scratch = mmap(NULL, sizeof(*self->scratch), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (scratch != MAP_FAILED) {
		self->scratch = scratch;
		/* Without it the memory of a thread that ends is lost, and nothing else. */
		if (has_cleanup)
			pthread_setspecific(cleanup_key, scratch);
	}
	if (self->base.id == VS_NO_ID)
		self->base.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	errno = saved;
	return self->scratch != NULL;
}

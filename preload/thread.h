#ifndef VS_THREAD_H
#define VS_THREAD_H

#include "call_memo.h"
#include "codec.h"
#include "guard.h"
#include "phases.h"
#include "private_library.h"
#include "python_code.h"
#include "ring.h"
#include "stack_memo.h"
#include "text_memo.h"
#include "unwind.h"

/* More than the deepest stack: our own frames are taken off afterwards. */
#define VS_THREAD_NR_FRAMES (VS_STACK_MAX + 32)

#define VS_THREAD_PATH_MAX 4096

/* For the frames of Python among those of a stack. */
struct vs_thread_python {
	struct vs_python_frame frames[VS_PYTHON_MAX_FRAMES];
	uint64_t words[VS_PYTHON_MAX_FRAMES]; /* the same as a stack has them */
	bool ends_call[VS_PYTHON_MAX_FRAMES];
	bool is_evaluator[VS_THREAD_NR_FRAMES]; /* of native frames */
	uint64_t merged[VS_STACK_MAX];
	struct vs_python_code code;
	struct vs_python_code_memo codes;
};

/* Calls that this thread has others do the work of (delegation.h), and that may still be under way.
 */
#define VS_THREAD_MAX_CALLS 8

struct vs_thread_call {
	const void *frame; /* of the hook */
	uint32_t call;
	/* Where it was made, if what happens inside of it on this thread is known to have the same
	 * frames of Python around it; and these. */
	struct vs_python_place place;
	struct vs_unwind_path python;
};

/* Too large for a stranger's stack. Mapped at the thread's first event, unmapped at its end. */
struct vs_thread_scratch {
	uint8_t bytes[VS_CODEC_MAX];
	uint64_t frames[VS_THREAD_NR_FRAMES];
	char path[VS_THREAD_PATH_MAX];
	struct vs_unwind_thread unwind;
	struct vs_stack_memo stacks;
	struct vs_thread_python python;
	struct vs_thread_call calls[VS_THREAD_MAX_CALLS];
	uint32_t nr_calls;
	bool is_careful; /* some of its Python code is passing (vs_python_recall_carefully) */
	/* For calls one inside the other; taken in recording call_places_in. */
	uint32_t call_places[VS_THREAD_MAX_CALLS];
	uint32_t nr_call_places;
	uint32_t call_places_in;
	struct vs_call_memo call_frames;
	struct vs_text_memo texts;
	struct vs_phases phases;
	/* For the unwinder's slow way. */
	_Alignas(16) unsigned char context[VS_PRIVATE_LIBRARY_CONTEXT_SIZE];
	_Alignas(16) unsigned char cursor[VS_PRIVATE_LIBRARY_CURSOR_SIZE];
};

/* All that is known of a thread; hooks see the first part. Only its own thread touches it. */
struct vs_thread_state {
	struct vs_thread base;  /* first: a pointer to it is a pointer to this */
	uint32_t defined_in;    /* recording (vs_lifecycle_recording) that knows the thread */
	int saved_errno;        /* of the program, while is_inside */
	int *error_number;      /* where its errno is: asking libc costs a call */
	const void *inside;     /* a frame of the recorder's, while is_inside */
	const void *annotation; /* TensorFlow's of this thread (tensorflow_op.c), or NULL */
	bool is_short;          /* a definition could not be kept: nor can the event */
	bool takes_free_stacks; /* as settings.h says */
	uint32_t spare_stack;   /* a stack's number whose definition did not fit into the log */
	uint64_t past;          /* ticks that definitions get instead of now; 0: now */
	uint64_t known_names;   /* numbers below 64 whose names this recording knows, as bits */
	uint64_t known_pools;   /* the same of pools */
	struct vs_ring ring;    /* in the log of recording `defined_in` */
	struct vs_thread_scratch *scratch;
};

/* Makes the key whose destructor cleans up. Once. */
void vs_thread_init(void);

/* The calling thread's. Never NULL. Async-signal-safe. */
struct vs_thread_state *vs_thread_self(void);

/* Number and scratch memory, if it has none yet. False: no memory. Keeps errno. */
bool vs_thread_prepare(struct vs_thread_state *self);

#endif

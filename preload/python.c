#include "python.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hot.h"
#include "loaded_object.h"
#include "message.h"
#include "python_object.h"

VS_HOT_DATA struct vs_python vs_python;
VS_HOT_DATA atomic_bool vs_python_is_ready;

enum state {
	STATE_NONE,      /* not found yet */
	STATE_BUSY,      /* a thread is looking */
	STATE_REJECTED,  /* found, but `rejected_for`; nobody has said so yet */
	STATE_UNCHECKED, /* found; no thread with frames has come by yet */
	STATE_READY,
	STATE_OFF,
};

static _Atomic int state;

/* How many libraries had been loaded when somebody last looked. Whoever is BUSY owns it. */
static unsigned long long nr_loaded_then;

static const char *rejected_for;

#define MAX_CHECKED 100000u /* frames: a chain that is longer has no end */
#define MAX_CODE    144u    /* bytes of a code object that are looked at */

void vs_python_init(bool is_off)
{
	atomic_store_explicit(&state, is_off ? STATE_OFF : STATE_NONE, memory_order_relaxed);
}

void vs_python_begin_in_child(void)
{
	/* The thread that looked is not in the child. */
	if (atomic_load_explicit(&state, memory_order_relaxed) == STATE_BUSY)
		atomic_store_explicit(&state, STATE_NONE, memory_order_relaxed);
}

void vs_python_give_up(const char *reason)
{
	if (atomic_exchange_explicit(&state, STATE_OFF, memory_order_relaxed) == STATE_OFF)
		return;
	atomic_store_explicit(&vs_python_is_ready, false, memory_order_relaxed);
	vs_message_print("no Python lines in stacks: ", reason, NULL);
}

/* ---- Finding an interpreter ----------------------------------------------------------------- */

struct search {
	struct vs_loaded_object object;
	unsigned long long nr_loaded;
	bool is_found;
};

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	search->nr_loaded = info->dlpi_adds;
	if (search->nr_loaded == nr_loaded_then)
		return 1; /* nothing new: the same in every object */
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		if (!vs_loaded_object_at(
			    (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			    &search->object))
			return 0;
		search->is_found = vs_loaded_object_get_function(&search->object,
								 "PyGILState_GetThisThreadState") &&
				   vs_loaded_object_get_function(&search->object, "Py_GetVersion");
		return search->is_found;
	}
	return 0;
}

/* "3.11.7 (main, ...": PY_VERSION_HEX without its lower half. */
static uint32_t read_version(const char *text)
{
	uint32_t major = 0, minor = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		major = major * 10 + (uint32_t)(*text - '0');
	if (*text++ != '.')
		return 0;
	for (; *text >= '0' && *text <= '9'; text++)
		minor = minor * 10 + (uint32_t)(*text - '0');
	return major << 24 | minor << 16;
}

static uintptr_t get_data(const struct vs_loaded_object *object, const char *name)
{
	return (uintptr_t)vs_loaded_object_get_symbol(object, name, NULL);
}

/* NULL, or why its frames cannot be read. */
static const char *read_interpreter(const struct vs_loaded_object *object)
{
	const char *(*get_version)(void) =
		(const char *(*)(void))vs_loaded_object_get_function(object, "Py_GetVersion");
	const char *text = get_version();
	const void *runtime = (const void *)get_data(object, "_PyRuntime");
	uint32_t version = read_version(text);
	size_t size = 0;

	if (strstr(text, "PyPy"))
		return "this is PyPy";
	/* Only builds for debugging count references. */
	if (vs_loaded_object_get_function(object, "_Py_NegativeRefcount"))
		return "this Python was built for debugging";
	if (version >= 0x030d0000 && !runtime)
		return "this Python does not export _PyRuntime";
	switch (vs_python_layout_get(&vs_python.layout, version, runtime)) {
	case VS_PYTHON_KNOWN:
		break;
	case VS_PYTHON_TOO_OLD:
		return "this Python is older than 3.8";
	case VS_PYTHON_TOO_NEW:
		return "this Python is newer than this vramscope knows";
	case VS_PYTHON_FREE_THREADED:
		return "this Python is a free-threaded one";
	}
	vs_python.get_thread_state = (void *(*)(void))vs_loaded_object_get_function(
		object, "PyGILState_GetThisThreadState");
	vs_python.is_ending =
		(int (*)(void))vs_loaded_object_get_function(object, "Py_IsFinalizing");
	if (!vs_python.is_ending)
		vs_python.is_ending =
			(int (*)(void))vs_loaded_object_get_function(object, "_Py_IsFinalizing");
	vs_python.code_type = get_data(object, "PyCode_Type");
	vs_python.text_type = get_data(object, "PyUnicode_Type");
	vs_python.bytes_type = get_data(object, "PyBytes_Type");
	if (!vs_python.code_type || !vs_python.text_type || !vs_python.bytes_type)
		return "this Python does not export its types";
	/* Without it, all Python frames stand where the first of them does. */
	vs_python.evaluator =
		(uintptr_t)vs_loaded_object_get_symbol(object, "_PyEval_EvalFrameDefault", &size);
	vs_python.evaluator_size = size;
	return NULL;
}

/* ---- Are they what we take them for? -------------------------------------------------------- */

/*
 * An interpreter that ends frees the states of threads that it leaves behind (3.12), and does not
 * tell them. The one that ends it is the first thread.
 */
static bool is_left_behind(void)
{
	return vs_python.is_ending && __builtin_expect(vs_python.is_ending(), 0) &&
	       syscall(SYS_gettid) != getpid();
}

static bool has_type(uintptr_t object, uintptr_t type)
{
	return vs_unwind_memory_is_readable(object, 16) &&
	       vs_python_load(object, VS_PYTHON_OBJECT_TYPE) == type;
}

static bool is_code(const struct vs_python_layout *layout, uintptr_t code)
{
	return vs_unwind_memory_is_readable(code, MAX_CODE) &&
	       has_type(code, vs_python.code_type) &&
	       vs_python_is_text(vs_python_load(code, layout->code_file)) &&
	       vs_python_is_text(vs_python_load(code, layout->code_name)) &&
	       has_type(vs_python_load(code, layout->code_lines), vs_python.bytes_type);
}

/* 1: all frames of this thread are sound; 0: it has none; -1: they are not what they should be. */
static int check_frames(const struct vs_python_layout *layout)
{
	uintptr_t thread, frame;
	uint32_t nr = 0;

	if (is_left_behind())
		return 0;
	thread = (uintptr_t)vs_python.get_thread_state();
	if (!thread)
		return 0;
	if (!vs_unwind_memory_is_readable(thread, 256))
		return -1;
	frame = vs_python_load(thread, layout->thread_frame);
	if (frame && layout->thread_in_cframe) {
		if (!vs_unwind_memory_is_readable(frame, 32))
			return -1;
		frame = vs_python_load(frame, layout->thread_in_cframe - 1u);
	}
	for (; frame; frame = vs_python_load(frame, layout->frame_previous)) {
		if (nr++ == MAX_CHECKED || !vs_unwind_memory_is_readable(frame, layout->max_frame))
			return -1;
		if (!vs_python_is_shim(layout, frame) &&
		    !is_code(layout,
			     vs_python_load(frame, layout->frame_code) & layout->frame_code_mask))
			return -1;
	}
	return nr ? 1 : 0;
}

static bool claim(int from)
{
	return atomic_compare_exchange_strong_explicit(&state, &from, STATE_BUSY,
						       memory_order_acquire, memory_order_relaxed);
}

void vs_python_find(void)
{
	struct search search;
	int found = STATE_NONE;

	if (!claim(STATE_NONE))
		return;
	search = (struct search){.nr_loaded = nr_loaded_then};
	dl_iterate_phdr(find_interpreter, &search);
	nr_loaded_then = search.nr_loaded;
	if (search.is_found) {
		rejected_for = read_interpreter(&search.object);
		found = rejected_for ? STATE_REJECTED : STATE_UNCHECKED;
	}
	atomic_store_explicit(&state, found, memory_order_release);
}

VS_HOT void vs_python_check(void)
{
	int verdict, unchecked = STATE_UNCHECKED;

	switch (atomic_load_explicit(&state, memory_order_acquire)) {
	case STATE_REJECTED:
		vs_python_give_up(rejected_for);
		return;
	case STATE_UNCHECKED:
		break;
	default:
		return;
	}
	/* Threads that come at the same time all look: none of them has to do without. */
	verdict = check_frames(&vs_python.layout);
	if (verdict > 0 && (atomic_compare_exchange_strong(&state, &unchecked, STATE_READY) ||
			    unchecked == STATE_READY))
		atomic_store_explicit(&vs_python_is_ready, true, memory_order_release);
	else if (verdict < 0)
		vs_python_give_up("its frames are not where they are in other builds of this "
				  "version");
}

/* ---- The frames of this thread -------------------------------------------------------------- */

VS_UNWIND_UNWATCHED static uint32_t get_instruction(const struct vs_python_layout *layout,
						    uintptr_t frame, uintptr_t code)
{
	switch (layout->position) {
	case VS_PYTHON_BYTES:
		/* -1: not begun, also when it is halved. */
		return (uint32_t)((int32_t)vs_python_load32(frame, layout->frame_position) >> 1);
	case VS_PYTHON_UNITS:
		return vs_python_load32(frame, layout->frame_position);
	case VS_PYTHON_POINTER:
		break;
	}
	return (uint32_t)((int64_t)(vs_python_load(frame, layout->frame_position) - code -
				    layout->code_start) >>
			  1);
}

VS_HOT static uintptr_t get_first(const struct vs_python_layout *layout)
{
	uintptr_t thread;

	if (is_left_behind())
		return 0;
	thread = (uintptr_t)vs_python.get_thread_state();
	return thread ? vs_python_get_innermost(layout, thread) : 0;
}

#define MIX_1 UINT64_C(0x9e3779b97f4a7c15)
#define MIX_2 UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* How far a frame is, as it says it: enough to tell one from another. */
VS_UNWIND_UNWATCHED static inline uint64_t get_position(const struct vs_python_layout *layout,
							uintptr_t frame)
{
	return vs_python_load(frame, layout->frame_position) & layout->position_mask;
}

VS_HOT VS_UNWIND_UNWATCHED bool vs_python_get_place(struct vs_python_place *place)
{
	const struct vs_python_layout *layout = &vs_python.layout;

	place->frame = get_first(layout);
	if (!place->frame)
		return false;
	place->code = vs_python_load(place->frame, layout->frame_code) & layout->frame_code_mask;
	place->position = get_position(layout, place->frame);
	return true;
}

/* How a frame's code is told from others. */
enum telling {
	BY_SAMPLES,  /* by samples of its lines: up to 3.11, where each frame stands for code */
	BY_VERSIONS, /* by its number, if it has one */
	CAREFULLY,   /* also code that is passing */
};

/* how is known when it is compiled: between two calls the cache has lost what is not needed, too.
 * CAREFULLY: says in *is_passing whether some of the code is. */
VS_UNWIND_UNWATCHED static inline __attribute__((always_inline)) struct vs_unwind_path recall(
	uintptr_t frame, enum telling how, bool *is_passing)
{
	const struct vs_python_layout *layout = &vs_python.layout;
	uint64_t a = 0, b = 0;

	for (uint32_t nr = 0; frame; frame = vs_python_load(frame, layout->frame_previous)) {
		uintptr_t code;
		uint64_t what, where;

		if (how != BY_SAMPLES && vs_python_is_shim(layout, frame)) {
			b += MIX_2;
			continue;
		}
		if (nr++ == VS_PYTHON_MAX_FRAMES)
			break;
		code = vs_python_load(frame, layout->frame_code) & layout->frame_code_mask;
		where = code ^ get_position(layout, frame) << 32;
		if (how == CAREFULLY) {
			*is_passing |= vs_python_is_passing_code(layout, code);
			what = vs_python_get_fingerprint(layout, code);
		} else if (how == BY_VERSIONS) {
			what = vs_python_get_lasting_fingerprint(layout, code);
		} else {
			what = vs_python_get_sampled_fingerprint(layout, code);
		}
		a = (rotate(a, 29) ^ where) * MIX_1;
		b = (rotate(b, 23) ^ what ^ where >> 3) * MIX_2;
	}
	/* The innermost ones of more are not the same as all of so many. */
	return (struct vs_unwind_path){.a = a ^ b >> 32, .b = b + (frame != 0)};
}

VS_UNWIND_UNWATCHED static __attribute__((noinline)) struct vs_unwind_path recall_by_versions(
	uintptr_t frame)
{
	return recall(frame, BY_VERSIONS, NULL);
}

VS_HOT VS_UNWIND_UNWATCHED struct vs_unwind_path vs_python_recall(
	const struct vs_python_place *place)
{
	return vs_python.layout.code_version ? recall_by_versions(place->frame)
					     : recall(place->frame, BY_SAMPLES, NULL);
}

VS_UNWIND_UNWATCHED struct vs_unwind_path vs_python_recall_carefully(
	const struct vs_python_place *place, bool *is_passing)
{
	*is_passing = false;
	return recall(place->frame, CAREFULLY, is_passing);
}

/*
 * A call of the evaluator ends here. One that has left its last frame, and still clears it, has
 * none: what is destroyed then may run Python, too.
 */
static uint32_t end_call(struct vs_python_frame *frames, uint32_t nr, uint32_t max)
{
	if (nr && !frames[nr - 1].ends_call)
		frames[nr - 1].ends_call = true;
	else if (nr < max)
		frames[nr++] = (struct vs_python_frame){.ends_call = true};
	return nr;
}

VS_UNWIND_UNWATCHED uint32_t vs_python_walk(struct vs_python_frame *frames, uint32_t max,
					    bool *is_deep)
{
	const struct vs_python_layout *layout = &vs_python.layout;
	uintptr_t frame = get_first(layout);
	uint32_t nr = 0;

	for (; frame; frame = vs_python_load(frame, layout->frame_previous)) {
		if (vs_python_is_shim(layout, frame)) {
			nr = end_call(frames, nr, max);
			continue;
		}
		if (nr == max)
			break;
		frames[nr].code =
			vs_python_load(frame, layout->frame_code) & layout->frame_code_mask;
		frames[nr].instruction = get_instruction(layout, frame, frames[nr].code);
		frames[nr].ends_call = layout->entry == VS_PYTHON_EVERY ||
				       (layout->entry == VS_PYTHON_FLAG &&
					vs_python_load8(frame, layout->frame_entry) != 0);
		nr++;
	}
	*is_deep = frame != 0;
	while (nr && !frames[nr - 1].code)
		nr--;
	if (nr && !frame)
		frames[nr - 1].ends_call = true;
	return nr;
}

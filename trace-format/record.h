#ifndef VS_RECORD_H
#define VS_RECORD_H

/*
 * One record of a trace, decoded. The recorder fills these in and the writer encodes them; the
 * reader decodes them and the analyzer replays them. Text and frames belong to whoever made the
 * record: those of the reader are valid until the next record is read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

#define VS_NO_DEVICE    UINT32_MAX
#define VS_NO_ID        0 /* numbers of names, stacks, modules, threads and pools start at 1 */
#define VS_BUILD_ID_MAX 32
#define VS_STACK_MAX    512

struct vs_text {
	const char *bytes; /* not terminated */
	uint32_t size;
};

struct vs_name {
	uint32_t id;
	struct vs_text text;
};

struct vs_module {
	uint32_t id;
	uint64_t start; /* lowest mapped address, first one behind */
	uint64_t end;
	uint64_t bias; /* address in the process minus address in the file */
	struct vs_text path;
	uint8_t build_id[VS_BUILD_ID_MAX];
	uint32_t build_id_size;
};

/* Innermost first. frames[0] is an address in the function that called CUDA: a return address as
 * well. Frames of Python stand before the one of its interpreter that executes them. */
struct vs_stack {
	uint32_t id;
	const uint64_t *frames;
	uint32_t nr_frames;
	bool is_cut;  /* the unwinder could not go on: outer frames are missing */
	bool is_deep; /* deeper than the limit: outer frames are missing */
};

/*
 * Frames that are no addresses: the highest bit, which no address of a program has, is set. The
 * next three bits say what it is.
 */
#define VS_FRAME_IS_SPECIAL (UINT64_C(1) << 63)
#define VS_FRAME_KIND_SHIFT 60

enum vs_frame_kind {
	VS_FRAME_PYTHON = 8, /* 28 bits code object, 32 bits instruction */
	VS_FRAME_LINK = 9,   /* enum vs_frame_link */
	VS_FRAME_OP = 10,    /* 28 bits name of an operation, 24 of a region, 8 bits type */
};

/* What is outside of it ran on another thread, which had this one do its work. */
enum vs_frame_link {
	VS_LINK_BACKWARD = 1, /* torch: the frames of the call of backward() */
	VS_LINK_SEVERAL = 2,  /* the same of one out of several calls: there are no more frames */
	VS_LINK_EXECUTE = 3,  /* TensorFlow: the frames of the call of an operation or function */
	VS_LINK_EXECUTE_SEVERAL = 4, /* as above */
};

#define VS_CODE_MAX ((1u << 28) - 1) /* the highest number of a code object */

static inline bool vs_frame_is_special(uint64_t frame)
{
	return (frame & VS_FRAME_IS_SPECIAL) != 0;
}

static inline bool vs_frame_is(uint64_t frame, enum vs_frame_kind kind)
{
	return frame >> VS_FRAME_KIND_SHIFT == (uint64_t)kind;
}

/* instruction: in units of two bytes from the code's beginning; UINT32_MAX: it has not begun. */
static inline uint64_t vs_frame_make_python(uint32_t code, uint32_t instruction)
{
	return (uint64_t)VS_FRAME_PYTHON << VS_FRAME_KIND_SHIFT | (uint64_t)code << 32 |
	       instruction;
}

static inline uint32_t vs_frame_get_code(uint64_t frame)
{
	return (uint32_t)(frame >> 32) & VS_CODE_MAX;
}

static inline uint32_t vs_frame_get_instruction(uint64_t frame)
{
	return (uint32_t)frame;
}

static inline uint64_t vs_frame_make_link(enum vs_frame_link link)
{
	return (uint64_t)VS_FRAME_LINK << VS_FRAME_KIND_SHIFT | link;
}

/* An operation of a framework: numbers of names; region may be VS_NO_ID, type is as it says. */
static inline uint64_t vs_frame_make_op(uint32_t op, uint32_t region, uint32_t type)
{
	return (uint64_t)VS_FRAME_OP << VS_FRAME_KIND_SHIFT | (uint64_t)(op & VS_CODE_MAX) << 32 |
	       (region & 0xffffff) << 8 | (type & 0xff);
}

static inline uint32_t vs_frame_get_op(uint64_t frame)
{
	return (uint32_t)(frame >> 32) & VS_CODE_MAX;
}

static inline uint32_t vs_frame_get_region(uint64_t frame)
{
	return (uint32_t)frame >> 8;
}

/* Of its elements, as the framework numbers them; 0: not said. */
static inline uint32_t vs_frame_get_type(uint64_t frame)
{
	return frame & 0xff;
}

/* A Python code object. */
struct vs_code {
	uint32_t id;
	uint32_t version; /* of the interpreter: 0x030b for 3.11; tells the form of the table */
	uint32_t first_line;
	uint32_t lines_size; /* of its line table; its bytes come as CODE_LINES */
	struct vs_text file;
	struct vs_text name; /* qualified where Python has that (3.11) */
};

struct vs_code_lines {
	uint32_t id; /* of the code */
	uint32_t offset;
	struct vs_text bytes;
};

struct vs_thread_name {
	uint32_t id;
	uint32_t tid;
	struct vs_text name;
};

struct vs_device {
	uint32_t device; /* ordinal in the process */
	uint64_t total_size;
	uint32_t compute_capability; /* 90 for 9.0 */
	bool is_simulated;
	uint8_t uuid[16];
	struct vs_text name;
};

enum vs_pool_owner {
	VS_POOL_PROGRAM,   /* described through vramscope.h */
	VS_POOL_DRIVER,    /* stream-ordered pool of CUDA */
	VS_POOL_FRAMEWORK, /* PyTorch, TensorFlow, ... */
};

struct vs_pool {
	uint32_t id;
	enum vs_pool_owner owner;
	uint32_t device;
	uint64_t limit_size; /* 0: none known */
	uint64_t handle;     /* the pool's own address or handle */
	struct vs_text name;
};

/* Of a key that is there twice, the first counts. */
struct vs_fact {
	struct vs_text key; /* "torch.version" */
	struct vs_text value;
};

struct vs_alloc {
	enum vs_memory_kind kind;
	uint32_t device;
	uint64_t address; /* VMM: the handle; ARRAY: the array's handle */
	uint64_t size;    /* as asked for; for a pitched one, pitch x height */
	uint32_t pool;    /* ASYNC: which one */
	uint32_t context; /* number of the context it dies with; 0: none */
	uint32_t stack;
	uint32_t api; /* name of the function people know: cudaMalloc before cuMemAlloc_v2 */
};

/*
 * The kind is a hint: cuMemFree and cudaFree say DEVICE and cuMemFreeAsync says ASYNC, whatever the
 * memory is. What lives at the address decides; only VMM and ARRAY are numbers of spaces of their
 * own.
 */
struct vs_free {
	enum vs_memory_kind kind;
	uint64_t address;
	uint32_t stack;
	uint32_t api;
};

struct vs_free_failed {
	enum vs_memory_kind kind;
	uint64_t address;
	uint32_t error;
};

struct vs_alloc_failed {
	enum vs_memory_kind kind;
	uint32_t device;
	uint64_t size;
	uint32_t error;     /* CUresult or cudaError_t: the same numbers */
	uint64_t free_size; /* as the driver told right after; 0 and 0: not known */
	uint64_t total_size;
	uint32_t pool;
	uint32_t stack;
	uint32_t api;
};

struct vs_reserve {
	uint64_t address;
	uint64_t size;
};

struct vs_map {
	uint64_t address;
	uint64_t size;
	uint64_t handle;
	uint64_t offset;
};

enum vs_context_change {
	VS_CONTEXT_CREATED,
	VS_CONTEXT_DESTROYED,
	VS_CONTEXT_RESET
};

struct vs_context {
	enum vs_context_change change;
	uint32_t context; /* number; RESET: 0, everything of the device goes */
	uint32_t device;
};

struct vs_pool_state {
	uint32_t pool;
	uint64_t reserved_size;
	uint64_t used_size;
};

struct vs_pool_end {
	uint32_t pool;
};

struct vs_block_alloc {
	uint32_t pool;
	uint64_t address;
	uint64_t size;
	uint32_t stack;
};

struct vs_block_free {
	uint32_t pool;
	uint64_t address;
	uint32_t stack;
};

struct vs_block_failed {
	uint32_t pool;
	uint64_t size;
	uint32_t stack;
};

struct vs_phase_push {
	uint32_t name;
};

struct vs_step {
	uint64_t number;
};

struct vs_mark {
	uint32_t name;
};

struct vs_module_end {
	uint32_t id;
};

struct vs_lost {
	uint64_t nr_events;
};

/* A pool has placed blocks in the memory around the address, which may all be gone by now. */
struct vs_adopted {
	uint32_t pool;
	uint64_t address;
};

/* What the pool itself said of its BLOCK_FAILED before it on this thread. */
struct vs_block_failed_text {
	uint32_t pool;
	uint32_t name;
};

/* A phase of the whole process. Ids are not used again in a trace. */
struct vs_range_start {
	uint32_t name;
	uint64_t id;
};

struct vs_range_end {
	uint64_t id;
};

/* What the BLOCK_ALLOC before it on this thread was asked for. */
struct vs_block_asked {
	uint64_t size; /* in bytes; at most that of the block */
	uint64_t run;  /* of a function or operation, as the framework numbers them; 0: not said */
};

/* Not every source of events is a hook. */
enum vs_seen_source {
	VS_SEEN_BY_HOOKS, /* what no SEEN_BY tells of */
	VS_SEEN_BY_CUPTI,
};

/*
 * So many events of the driver (vs_record_is_of_driver) before it on this thread were seen by that
 * source and by no hook.
 */
struct vs_seen_by {
	uint32_t source; /* enum vs_seen_source; later versions may have others */
	uint32_t nr_events;
};

enum vs_memory_info_flag {
	VS_MEMORY_INFO_FAILURE = 1 << 0, /* asked for because a request failed */
};

/* A device as NVML tells of it, over all processes. */
struct vs_memory_info {
	uint32_t device;
	uint32_t flags; /* enum vs_memory_info_flag */
	uint64_t total_size;
	uint64_t free_size;
	uint64_t used_size;     /* by processes; the driver's own part is apart where it is told */
	uint64_t reserved_size; /* the driver's own part; 0: not told, part of used_size */
};

enum vs_memory_own_flag {
	VS_MEMORY_OWN_LISTED = 1 << 0,  /* our process is in NVML's list: all but context_size */
	VS_MEMORY_OWN_CONTEXT = 1 << 1, /* context_size was measured */
};

/* Whose it is, as far as that is known: right behind its MEMORY_INFO. */
struct vs_memory_own {
	uint32_t device;
	uint32_t flags;        /* enum vs_memory_own_flag; what they do not speak for is 0 */
	uint32_t nr_others;    /* processes in the list besides ours */
	uint64_t own_size;     /* of our process, context and all */
	uint64_t others_size;  /* of the others in the list, together */
	uint64_t context_size; /* what used_size grew by when our contexts there were created */
};

/* One of the others, the largest first, behind the MEMORY_OWN it belongs to. */
struct vs_memory_holder {
	uint32_t device;
	uint32_t pid;
	uint32_t name; /* VS_NO_ID: not known */
	uint64_t size;
};

/* A recorder names so many, a reader keeps so many. */
#define VS_MEMORY_HOLDERS_MAX 8u

struct vs_record {
	enum vs_record_type type;
	uint64_t time_ns; /* since the start of the trace; definitions: 0 */
	uint32_t thread;  /* number of the thread; definitions: 0 */

	/*
	 * Of events that were read from a block, for those who do not want to look for what they
	 * have seen before: allocations of the block count from 1; which one is it, and which one
	 * does it free, or had its address. 0: not known. Others may have anything.
	 */
	uint16_t birth;
	uint16_t before;
	union {
		struct vs_name name;
		struct vs_module module;
		struct vs_stack stack;
		struct vs_thread_name thread_name;
		struct vs_device device;
		struct vs_pool pool;
		struct vs_code code;
		struct vs_code_lines code_lines;
		struct vs_fact fact;
		struct vs_alloc alloc;
		struct vs_free free;
		struct vs_free_failed free_failed;
		struct vs_alloc_failed alloc_failed;
		struct vs_reserve reserve; /* UNRESERVE, too */
		struct vs_map map;         /* UNMAP: handle and offset 0 */
		struct vs_context context;
		struct vs_pool_state pool_state;
		struct vs_pool_end pool_end;
		struct vs_block_alloc block_alloc;
		struct vs_block_free block_free;
		struct vs_block_failed block_failed;
		struct vs_phase_push phase_push;
		struct vs_step step;
		struct vs_mark mark;
		struct vs_module_end module_end;
		struct vs_lost lost;
		struct vs_adopted adopted;
		struct vs_block_failed_text block_failed_text;
		struct vs_range_start range_start;
		struct vs_range_end range_end;
		struct vs_block_asked block_asked;
		struct vs_seen_by seen_by;
		struct vs_memory_info memory_info;
		struct vs_memory_own memory_own;
		struct vs_memory_holder memory_holder;
	};
};

/* Those of later versions too: the others are definitions. */
static inline bool vs_record_is_event(enum vs_record_type type)
{
	return type >= VS_RECORD_FIRST_EVENT;
}

/* What a call of the driver does to memory and contexts. The state of a pool is no event of it: it
 * is asked for. */
static inline bool vs_record_is_of_driver(enum vs_record_type type)
{
	return type >= VS_RECORD_ALLOC && type <= VS_RECORD_CONTEXT;
}

#endif

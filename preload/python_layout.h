#ifndef VS_PYTHON_LAYOUT_H
#define VS_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where CPython keeps what a stack consists of, for each of its releases: offsets in bytes. From
 * 3.13 on the interpreter itself has a table of them (_Py_DebugOffsets), for debuggers.
 */

/* How a frame says where in its code it is. */
enum vs_python_position {
	VS_PYTHON_BYTES,   /* an int, in bytes */
	VS_PYTHON_UNITS,   /* an int, in units of two bytes */
	VS_PYTHON_POINTER, /* to the instruction */
};

/* How a frame says that it is the outermost one of a call of the evaluator, in C. */
enum vs_python_entry {
	VS_PYTHON_EVERY, /* each is */
	VS_PYTHON_FLAG,  /* a byte that is not 0 */
	VS_PYTHON_SHIM,  /* behind it comes one that stands for no code; its byte is the owner */
};

struct vs_python_layout {
	uint16_t version;          /* 0x030b: 3.11 */
	uint16_t max_frame;        /* bytes of a frame that are looked at */
	uint16_t thread_frame;     /* in the thread state: its innermost frame */
	uint16_t thread_in_cframe; /* not 0: what is there is a struct, and the frame in it here - 1
				    */
	uint16_t frame_previous;
	uint16_t frame_code;
	uint64_t frame_code_mask; /* of the pointer to the code */
	uint16_t frame_position;
	enum vs_python_position position;
	uint64_t position_mask; /* of a word that begins there */
	uint16_t frame_entry;
	enum vs_python_entry entry;
	uint8_t shim_owner; /* the lowest one of frames that stand for no code */
	uint16_t code_file;
	uint16_t code_name;
	uint16_t code_first_line;
	uint16_t code_lines;
	uint16_t code_start;   /* of the instructions, if position is a pointer */
	uint16_t code_version; /* 32 bits: no two code objects have the same, unless 0; 0: not there
				*/
	uint16_t text_length;
	uint16_t text_state;
	uint16_t text_ascii;   /* where characters are */
	uint16_t text_compact; /* where they are if they are not ASCII */
	uint16_t bytes_size;
	uint16_t bytes_data;
};

enum vs_python_verdict {
	VS_PYTHON_KNOWN,
	VS_PYTHON_TOO_OLD,
	VS_PYTHON_TOO_NEW,
	VS_PYTHON_FREE_THREADED, /* its objects are of another shape */
};

/*
 * Fills in *layout for a version (PY_VERSION_HEX). runtime: what the interpreter exports as
 * _PyRuntime; looked at from 3.13 on, then it may not be NULL.
 */
enum vs_python_verdict vs_python_layout_get(struct vs_python_layout *layout, uint32_t version,
					    const void *runtime);

#endif

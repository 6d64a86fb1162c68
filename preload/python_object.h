#ifndef VS_PYTHON_OBJECT_H
#define VS_PYTHON_OBJECT_H

#include <string.h>

#include "python_code.h"
#include "unwind_memory.h"

/* Loads from the interpreter's objects. What they are is known by python_layout.h. */

#define VS_PYTHON_OBJECT_TYPE 8 /* behind the count of references */

VS_UNWIND_UNWATCHED static inline uint64_t vs_python_load(uintptr_t object, uint32_t offset)
{
	return vs_unwind_memory_load(object + offset);
}

VS_UNWIND_UNWATCHED static inline uint32_t vs_python_load32(uintptr_t object, uint32_t offset)
{
	struct half {
		uint32_t value;
	} __attribute__((packed, may_alias));

	return ((const struct half *)(object + offset))->value;
}

VS_UNWIND_UNWATCHED static inline uint8_t vs_python_load8(uintptr_t object, uint32_t offset)
{
	return *(const uint8_t *)(object + offset);
}

/* The innermost frame of this thread's state, 0 if there is none. */
VS_UNWIND_UNWATCHED static inline uintptr_t vs_python_get_innermost(
	const struct vs_python_layout *layout, uintptr_t state)
{
	uintptr_t frame = vs_python_load(state, layout->thread_frame);

	if (layout->thread_in_cframe && frame)
		frame = vs_python_load(frame, layout->thread_in_cframe - 1u);
	return frame;
}

/* A frame that stands for no code. */
VS_UNWIND_UNWATCHED static inline bool vs_python_is_shim(const struct vs_python_layout *layout,
							 uintptr_t frame)
{
	return layout->entry == VS_PYTHON_SHIM &&
	       vs_python_load8(frame, layout->frame_entry) >= layout->shim_owner;
}

/* Offset in the types of all releases. */
#define VS_PYTHON_TYPE_BASE 256

/* A text, or one of a class that is derived from it: file names may be. Asks the kernel. */
static inline bool vs_python_is_text(uintptr_t object)
{
	uintptr_t type;

	if (!vs_unwind_memory_is_readable(object, vs_python.layout.text_ascii))
		return false;
	type = vs_python_load(object, VS_PYTHON_OBJECT_TYPE);
	for (int depth = 0; type != vs_python.text_type; depth++) {
		if (!type || depth == 32 ||
		    !vs_unwind_memory_is_readable(type, VS_PYTHON_TYPE_BASE + 8))
			return false;
		type = vs_python_load(type, VS_PYTHON_TYPE_BASE);
	}
	return true;
}

/*
 * Code that is made at run time and may be freed soon: it has the name of no file, <string> and the
 * like. A name that is not plain ASCII may be anything.
 */
VS_UNWIND_UNWATCHED static inline bool vs_python_is_passing(const struct vs_python_layout *layout,
							    uintptr_t file)
{
	return (vs_python_load32(file, layout->text_state) & 0x60) != 0x60 ||
	       vs_python_load8(file, layout->text_ascii) == '<';
}

/* Four words of a line table: all of a short one. What is behind one of none is its object's. */
VS_UNWIND_UNWATCHED static inline uint64_t vs_python_sample_lines(
	const struct vs_python_layout *layout, uintptr_t lines)
{
	uint64_t size = vs_python_load(lines, layout->bytes_size);
	uintptr_t data = lines + layout->bytes_data;
	uint64_t last = size > 8 ? size - 8 : 0;

	return (vs_unwind_memory_load(data) ^ size << 50) * UINT64_C(0x9e3779b97f4a7c15) +
	       vs_unwind_memory_load(data + (last >> 2)) * UINT64_C(0xd6e8feb86659fd93) +
	       vs_unwind_memory_load(data + (last >> 1)) * UINT64_C(0xff51afd7ed558ccd) +
	       vs_unwind_memory_load(data + last) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* All that a code object says of itself and of its line table without being asked for its file. */
VS_UNWIND_UNWATCHED static inline uint64_t vs_python_get_print(
	const struct vs_python_layout *layout, uintptr_t code)
{
	uint64_t file = vs_python_load(code, layout->code_file);
	uint64_t name = vs_python_load(code, layout->code_name);
	uint64_t line = vs_python_load32(code, layout->code_first_line);

	return (file ^ name << 20) * UINT64_C(0x9fb21c651e98df25) ^ line << 32;
}

/* By its lines. */
VS_UNWIND_UNWATCHED static inline uint64_t vs_python_get_sampled_fingerprint(
	const struct vs_python_layout *layout, uintptr_t code)
{
	uintptr_t lines = vs_python_load(code, layout->code_lines);

	return (vs_python_get_print(layout, code) ^ lines << 16) +
	       vs_python_sample_lines(layout, lines);
}

/*
 * What a code object is, in a number. One may be freed, and another one may then lie at its
 * address: since 3.12 each has a number of its own. Before, the line table is looked at, by its
 * address and by samples, which is enough for what comes from a file: docs/python-versions.md says
 * what that cannot tell apart. For what is passing it is not.
 */
VS_UNWIND_UNWATCHED static inline uint64_t vs_python_get_lasting_fingerprint(
	const struct vs_python_layout *layout, uintptr_t code)
{
	uint32_t version = layout->code_version ? vs_python_load32(code, layout->code_version) : 0;

	return version ? vs_python_get_print(layout, code) ^ version * UINT64_C(0x9e3779b97f4a7c15)
		       : vs_python_get_sampled_fingerprint(layout, code);
}

/* Whether the code may be known by a number of its own, or has to be read as a whole. */
VS_UNWIND_UNWATCHED static inline bool vs_python_is_passing_code(
	const struct vs_python_layout *layout, uintptr_t code)
{
	if (layout->code_version && vs_python_load32(code, layout->code_version))
		return false;
	return vs_python_is_passing(layout, vs_python_load(code, layout->code_file));
}

/* The same of any code object. */
VS_UNWIND_UNWATCHED static inline uint64_t vs_python_get_fingerprint(
	const struct vs_python_layout *layout, uintptr_t code)
{
	if (__builtin_expect(vs_python_is_passing_code(layout, code), 0))
		return vs_python_get_print(layout, code) ^ vs_python_code_hash_all(code);
	return vs_python_get_lasting_fingerprint(layout, code);
}

#endif

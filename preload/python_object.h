#ifndef VS_PYTHON_OBJECT_H
#define VS_PYTHON_OBJECT_H

#include <string.h>

#include "python.h"
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

#endif

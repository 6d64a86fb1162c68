#ifndef VS_GROW_H
#define VS_GROW_H

#include <stdlib.h>
#include <string.h>

#include "error.h"

/* Room for `needed` elements; new ones are zero. NULL leaves the array as it was. */
static inline void *vs_grow_array(void *array, size_t *capacity, size_t needed, size_t element_size)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *larger;

	if (array && needed <= *capacity)
		return array;
	while (wanted < needed)
		wanted *= 2;
	larger = reallocarray(array, wanted, element_size);
	if (!larger)
		return NULL;
	memset((char *)larger + *capacity * element_size, 0, (wanted - *capacity) * element_size);
	*capacity = wanted;
	return larger;
}

/* Makes room in an array on the heap, which moves. 0 or -VS_ERR_NO_MEMORY. */
#define VS_GROW(array, capacity, needed)                                                           \
	__extension__({                                                                            \
		void *larger_ = (array);                                                           \
		/* Nearly always there is room: that must cost next to nothing. */                 \
		if (__builtin_expect(!larger_ || (needed) > (capacity), 0))                        \
			larger_ = vs_grow_array((array), &(capacity), (needed), sizeof(*(array))); \
		if (larger_)                                                                       \
			(array) = larger_;                                                         \
		larger_ ? 0 : -VS_ERR_NO_MEMORY;                                                   \
	})

#endif

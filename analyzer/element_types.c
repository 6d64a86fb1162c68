#include "element_types.h"

#include <stddef.h>

/* A variable of a type, not a value of it: the same number and so much. */
#define REFERENCE 100u

static const char *const names[] = {
#define VS_ELEMENT_TYPE(number, name) [number] = (name),
#include "element_types.def"
#undef VS_ELEMENT_TYPE
};

const char *vs_element_types_get_name(uint32_t number)
{
	if (number > REFERENCE)
		number -= REFERENCE;
	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

#include "math_call.h"

#include <stdlib.h>

#include "log.h"
#include "note.h"

__attribute__((weak)) size_t sg_math_default_size(void)
{
	return SG_MATH_SIZE;
}

void sg_math_call_say(const char *name, int *said)
{
	if (__atomic_load_n(said, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
		return;
	sg_log_part(SG_LOG_MATH, "%s", name);
}

size_t sg_math_call_note_size(const char *name, size_t size, int *said)
{
	if (!__atomic_load_n(said, __ATOMIC_RELAXED) &&
	    !__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
		sg_note_add("size %s %zu", name, size);
	return size;
}

int sg_math_call_check(const void *handle)
{
	return sg_math_object_get(SG_MATH_LIBRARY, handle) ? 0 : -1;
}

int sg_math_call_create(void **handle, int kind)
{
	void *object = handle ? sg_math_object_create(kind, SG_MATH_OBJECT_SIZE) : NULL;

	if (!object)
		return -1;
	*handle = object;
	return 0;
}

int sg_math_call_destroy(void *handle, int kind)
{
	if (kind == SG_MATH_LIBRARY)
		return sg_math_object_destroy(SG_MATH_LIBRARY, handle) ? 0 : -1;
	if (!handle)
		return 0;
	if (sg_math_object_get(SG_MATH_LIBRARY, handle))
		return -1;
	return sg_math_object_destroy(SG_MATH_ANY, handle) ? 0 : -1;
}

void sg_math_call_put_int(int *place, int value)
{
	if (place)
		*place = value;
}

void sg_math_call_put_size(size_t *place, size_t value)
{
	if (place)
		*place = value;
}

void sg_math_call_put_pointer(void **place, void *value)
{
	if (place)
		*place = value;
}

int sg_math_call_put_property(int property, int *place)
{
	if (property < 0 || property >= SG_MATH_NR_PROPERTIES || !place)
		return -1;
	*place = sg_math_version[property];
	return 0;
}

size_t sg_math_call_setting(const char *name, size_t fallback)
{
	static const char units[] = "kKmMgG";
	const char *text = getenv(name);
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return fallback;
	value = strtoull(text, &end, 10);
	for (unsigned i = 0; i + 1 < sizeof(units); i++) {
		if (*end == units[i])
			return (size_t)value << (10 * (i / 2 + 1));
	}
	return *end ? fallback : (size_t)value;
}

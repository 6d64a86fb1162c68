/*
 * What the import hook (sitecustomize.py) says of the libraries it sees, such as "cupy.version".
 * Not in vramscope.h: facts are few, and those of programs would crowd out ours.
 */
#include <errno.h>

#include "recorder.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void vramscope_fact(const char *key, const char *value);

/* Both are copied. Any thread; errno stays. */
void vramscope_fact(const char *key, const char *value)
{
	int saved = errno;

	if (key && value)
		vs_recorder_add_fact(key, value);
	errno = saved;
}

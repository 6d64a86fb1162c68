#ifndef VS_BEHIND_H
#define VS_BEHIND_H

#include <stdatomic.h>
#include <stddef.h>

/*
 * A function of a library that one of ours stands in front of, or that is called from there: found
 * when it is first asked for. It is looked up in the library's own tables, because dlsym would find
 * ours, and because the lock that constructors run under must not be waited for.
 */
struct vs_behind {
	const char *library; /* what its soname starts with */
	const char *name;
	_Atomic(void *) function; /* NULL: not asked for yet, or not there */
};

/* The library's, else anybody's but our own. NULL: there is none. Slow. Any thread. Keeps errno. */
void *vs_behind_find(struct vs_behind *behind);

static inline void *vs_behind_get(struct vs_behind *behind)
{
	void *function = atomic_load_explicit(&behind->function, memory_order_relaxed);

	return __builtin_expect(function != NULL, 1) ? function : vs_behind_find(behind);
}

#endif

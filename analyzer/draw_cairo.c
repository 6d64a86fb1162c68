#include "draw_cairo.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* The name that its releases have had since 2004. */
#define LIBRARY "libcairo.so.2"

struct vs_draw_cairo vs_draw_cairo;

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define VS_CAIRO(name) {"cairo_" #name, offsetof(struct vs_draw_cairo, name)},
#include "draw_cairo.def"
#undef VS_CAIRO
};

int vs_draw_cairo_load(void)
{
	struct vs_draw_cairo loaded;
	void *library, *function;
	size_t i;

	if (vs_draw_cairo.create)
		return 0;
	/* It stays: fonts of it do, too. */
	library = dlopen(LIBRARY, RTLD_NOW);
	for (i = 0; library && i < sizeof(functions) / sizeof(*functions); i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			library = NULL;
		memcpy((char *)&loaded + functions[i].offset, &function, sizeof(function));
	}
	if (!library) {
		errno = ELIBACC; /* "Can not access a needed shared library" */
		return -VS_ERR_IO;
	}
	vs_draw_cairo = loaded;
	return 0;
}

#include "behind.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>

#include "loaded_object.h"

struct search {
	const char *name;
	const struct link_map *own; /* ours: it has the name, too */
	void *function;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct vs_loaded_object object;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		if (vs_loaded_object_at(
			    (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			    &object) &&
		    object.map != search->own)
			search->function = vs_loaded_object_get_function(&object, search->name);
		break;
	}
	return search->function != NULL;
}

void *vs_behind_find(struct vs_behind *behind)
{
	struct vs_loaded_object own = {0}, object;
	struct search search = {.name = behind->name};
	int saved = errno;

	vs_loaded_object_at((const void *)(uintptr_t)vs_behind_find, &own);
	if (vs_loaded_object_find(behind->library, &object) && object.map != own.map)
		search.function = vs_loaded_object_get_function(&object, behind->name);
	if (!search.function) {
		search.own = own.map;
		dl_iterate_phdr(look_into, &search);
	}
	atomic_store_explicit(&behind->function, search.function, memory_order_relaxed);
	errno = saved;
	return search.function;
}

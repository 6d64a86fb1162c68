/*
 * cuGetProcAddress: name, version and stream flag to function. Without cuda.h: the functions are
 * only addresses here, and some of their names are macros there.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "entry.h"

#define SG_ENTRY(name, version, per_thread, symbol) void symbol(void);
#include "driver_table.inc"
#undef SG_ENTRY
const char *softgpuIdentify(void);

/* Sorted by name, then version (driver_names.py). */
static const struct entry {
	const char *name;
	int version;
	int is_per_thread;
	void (*function)(void);
} entries[] = {
#define SG_ENTRY(name, version, per_thread, symbol) {name, version, per_thread, symbol},
#include "driver_table.inc"
#undef SG_ENTRY
};

/* What a runtime asks to know whether the driver under it is softgpu. */
__attribute__((visibility("default"))) const char *softgpuIdentify(void)
{
	return "softgpu";
}

/* The first entry of that name, or the end. */
static const struct entry *find_name(const char *name)
{
	size_t low = 0, high = sizeof(entries) / sizeof(entries[0]);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return &entries[low];
}

enum sg_entry_status sg_entry_find(const char *name, int version, int driver_version,
				   int wants_per_thread, void **function)
{
	const struct entry *end = entries + sizeof(entries) / sizeof(entries[0]);
	const struct entry *best = NULL;
	enum sg_entry_status status = SG_ENTRY_UNKNOWN;

	*function = NULL;
	if (!strcmp(name, "softgpuIdentify")) {
		*function = (void *)(uintptr_t)softgpuIdentify;
		return SG_ENTRY_FOUND;
	}
	for (const struct entry *e = find_name(name); e < end && !strcmp(e->name, name); e++) {
		if (e->version > driver_version)
			continue;
		if (status == SG_ENTRY_UNKNOWN)
			status = SG_ENTRY_TOO_NEW;
		if (e->version > version || (e->is_per_thread && !wants_per_thread))
			continue;
		/* A per-thread one before any plain one, then the newest. */
		if (!best || e->is_per_thread > best->is_per_thread ||
		    (e->is_per_thread == best->is_per_thread && e->version > best->version))
			best = e;
	}
	if (!best)
		return status;
	*function = (void *)(uintptr_t)best->function;
	return SG_ENTRY_FOUND;
}

#include "cupti_files.h"

#include <stdio.h>
#include <string.h>

/* The newest first. Before 12, each minor release had a name of its own. */
static const struct release {
	int major;
	const char *name;
} releases[] = {
	{13, "libcupti.so.13"},   {12, "libcupti.so.12"},   {11, "libcupti.so.11.8"},
	{11, "libcupti.so.11.7"}, {11, "libcupti.so.11.6"}, {11, "libcupti.so.11.5"},
	{11, "libcupti.so.11.4"}, {11, "libcupti.so.11.3"}, {11, "libcupti.so.11.2"},
	{11, "libcupti.so.11.1"}, {11, "libcupti.so.11.0"},
};

#define NR_RELEASES (sizeof(releases) / sizeof(releases[0]))

const char *vs_cupti_files_next(int driver_version, unsigned *at)
{
	while (*at < NR_RELEASES) {
		const struct release *release = &releases[(*at)++];

		if (!driver_version || release->major <= driver_version / 1000)
			return release->name;
	}
	return NULL;
}

bool vs_cupti_files_next_folder(const char *runtime_path, unsigned *at, char *out, size_t out_size)
{
	static const char *const places[] = {
		"",                             /* nvidia/cu13/lib, lib64 of some toolkits */
		"/../extras/CUPTI/lib64",       /* a toolkit's lib64 */
		"/../../../extras/CUPTI/lib64", /* targets/x86_64-linux/lib */
		"/../../cuda_cupti/lib",        /* nvidia/cuda_runtime/lib */
	};
	const char *slash = strrchr(runtime_path, '/');
	int size;

	if (!slash || *at >= sizeof(places) / sizeof(places[0]))
		return false;
	size = snprintf(out, out_size, "%.*s%s", (int)(slash - runtime_path), runtime_path,
			places[(*at)++]);
	return size > 0 && (size_t)size < out_size;
}

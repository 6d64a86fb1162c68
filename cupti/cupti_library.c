#include "cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_files.h"
#include "told_calls.h"

#define PREFIX "libcupti.so"

/* Where NVIDIA's installers put a toolkit, or a link to it. */
#define STANDARD_ROOT "/usr/local/cuda"

static const struct symbol {
	const char *name;
	size_t offset;
	bool is_needed;
} symbols[] = {
#define VS_CUPTI(member, symbol) {#symbol, offsetof(struct vs_cupti_library, member), true},
#define VS_CUPTI_OPTIONAL(member, symbol) \
	{#symbol, offsetof(struct vs_cupti_library, member), false},
#include "cupti_api.def"
};

static bool has_met_danger; /* of vs_cupti_library_open() */

static const char *get_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A loaded file whose name begins with the text. */
struct search {
	const char *prefix;
	char path[PATH_MAX];
};

static int match(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	if (!info->dlpi_name ||
	    strncmp(get_basename(info->dlpi_name), search->prefix, strlen(search->prefix)) != 0)
		return 0;
	snprintf(search->path, sizeof(search->path), "%s", info->dlpi_name);
	return 1;
}

static bool find_file(struct search *search, const char *prefix)
{
	search->prefix = prefix;
	return dl_iterate_phdr(match, search) != 0;
}

/* 13.2, by what it has: the first release with the one, and the last without the other. */
static bool is_dangerous(void *handle)
{
	return vs_told_calls_look_up(handle, "cuptiActivityEnable_v2") &&
	       !vs_told_calls_look_up(handle, "cuptiActivityGetNextRecord_v2");
}

/* All that is needed of it; handle is given up if that is not there. */
static bool take(struct vs_cupti_library *library, void *handle)
{
	struct link_map *map = NULL;

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *function = vs_told_calls_look_up(handle, symbols[i].name);

		if (!function && symbols[i].is_needed) {
			dlclose(handle);
			return false;
		}
		memcpy((char *)library + symbols[i].offset, &function, sizeof(function));
	}
	library->handle = handle;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(library->path, sizeof(library->path), "%s", map->l_name);
	return true;
}

static bool open_file(struct vs_cupti_library *library, const char *path, int flags)
{
	/* The program does not see it by this: RTLD_LOCAL. */
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);

	if (!handle)
		return false;
	if (is_dangerous(handle)) {
		has_met_danger = true;
		dlclose(handle);
		return false;
	}
	return take(library, handle);
}

static bool open_named(struct vs_cupti_library *library, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	return handle && take(library, handle);
}

/* Version of the driver that is loaded, 0 if it cannot be asked. */
static int get_driver_version(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUresult (*ask)(int *);
	int version = 0;

	if (!driver)
		return 0;
	ask = (CUresult(*)(int *))vs_told_calls_look_up(driver, "cuDriverGetVersion");
	if (!ask || ask(&version) != CUDA_SUCCESS)
		version = 0;
	dlclose(driver);
	return version;
}

static bool open_in(struct vs_cupti_library *library, const char *folder, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
	       open_file(library, path, 0);
}

/* Beside the runtime that the program has, or in a toolkit: one that the environment names, or the
 * standard one. */
static bool open_elsewhere(struct vs_cupti_library *library, const char *name)
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", NULL};
	struct search runtime;
	char folder[PATH_MAX];
	unsigned at = 0;

	if (find_file(&runtime, "libcudart.so"))
		while (vs_cupti_files_next_folder(runtime.path, &at, folder, sizeof(folder)))
			if (open_in(library, folder, name))
				return true;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *root = variables[i] ? getenv(variables[i]) : STANDARD_ROOT;

		if (root && *root &&
		    snprintf(folder, sizeof(folder), "%s/extras/CUPTI/lib64", root) <
			    (int)sizeof(folder) &&
		    open_in(library, folder, name))
			return true;
	}
	return false;
}

bool vs_cupti_library_open(struct vs_cupti_library *library, char *why, size_t why_size)
{
	const char *own = getenv("VRAMSCOPE_CUPTI_LIBRARY"), *name;
	int version = get_driver_version();
	struct search loaded;
	unsigned at = 0;

	if (own && *own) {
		snprintf(why, why_size, "VRAMSCOPE_CUPTI_LIBRARY=%s cannot be used", own);
		return open_named(library, own);
	}
	has_met_danger = false;
	if (find_file(&loaded, PREFIX) && open_file(library, loaded.path, RTLD_NOLOAD))
		return true;
	/* A second one beside one that the program uses would be asking for trouble. */
	while (!has_met_danger && (name = vs_cupti_files_next(version, &at)))
		if (open_file(library, name, 0) || open_elsewhere(library, name))
			return true;
	at = 0;
	if (has_met_danger)
		snprintf(why, why_size,
			 "CUPTI of CUDA 13.2 is not safe to use (VRAMSCOPE_CUPTI_LIBRARY names it "
			 "or another one)");
	else
		snprintf(why, why_size, "no %s or older release of CUPTI is installed",
			 vs_cupti_files_next(version, &at));
	return false;
}

void *vs_cupti_library_find_loaded(const char *symbol)
{
	struct search loaded;
	void *handle, *function;

	if (!find_file(&loaded, PREFIX))
		return NULL;
	handle = dlopen(loaded.path, RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	function = vs_told_calls_look_up(handle, symbol);
	dlclose(handle); /* it is in use: this is not the last reference */
	return function;
}

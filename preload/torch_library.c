#include "torch_library.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lifecycle.h"
#include "loaded_object.h"
#include "message.h"
#include "recorder.h"

#define LIBRARY     "libc10.so"
#define VERSION_MAX 64

/* Releases whose reports were looked at: docs/compatibility.md. */
#define FIRST_MAJOR 1
#define FIRST_MINOR 13
#define LAST_MAJOR  2
#define LAST_MINOR  15

/* ---- Functions ------------------------------------------------------------------------------- */

struct search {
	const char *name;
	const struct link_map *own; /* our own: it has the name, too */
	void *function;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;
	struct vs_loaded_object object;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum && !search->function; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
		    vs_loaded_object_at(
			    (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			    &object) &&
		    object.map != search->own)
			search->function = vs_loaded_object_get_function(&object, search->name);
	return search->function != NULL;
}

void *vs_torch_library_find(const char *name, const void *caller)
{
	struct vs_loaded_object own = {0}, object;
	struct search search = {.name = name};
	int saved = errno;
	void *found = NULL;

	vs_loaded_object_at(__builtin_return_address(0), &own);
	if (vs_loaded_object_at(caller, &object) && object.map != own.map)
		found = vs_loaded_object_get_function(&object, name);
	if (!found && vs_loaded_object_find(LIBRARY, &object) && object.map != own.map)
		found = vs_loaded_object_get_function(&object, name);
	if (!found) {
		search.own = own.map;
		dl_iterate_phdr(look_into, &search);
		found = search.function;
	}
	errno = saved;
	return found;
}

/* ---- The release ----------------------------------------------------------------------------- */

/* The file's text, terminated; false: there is none. */
static bool read_text(const char *path, char *text, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return false;
	size = read(fd, text, max - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	return size > 0;
}

/* The text up to the first of these characters; false: there is none. */
static bool copy_word(char *out, size_t max, const char *text, const char *ends)
{
	size_t size = strcspn(text, ends);

	if (size >= max)
		size = max - 1;
	memcpy(out, text, size);
	out[size] = '\0';
	return size > 0;
}

/* The text of a file in the folder above that of the library. */
static bool read_beside(const char *library, const char *name, char *text, size_t max)
{
	const char *slash = strrchr(library, '/');
	size_t folder = slash ? (size_t)(slash - library) : 0;
	char path[PATH_MAX];

	if (!slash || folder + strlen(name) >= sizeof(path))
		return false;
	memcpy(path, library, folder);
	strcpy(path + folder, name);
	return read_text(path, text, max);
}

/* What torch/version.py says, or the build-version of a libtorch without Python. */
static bool read_version(const char *library, char *version, size_t max)
{
	static const char assignment[] = "__version__ = '";
	char text[2048];
	const char *found;

	if (read_beside(library, "/../version.py", text, sizeof(text))) {
		found = strstr(text, assignment);
		if (found && copy_word(version, max, found + sizeof(assignment) - 1, "'\n"))
			return true;
	}
	return read_beside(library, "/../build-version", text, sizeof(text)) &&
	       copy_word(version, max, text, " \r\n");
}

static bool is_in_range(const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	if (major < FIRST_MAJOR || (major == FIRST_MAJOR && minor < FIRST_MINOR))
		return false;
	return major < LAST_MAJOR || (major == LAST_MAJOR && minor <= LAST_MINOR);
}

enum verdict {
	NOT_ASKED,
	ON,
	OFF,         /* not wanted */
	UNKNOWN,     /* not known, and nobody was told */
	UNKNOWN_TOLD /* not known */
};

static _Atomic int verdict;

static enum verdict judge(bool has_version, const char *version)
{
	if (vs_lifecycle_settings()->no_pools)
		return OFF;
	return !has_version || is_in_range(version) ? ON : UNKNOWN;
}

static void tell_facts(const char *library, const char *version, const char *types,
		       enum verdict found)
{
	if (version[0])
		vs_recorder_add_fact("torch.version", version);
	if (library[0])
		vs_recorder_add_fact("torch.library", library);
	vs_recorder_add_fact("torch.hook", types);
	if (found == ON)
		vs_recorder_add_fact("torch.blocks",
				     version[0] ? "recorded" : "recorded, version not checked");
	else
		vs_recorder_add_fact("torch.blocks", found == OFF
							     ? "off: --no-pools"
							     : "off: this release is not known");
}

/* Whoever finds out first says it; another thread that asks meanwhile finds the same. */
void vs_torch_library_learn(const char *types)
{
	struct vs_loaded_object object;
	char version[VERSION_MAX] = "";
	const char *library = "";
	int saved = errno, before = NOT_ASKED;
	enum verdict found;

	if (atomic_load_explicit(&verdict, memory_order_acquire) != NOT_ASKED)
		return;
	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	if (vs_loaded_object_find(LIBRARY, &object))
		library = object.map->l_name;
	found = judge(read_version(library, version, sizeof(version)), version);
	if (atomic_compare_exchange_strong(&verdict, &before, found))
		tell_facts(library, version, types, found);
	errno = saved;
}

static __attribute__((noinline)) void tell_unknown(void)
{
	int before = UNKNOWN;

	if (atomic_compare_exchange_strong(&verdict, &before, UNKNOWN_TOLD))
		vs_message_print("this release of PyTorch is not known (1.13 to 2.15 are): its "
				 "blocks are not recorded, what it takes from the driver is",
				 NULL);
}

bool vs_torch_library_is_wanted(void)
{
	int now = atomic_load_explicit(&verdict, memory_order_relaxed);

	if (__builtin_expect(now == UNKNOWN, 0))
		tell_unknown();
	return now == ON;
}

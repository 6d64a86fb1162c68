#include "nvtx_path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compose.h"
#include "loaded_object.h"

#define VARIABLE "NVTX_INJECTION64_PATH="

static char entry[sizeof(VARIABLE) + PATH_MAX];
static bool is_taken;

/* Absolute: the program may leave its folder before it makes its first call. */
static bool find_own_path(const char *cwd)
{
	struct vs_loaded_object object;
	struct vs_compose path;

	if (!vs_loaded_object_at(entry, &object) || !object.map->l_name[0])
		return false;
	vs_compose_init(&path, entry, sizeof(entry));
	vs_compose_add(&path, VARIABLE);
	if (object.map->l_name[0] != '/') {
		vs_compose_add(&path, cwd);
		vs_compose_add(&path, "/");
	}
	vs_compose_add(&path, object.map->l_name);
	return !path.is_cut;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return !strcmp(a, b) || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
				 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/*
 * By hand: some programs (bash) have a setenv of their own, which would be called here before they
 * are ready for it. libc's copies an array that is not its own before it changes it.
 */
static void add_entry(char **old, size_t nr)
{
	char **new = mmap(NULL, (nr + 2) * sizeof(*new), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		return;
	if (nr)
		memcpy(new, old, nr * sizeof(*new));
	new[nr] = entry;
	environ = new;
}

static void offer(const char *cwd)
{
	const char *path = entry + sizeof(VARIABLE) - 1;
	size_t nr = 0;

	if (!find_own_path(cwd))
		return;
	for (; environ && environ[nr]; nr++) {
		if (strncmp(environ[nr], VARIABLE, sizeof(VARIABLE) - 1) != 0)
			continue;
		is_taken = !is_same_file(environ[nr] + sizeof(VARIABLE) - 1, path);
		return;
	}
	add_entry(environ, nr);
}

void vs_nvtx_path_offer(const char *cwd)
{
	int saved = errno;

	offer(cwd);
	errno = saved;
}

bool vs_nvtx_path_is_taken(void)
{
	return is_taken;
}

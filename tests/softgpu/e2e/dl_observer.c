/*
 * LD_PRELOAD: appends to the file DL_OBSERVER names a line for each dlopen and dlsym of the program
 * and its libraries: what, which name, who asked.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode);
__attribute__((visibility("default"))) void *dlsym(void *restrict handle,
						   const char *restrict name);

static void note(const char *what, const char *name, const void *caller)
{
	const char *path = getenv("DL_OBSERVER"), *base = "?";
	Dl_info info;
	char line[512];
	int fd, n;

	if (!path)
		return;
	if (dladdr(caller, &info) && info.dli_fname) {
		base = strrchr(info.dli_fname, '/');
		base = base ? base + 1 : info.dli_fname;
	}
	n = snprintf(line, sizeof(line), "%s %s %s\n", what, name ? name : "NULL", base);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (n > 0 && write(fd, line, (size_t)n) < 0)
		perror("dl_observer");
	close(fd);
}

/* glibc before 2.34 has these in another version. */
static void *find_real(const char *name)
{
	void *real = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");

	return real ? real : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

void *dlopen(const char *file, int mode)
{
	void *(*real)(const char *, int) = (void *(*)(const char *, int))find_real("dlopen");

	note("dlopen", file, __builtin_return_address(0));
	return real(file, mode);
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	void *(*real)(void *, const char *) = (void *(*)(void *, const char *))find_real("dlsym");

	note("dlsym", name, __builtin_return_address(0));
	return real(handle, name);
}

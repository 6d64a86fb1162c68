#include "scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[PATH_MAX];
static char **variables; /* as they were */

static int keep_variables(void)
{
	size_t nr = 0, i;

	while (environ[nr])
		nr++;
	variables = calloc(nr + 1, sizeof(*variables));
	for (i = 0; variables && i < nr; i++)
		variables[i] = strdup(environ[i]);
	return variables ? 0 : -1;
}

static void restore_variables(void)
{
	char *equals, **variable;

	clearenv();
	for (variable = variables; *variable; variable++) {
		equals = strchr(*variable, '=');
		if (equals) {
			*equals = '\0';
			setenv(*variable, equals + 1, 1);
		}
		free(*variable);
	}
	free(variables);
}

int vs_scratch_enter(void **state)
{
	char name[] = "/tmp/vramscope-test.XXXXXX";

	(void)state;
	if (!mkdtemp(name) || !realpath(name, path) || chdir(path) < 0)
		return -1;
	return keep_variables();
}

static int remove_entry(const char *entry, const struct stat *info, int type, struct FTW *place)
{
	(void)info;
	(void)type;
	(void)place;
	return remove(entry);
}

int vs_scratch_leave(void **state)
{
	(void)state;
	restore_variables();
	if (chdir("/") < 0)
		return -1;
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *vs_scratch_path(void)
{
	return path;
}

void vs_scratch_write(const char *name, const void *bytes, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(close(fd), 0);
}

void vs_scratch_write_text(const char *name, const char *text)
{
	vs_scratch_write(name, text, strlen(text));
}

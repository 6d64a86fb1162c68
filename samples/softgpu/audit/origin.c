#include "origin.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Length of the token that @at begins with, 0 if it is not $ORIGIN. */
static size_t token_size(const char *at)
{
	static const char *const tokens[] = {"${ORIGIN}", "$ORIGIN"};

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		size_t size = strlen(tokens[i]);

		if (strncmp(at, tokens[i], size) == 0)
			return size;
	}
	return 0;
}

static bool append(char *path, size_t size, size_t *used, const char *text, size_t text_size)
{
	if (text_size >= size - *used)
		return false;
	memcpy(path + *used, text, text_size);
	*used += text_size;
	path[*used] = '\0';
	return true;
}

static int append_origin(char *path, size_t size, size_t *used, const char *loader)
{
	char program[PATH_MAX];
	const char *slash;

	if (*loader == '\0') {
		ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

		if (length < 0)
			return -errno;
		program[length] = '\0';
		loader = program;
	}
	slash = strrchr(loader, '/');
	if (!slash)
		return append(path, size, used, ".", 1) ? 0 : -ENAMETOOLONG;
	return append(path, size, used, loader, (size_t)(slash - loader)) ? 0 : -ENAMETOOLONG;
}

int sg_origin_expand(const char *name, const char *loader, char *path, size_t size)
{
	size_t used = 0;

	if (size == 0)
		return -ENAMETOOLONG;
	path[0] = '\0';
	while (*name) {
		size_t skipped = token_size(name);
		int err = 0;

		if (skipped) {
			err = append_origin(path, size, &used, loader);
			name += skipped;
		} else if (*name == '$') {
			err = -ENOTSUP;
		} else {
			size_t plain = strcspn(name, "$");

			if (!append(path, size, &used, name, plain))
				err = -ENAMETOOLONG;
			name += plain;
		}
		if (err)
			return err;
	}
	return 0;
}

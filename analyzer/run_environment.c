#include "run_environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

int vs_run_environment_set(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0)
		return vs_command_fail(name, -VS_ERR_NO_MEMORY);
	return 0;
}

static bool has_entry(const char *list, const char *entry, const char *separators)
{
	size_t size = strlen(entry), length;

	for (; *list; list += length + strspn(list + length, separators)) {
		length = strcspn(list, separators);
		if (length == size && !strncmp(list, entry, size))
			return true;
	}
	return false;
}

int vs_run_environment_prepend(const char *name, const char *library, const char *separators)
{
	const char *list = getenv(name);
	char *text;
	int status;

	if (strpbrk(library, separators))
		return vs_command_fail_text(library, "%s cannot name a path with a %s", name,
					    separators[1] ? "colon or a blank" : "colon");
	if (!list || !*list)
		return vs_run_environment_set(name, library);
	if (has_entry(list, library, separators))
		return 0;
	if (asprintf(&text, "%s%c%s", library, separators[0], list) < 0)
		return vs_command_fail(name, -VS_ERR_NO_MEMORY);
	status = vs_run_environment_set(name, text);
	free(text);
	return status;
}

int vs_run_environment_get_absolute(char absolute[PATH_MAX], const char *path)
{
	char here[PATH_MAX];

	if (*path == '/')
		return snprintf(absolute, PATH_MAX, "%s", path) < PATH_MAX ? 0 : -VS_ERR_INVALID;
	if (!getcwd(here, sizeof(here)) ||
	    snprintf(absolute, PATH_MAX, "%s/%s", strcmp(here, "/") ? here : "", path) >= PATH_MAX)
		return -VS_ERR_INVALID;
	return 0;
}

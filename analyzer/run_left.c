#include "run_left.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "VRAMSCOPE_INDEX=";

/* An environment has a zero byte behind each of its lines. */
static bool has_index(FILE *environment, const char *index)
{
	size_t capacity = 0;
	bool is_found = false;
	char *line = NULL;

	while (!is_found && getdelim(&line, &capacity, '\0', environment) > 0)
		is_found = !strncmp(line, variable, sizeof(variable) - 1) &&
			   !strcmp(line + sizeof(variable) - 1, index);
	free(line);
	return is_found;
}

uint32_t vs_run_left_count(const char *index)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	uint32_t nr_left = 0;

	while (processes && (entry = readdir(processes))) {
		char path[sizeof("/proc//environ") + sizeof(entry->d_name)];
		FILE *environment;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/environ", entry->d_name);
		environment = fopen(path, "re");
		if (!environment)
			continue;
		nr_left += has_index(environment, index);
		fclose(environment);
	}
	if (processes)
		closedir(processes);
	return nr_left;
}

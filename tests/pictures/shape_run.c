#include "shape_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

char *shape_run_get_path(char *path, const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", getenv("VS_SHAPES"), name);
	return path;
}

bool shape_run_has(const char *name)
{
	char path[PATH_MAX];

	return access(shape_run_get_path(path, name), X_OK) == 0;
}

static uint32_t parse_build_id(uint8_t *id, const char *text)
{
	uint32_t size = 0;

	while (size < VS_BUILD_ID_MAX && sscanf(text + 2 * size, "%2hhx", &id[size]) == 1)
		size++;
	return size;
}

static void read_module(struct shape_run *run, const char *line)
{
	struct shape_module *module = &run->modules[run->nr_modules++];
	struct vs_module *record = &module->record;
	char id[100];

	assert_in_range(run->nr_modules, 1, SHAPE_MODULES_MAX);
	record->id = run->nr_modules;
	assert_int_equal(sscanf(line, "module %4095s %lx %lx %lx %99s", module->path,
				&record->start, &record->end, &record->bias, id),
			 5);
	record->path = (struct vs_text){module->path, (uint32_t)strlen(module->path)};
	record->build_id_size = parse_build_id(record->build_id, id);
}

static void read_probe(struct shape_run *run, const char *line)
{
	struct shape_probe *probe = &run->probes[run->nr_probes++];
	int used = 0;

	assert_in_range(run->nr_probes, 1, SHAPE_PROBES_MAX);
	assert_int_equal(sscanf(line, "pc %lx %n", &probe->pc, &used), 1);
	snprintf(probe->expected, sizeof(probe->expected), "%.*s", (int)strcspn(line + used, "\n"),
		 line + used);
}

void shape_run_read(struct shape_run *run, const char *name)
{
	char path[PATH_MAX];
	char line[8192];
	FILE *pipe = popen(shape_run_get_path(path, name), "r");

	assert_non_null(pipe);
	memset(run, 0, sizeof(*run));
	while (fgets(line, sizeof(line), pipe)) {
		if (strncmp(line, "module ", 7) == 0)
			read_module(run, line);
		else
			read_probe(run, line);
	}
	assert_int_equal(pclose(pipe), 0);
	assert_int_not_equal(run->nr_probes, 0);
}

#ifndef VS_SHAPE_RUN_H
#define VS_SHAPE_RUN_H

/* Runs the programs of build_shapes.sh, in the folder VS_SHAPES, and reads what they say
 * (shapes.h).
 */
#include <limits.h>
#include <stdint.h>

#include "record.h"

#define SHAPE_PROBES_MAX  16
#define SHAPE_MODULES_MAX 16

struct shape_probe {
	uint64_t pc; /* a return address of the program as it ran */
	char expected[256];
};

struct shape_module {
	char path[PATH_MAX];
	struct vs_module record; /* its path points here */
};

struct shape_run {
	struct shape_probe probes[SHAPE_PROBES_MAX];
	int nr_probes;
	struct shape_module modules[SHAPE_MODULES_MAX];
	uint32_t nr_modules;
};

/* PATH_MAX bytes in, the path of a shape out. */
char *shape_run_get_path(char *path, const char *name);

/* Whether it could be built here. */
bool shape_run_has(const char *name);

/* Fails the test if it does not run. Large: better static. */
void shape_run_read(struct shape_run *run, const char *name);

#endif

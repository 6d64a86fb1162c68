#include "run_python.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "run_environment.h"

int vs_run_python_set_up(const char *libdir)
{
	char folder[PATH_MAX + 16], file[PATH_MAX + 48];

	snprintf(folder, sizeof(folder), "%s/python", libdir);
	snprintf(file, sizeof(file), "%s/sitecustomize.py", folder);
	if (access(file, R_OK) < 0)
		return 0;
	if (strchr(folder, ':')) {
		vs_command_note(folder, "PYTHONPATH cannot name a path with a colon: blocks of "
					"CuPy and RMM are not recorded");
		return 0;
	}
	return vs_run_environment_prepend("PYTHONPATH", folder, ":");
}

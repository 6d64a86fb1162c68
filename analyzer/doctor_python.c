#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "python_releases.h"

/*
 * Asked of the interpreter itself, because nobody else knows where it looks for packages. Nothing
 * is imported but its own library: a framework would take seconds, and memory of the GPU.
 */
static const char question[] =
	"import sys, sysconfig\n"
	"from importlib import metadata, util\n"
	"def version(name):\n"
	"    try: return metadata.version(name)\n"
	"    except Exception: return ''\n"
	"print('python', sys.implementation.name, '%d.%d' % sys.version_info[:2],\n"
	"      int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))\n"
	"for name in ('torch', 'tensorflow', 'jax', 'cupy'):\n"
	"    try: there = util.find_spec(name)\n"
	"    except Exception: there = None\n"
	"    if there: print('framework', name, version(name) or '?')\n"
	"for name in ('nvidia-cuda-runtime', 'nvidia-cuda-runtime-cu12', "
	"'nvidia-cuda-runtime-cu11'):\n"
	"    if version(name): print('runtime', name, version(name))\n";

static void ask_python(int out, void *program)
{
	char *arguments[] = {program, "-c", (char *)(uintptr_t)question, NULL};
	int null = open("/dev/null", O_RDWR);

	/* It is a question, not the program: nobody else is to be in there. */
	unsetenv("LD_PRELOAD");
	dup2(null, 0);
	dup2(out, 1);
	dup2(null, 2);
	execv(program, arguments);
	_exit(1);
}

static bool is_python(const char *program)
{
	const char *name = strrchr(program, '/');

	name = name ? name + 1 : program;
	return !strncmp(name, "python", strlen("python")) || !strncmp(name, "pypy", strlen("pypy"));
}

static void judge_version(struct vs_doctor *doctor, const char *line)
{
	unsigned major = 0, minor = 0, version;
	char implementation[32] = "";
	int is_free_threaded = 0;

	if (sscanf(line, "python %31s %u.%u %d", implementation, &major, &minor,
		   &is_free_threaded) != 4)
		return;
	version = major << 8 | minor;
	if (strcmp(implementation, "cpython") != 0)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "Python",
			      "with CPython stacks have lines of Python",
			      "%s %u.%u: stacks will be without lines of Python", implementation,
			      major, minor);
	else if (is_free_threaded)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "Python", "use the build with the GIL",
			      "%u.%u, free-threaded: stacks will be without lines of Python", major,
			      minor);
	else if (version < VS_PYTHON_OLDEST || version > VS_PYTHON_NEWEST)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "Python",
			      "see docs/python-versions.md for the releases that are known",
			      "%u.%u: stacks will be without lines of Python", major, minor);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "Python", NULL,
			      "%u.%u: its lines will be in the stacks", major, minor);
}

static void judge_framework(struct vs_doctor *doctor, const char *line)
{
	char name[32] = "", version[64] = "";

	if (sscanf(line, "framework %31s %63s", name, version) != 2)
		return;
	if (!strcmp(name, "torch") || !strcmp(name, "tensorflow"))
		vs_doctor_add(doctor, VS_FINDING_GOOD, "framework", NULL,
			      "%s %s: its blocks will be recorded", name, version);
	else
		vs_doctor_add(doctor, VS_FINDING_NOTE, "framework",
			      "vramscope.h or vramscope.py describe pools and phases",
			      "%s %s: what it takes from CUDA is recorded, not the blocks in its "
			      "pool",
			      name, version);
}

void vs_doctor_python_look(struct vs_doctor *doctor, const char *program)
{
	char answer[2048], *line, *rest = answer, name[64], version[64];

	if (!program[0] || !is_python(program))
		return;
	if (!vs_doctor_ask(answer, sizeof(answer), ask_python, (char *)(uintptr_t)program)) {
		vs_doctor_add(doctor, VS_FINDING_NOTE, "Python", "try: python -c 'import sys'",
			      "%s does not answer", program);
		return;
	}
	while ((line = strsep(&rest, "\n"))) {
		judge_version(doctor, line);
		judge_framework(doctor, line);
		if (sscanf(line, "runtime %63s %63s", name, version) == 2)
			vs_doctor_add(doctor, VS_FINDING_GOOD, "runtime", NULL,
				      "%s %s is installed for it", name, version);
	}
}

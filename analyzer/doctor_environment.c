#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

/* ---- What others have loaded ----------------------------------------------------------------- */

/* Libraries that stand in front of CUDA as the recorder does. */
static const char *const interposers[] = {"libvgpu", "libnvshare", "libcuda-control", "libgpushare",
					  "libcudahook"};

static bool is_interposer(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t i;

	name = name ? name + 1 : path;
	for (i = 0; i < sizeof(interposers) / sizeof(interposers[0]); i++)
		if (!strncmp(name, interposers[i], strlen(interposers[i])))
			return true;
	return false;
}

/* Loads it as the linker would; what its constructor does is done in a child. */
static void ask_library(int out, void *name)
{
	dprintf(out, "%s", dlopen(name, RTLD_LAZY) ? "there" : "missing");
}

static void judge_library(struct vs_doctor *doctor, const char *where, char *name)
{
	char answer[16];
	bool is_there;

	is_there = strchr(name, '/') ? access(name, R_OK) == 0
				     : vs_doctor_ask(answer, sizeof(answer), ask_library, name) &&
					       !strcmp(answer, "there");
	if (!is_there)
		vs_doctor_add(doctor, VS_FINDING_NOTE, where, "take it out, or correct its path",
			      "%s is not there: the linker complains at every start", name);
	else if (is_interposer(name))
		vs_doctor_add(doctor, VS_FINDING_NOTE, where,
			      "to see what the program itself does, run it without",
			      "%s stands in front of CUDA too; what it changes is recorded as the "
			      "program's",
			      name);
	else if (!strstr(name, "libvramscope"))
		vs_doctor_add(doctor, VS_FINDING_GOOD, where, NULL,
			      "%s: loaded too, behind the recorder", name);
}

static void judge_list(struct vs_doctor *doctor, const char *where, const char *list)
{
	char *text = list ? strdup(list) : NULL, *rest = text, *name;

	while ((name = strsep(&rest, ": \t\n")))
		if (*name && *name != '#')
			judge_library(doctor, where, name);
	free(text);
}

static void judge_file(struct vs_doctor *doctor, const char *path)
{
	char line[1024];
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		judge_list(doctor, path, line[0] == '#' ? NULL : line);
	fclose(file);
}

/* ---- Variables that change something --------------------------------------------------------- */

struct rule {
	const char *name;
	const char *part; /* of the value; NULL: any that is not empty */
	const char *topic;
	const char *text;
	const char *remedy;
};

static const struct rule rules[] = {
	{"LD_AUDIT", NULL, "environment", "LD_AUDIT is set: an auditing library is loaded too",
	 NULL},
	{"CUDA_INJECTION64_PATH", NULL, "environment",
	 "CUDA_INJECTION64_PATH is set: another tool (nsys, ncu) has CUPTI",
	 "one tool at a time; unset it"},
	{"NVTX_INJECTION64_PATH", NULL, "environment",
	 "NVTX_INJECTION64_PATH is set: NVTX ranges will not be recorded as phases", "unset it"},
	{"PYTORCH_CUDA_ALLOC_CONF", "cudaMallocAsync", "torch",
	 "backend:cudaMallocAsync: blocks come from the driver's pool, whose holes nobody tells",
	 "the native backend shows fragmentation"},
	{"PYTORCH_ALLOC_CONF", "cudaMallocAsync", "torch",
	 "backend:cudaMallocAsync: blocks come from the driver's pool, whose holes nobody tells",
	 "the native backend shows fragmentation"},
	{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "torch",
	 "expandable_segments: segments grow by VMM; they are recorded", NULL},
	{"PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, "torch",
	 "PYTORCH_NO_CUDA_MEMORY_CACHING: no pool, every tensor is an allocation of its own",
	 "unset it to see what the caching allocator does"},
	{"TF_GPU_ALLOCATOR", "cuda_malloc_async", "TensorFlow",
	 "TF_GPU_ALLOCATOR=cuda_malloc_async: blocks come from the driver's pool", NULL},
	{"TF_FORCE_GPU_ALLOW_GROWTH", "true", "TensorFlow",
	 "TF_FORCE_GPU_ALLOW_GROWTH: it takes memory as it needs it, not all at once", NULL},
	{"XLA_PYTHON_CLIENT_PREALLOCATE", "false", "JAX",
	 "XLA_PYTHON_CLIENT_PREALLOCATE=false: it takes memory as it needs it", NULL},
	{"XLA_PYTHON_CLIENT_MEM_FRACTION", NULL, "JAX",
	 "XLA_PYTHON_CLIENT_MEM_FRACTION says how much it takes at once", NULL},
	{"XLA_PYTHON_CLIENT_ALLOCATOR", "platform", "JAX",
	 "XLA_PYTHON_CLIENT_ALLOCATOR=platform: every buffer is an allocation of its own", NULL},
	{"CUDA_VISIBLE_DEVICES", NULL, "environment",
	 "CUDA_VISIBLE_DEVICES is set: devices are numbered as the program sees them", NULL},
	{"VRAMSCOPE_NO_HOOKS", NULL, "environment",
	 "VRAMSCOPE_NO_HOOKS is set: calls of CUDA will not be recorded", "unset it"},
	{"VRAMSCOPE_NO_STACKS", NULL, "environment",
	 "VRAMSCOPE_NO_STACKS is set: nothing will say who asked for memory", "unset it"},
};

void vs_doctor_environment_look(struct vs_doctor *doctor)
{
	size_t i;

	judge_list(doctor, "LD_PRELOAD", getenv("LD_PRELOAD"));
	judge_file(doctor, "/etc/ld.so.preload");
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];
		const char *value = getenv(rule->name);

		if (value && *value && (!rule->part || strcasestr(value, rule->part)))
			vs_doctor_add(doctor, rule->remedy ? VS_FINDING_NOTE : VS_FINDING_GOOD,
				      rule->topic, rule->remedy, "%s", rule->text);
	}
}

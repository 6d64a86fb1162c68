#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "compose.h"
#include "info.h"
#include "message.h"
#include "record.h"
#include "size_limit.h"

#define LOG_MAX (UINT64_C(1) << 40)

/* Value of NAME in the environment, or NULL. getenv() may be the program's own. */
static const char *find_value(char **environment, const char *name)
{
	size_t size = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
			return *environment + size + 1;
	return NULL;
}

static void copy_text(char *to, size_t to_size, const char *from)
{
	struct vs_compose text;

	vs_compose_init(&text, to, to_size);
	vs_compose_add(&text, from ? from : "");
}

static bool is_on(char **environment, const char *name)
{
	const char *value = find_value(environment, name);

	return value && *value && strcmp(value, "0") != 0;
}

/* A number from min to max; anything else is said and leaves the default. */
static uint64_t read_number(char **environment, const char *name, uint64_t min, uint64_t max,
			    uint64_t standard)
{
	const char *value = find_value(environment, name);
	unsigned long long number;
	char *end;

	if (!value || !*value)
		return standard;
	errno = 0;
	number = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || number < min || number > max) {
		vs_message_print(name, "=", value, " is not a number it can be, ignored", NULL);
		return standard;
	}
	return number;
}

static void read_rank(struct vs_settings *settings, char **environment)
{
	static const char *const names[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"};
	const char *value = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !value; i++) {
		value = find_value(environment, names[i]);
		if (value && !*value)
			value = NULL;
	}
	copy_text(settings->rank, sizeof(settings->rank), value ? value : "0");
	for (char *c = settings->rank; *c; c++)
		if (*c == '/') /* part of a file's name */
			*c = '_';
}

/* "no" in the first process, "no:PID" in what comes from it. */
static void read_children(struct vs_settings *settings, char **environment)
{
	static char entry[sizeof("VRAMSCOPE_CHILDREN=no:") + 20];
	struct vs_compose text;
	const char *value = find_value(environment, "VRAMSCOPE_CHILDREN");

	if (!value || strncmp(value, "no", 2) != 0 || (value[2] && value[2] != ':'))
		return;
	settings->no_children = true;
	if (value[2] == ':') {
		settings->is_off = strtol(value + 3, NULL, 10) != getpid();
		return;
	}
	vs_compose_init(&text, entry, sizeof(entry));
	vs_compose_add(&text, "VRAMSCOPE_CHILDREN=no:");
	vs_compose_add_number(&text, (uint64_t)getpid());
	for (char **place = environment; *place; place++)
		if (strncmp(*place, entry, sizeof("VRAMSCOPE_CHILDREN=") - 1) == 0)
			*place = entry;
}

/*
 * Processes of a run share the launcher's folder: each has its number in the names of its files. A
 * value that is not the launcher's stays as it is.
 */
static void read_tf_dump(struct vs_settings *settings, char **environment)
{
	static char entry[sizeof("TF_BFC_MEMORY_DUMP=") + PATH_MAX];
	const size_t name_size = sizeof("TF_BFC_MEMORY_DUMP=") - 1;
	const char *ours = find_value(environment, "VRAMSCOPE_TF_DUMP");
	const char *value = find_value(environment, "TF_BFC_MEMORY_DUMP");
	struct vs_compose text;

	if (!ours || !*ours || !value || strncmp(value, ours, strlen(ours)) != 0)
		return;
	vs_compose_init(&text, entry, sizeof(entry));
	vs_compose_add(&text, "TF_BFC_MEMORY_DUMP=");
	vs_compose_add(&text, ours);
	vs_compose_add(&text, ".");
	vs_compose_add_number(&text, (uint64_t)getpid());
	copy_text(settings->tf_dump, sizeof(settings->tf_dump), entry + name_size);
	for (char **place = environment; *place; place++)
		if (strncmp(*place, entry, name_size) == 0)
			*place = entry;
}

static void read_command(struct vs_settings *settings, int argc, char **argv)
{
	const char *name = argc > 0 && argv[0] ? argv[0] : "";
	const char *slash = strrchr(name, '/');
	size_t used = 0;

	copy_text(settings->program, sizeof(settings->program), slash ? slash + 1 : name);
	if (!settings->program[0])
		copy_text(settings->program, sizeof(settings->program), "program");
	for (int i = 0; i < argc && argv[i]; i++) {
		size_t size = vs_info_put_argument(settings->command + used,
						   sizeof(settings->command) - used, argv[i]);

		if (!size)
			break;
		used += size;
	}
}

static void keep_variables(struct vs_settings *settings, char **environment)
{
	static const char *const names[VS_SETTINGS_NR_KEPT] = {
		"CUDA_VISIBLE_DEVICES",
		"PYTORCH_CUDA_ALLOC_CONF",
		"PYTORCH_ALLOC_CONF",
		"PYTORCH_NO_CUDA_MEMORY_CACHING",
		"CUBLAS_WORKSPACE_CONFIG",
		"TORCH_CUBLAS_WORKSPACE_CACHE",
		"TF_GPU_ALLOCATOR",
		"TF_FORCE_GPU_ALLOW_GROWTH",
		"XLA_PYTHON_CLIENT_ALLOCATOR",
		"XLA_PYTHON_CLIENT_PREALLOCATE",
		"XLA_PYTHON_CLIENT_MEM_FRACTION",
		"XLA_CLIENT_MEM_FRACTION",
		"RANK",
		"LOCAL_RANK",
		"WORLD_SIZE",
		"VRAMSCOPE_RUN",
		"VRAMSCOPE_JAX_ALLOCATOR",
	};
	size_t nr = 0;

	for (size_t i = 0; i < VS_SETTINGS_NR_KEPT && names[i]; i++) {
		const char *value = find_value(environment, names[i]);

		if (!value)
			continue;
		settings->kept[nr].name = names[i];
		copy_text(settings->kept[nr].value, sizeof(settings->kept[nr].value), value);
		nr++;
	}
}

/*
 * A name that is not absolute is meant from where the program starts. In a pattern, a % of that
 * folder's name is nothing to fill in.
 */
static void read_path(char path[PATH_MAX], const char *cwd, const char *value, bool is_pattern)
{
	struct vs_compose text;

	vs_compose_init(&text, path, PATH_MAX);
	if (!value || !*value)
		return;
	for (; *value != '/' && *cwd; cwd++) {
		vs_compose_add_bytes(&text, cwd, 1);
		if (is_pattern && *cwd == '%')
			vs_compose_add(&text, "%");
	}
	if (*value != '/')
		vs_compose_add(&text, "/");
	vs_compose_add(&text, value);
}

void vs_settings_read(struct vs_settings *settings, int argc, char **argv, char **environment)
{
	struct utsname names;

	memset(settings, 0, sizeof(*settings));
	if (!getcwd(settings->cwd, sizeof(settings->cwd)))
		settings->cwd[0] = '\0';
	copy_text(settings->host, sizeof(settings->host), uname(&names) == 0 ? names.nodename : "");
	read_command(settings, argc, argv);
	read_path(settings->output, settings->cwd, find_value(environment, "VRAMSCOPE_OUTPUT"),
		  true);
	read_path(settings->folder, settings->cwd, find_value(environment, "VRAMSCOPE_FOLDER"),
		  false);
	if (!settings->folder[0])
		copy_text(settings->folder, sizeof(settings->folder), settings->cwd);
	read_path(settings->index, settings->cwd, find_value(environment, "VRAMSCOPE_INDEX"),
		  false);
	copy_text(settings->replace, sizeof(settings->replace),
		  find_value(environment, "VRAMSCOPE_REPLACE"));
	read_tf_dump(settings, environment);
	read_rank(settings, environment);
	keep_variables(settings, environment);
	read_children(settings, environment);
	settings->stack_depth = (uint32_t)read_number(environment, "VRAMSCOPE_STACK_DEPTH", 1,
						      VS_STACK_MAX, VS_SETTINGS_STACK_DEPTH);
	settings->max_size =
		read_number(environment, "VRAMSCOPE_MAX_SIZE", VS_SIZE_LIMIT_MIN, UINT64_MAX, 0);
	settings->log_size =
		read_number(environment, "VRAMSCOPE_LOG_SIZE", 1, LOG_MAX, VS_SETTINGS_LOG_SIZE);
	settings->meminfo_ms = (uint32_t)read_number(environment, "VRAMSCOPE_MEMINFO_WAIT", 0,
						     600000, VS_SETTINGS_MEMINFO_MS);
	copy_text(settings->jax_allocator, sizeof(settings->jax_allocator),
		  find_value(environment, "VRAMSCOPE_JAX_ALLOCATOR"));
	settings->no_stacks = is_on(environment, "VRAMSCOPE_NO_STACKS");
	settings->free_stacks = is_on(environment, "VRAMSCOPE_FREE_STACKS");
	settings->no_python = is_on(environment, "VRAMSCOPE_NO_PYTHON");
	settings->no_pools = is_on(environment, "VRAMSCOPE_NO_POOLS");
	settings->host_pools = is_on(environment, "VRAMSCOPE_HOST_POOLS");
	settings->no_hooks = is_on(environment, "VRAMSCOPE_NO_HOOKS");
	settings->no_meminfo = is_on(environment, "VRAMSCOPE_NO_MEMINFO");
}

#include "framework.h"

#include <string.h>

#include "info.h"
#include "report_text.h"

static const char *const settings[] = {
	"PYTORCH_CUDA_ALLOC_CONF",        "PYTORCH_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING", "CUBLAS_WORKSPACE_CONFIG",
	"TORCH_CUBLAS_WORKSPACE_CACHE",   "TF_GPU_ALLOCATOR",
	"TF_FORCE_GPU_ALLOW_GROWTH",      "XLA_PYTHON_CLIENT_ALLOCATOR",
	"XLA_PYTHON_CLIENT_PREALLOCATE",  "XLA_PYTHON_CLIENT_MEM_FRACTION",
};

#define NR_SETTINGS (sizeof(settings) / sizeof(settings[0]))

bool vs_framework_next_setting(const struct vs_story *story, size_t *i, const char **name,
			       const char **value)
{
	char key[64];

	for (; *i < NR_SETTINGS; ++*i) {
		snprintf(key, sizeof(key), VS_INFO_ENV_PREFIX "%s", settings[*i]);
		*value = vs_reader_get_info(story->reader, key);
		if (!*value)
			continue;
		*name = settings[(*i)++];
		return true;
	}
	return false;
}

static const char *get_fact(const struct vs_story *story, const char *key)
{
	return vs_definitions_get_fact(&story->analysis.replay->definitions, key);
}

/* Its library for CUDA asked the driver for something. */
static bool has_library(const struct vs_story *story)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	static const char name[] = "/libc10_cuda.so";
	size_t i;

	for (i = 0; i < definitions->nr_modules; i++) {
		const char *path = definitions->modules[i]->path;
		size_t size = strlen(path);

		if (size >= sizeof(name) && !strcmp(path + size - (sizeof(name) - 1), name))
			return true;
	}
	return false;
}

static bool has_pool(const struct vs_story *story)
{
	const struct vs_replay *replay = story->analysis.replay;
	size_t i;

	for (i = 0; i < replay->nr_pools; i++)
		if (replay->pools[i]->owner == VS_POOL_FRAMEWORK)
			return true;
	return false;
}

const char *vs_framework_get_lack(const struct vs_story *story)
{
	const char *blocks = get_fact(story, "torch.blocks");

	if (has_pool(story) || (!blocks && !has_library(story)))
		return NULL;
	if (!blocks)
		return "it does not report them in a known way";
	if (!strncmp(blocks, "off: ", 5))
		return blocks + 5;
	return "it reported none: another allocator, or caching is off";
}

void vs_framework_put_text(const struct vs_story *story)
{
	const char *version = get_fact(story, "torch.version"), *name, *value;
	const char *lack = vs_framework_get_lack(story);
	struct vs_text_line line = {0};
	size_t i = 0;

	if (!lack && !get_fact(story, "torch.blocks"))
		return;
	vs_text_add(&line, "PYTORCH");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "%s", version ? version : "of an unknown release");
	if (lack)
		vs_text_add(&line, "; its blocks are not in the trace: %s", lack);
	while (vs_framework_next_setting(story, &i, &name, &value))
		vs_text_add(&line, "; %s=%s", name, value);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

void vs_framework_put_json(const struct vs_story *story)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	const char *name, *value;
	size_t i;

	vs_json_begin_object(story->json, "facts");
	for (i = 0; i < definitions->nr_facts; i++)
		vs_json_put_text(story->json, definitions->facts[i].key,
				 definitions->facts[i].value);
	vs_json_end_object(story->json);
	i = 0;
	vs_json_begin_object(story->json, "settings");
	while (vs_framework_next_setting(story, &i, &name, &value))
		vs_json_put_text(story->json, name, value);
	vs_json_end_object(story->json);
}

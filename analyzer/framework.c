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
	"XLA_CLIENT_MEM_FRACTION",
};

#define TORCH_LIBRARY "/libc10_cuda.so"

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

/* A library with this in its path asked the driver for something. */
static bool has_library(const struct vs_story *story, const char *name)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	size_t i;

	for (i = 0; i < definitions->nr_modules; i++)
		if (strstr(definitions->modules[i]->path, name))
			return true;
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

	if (has_pool(story) || (!blocks && !has_library(story, TORCH_LIBRARY)))
		return NULL;
	if (!blocks)
		return "it does not report them in a known way";
	if (!strncmp(blocks, "off: ", 5))
		return blocks + 5;
	return "it reported none: another allocator, or caching is off";
}

/* By the names that the recorder gives to their pools. */
static enum vs_framework get_framework(const struct vs_replay_pool *pool)
{
	if (!pool || pool->owner != VS_POOL_FRAMEWORK)
		return VS_FRAMEWORK_NONE;
	if (!strncmp(pool->name, "PyTorch", 7))
		return VS_FRAMEWORK_TORCH;
	if (!strncmp(pool->name, "TensorFlow", 10))
		return VS_FRAMEWORK_TENSORFLOW;
	return !strncmp(pool->name, "JAX", 3) ? VS_FRAMEWORK_JAX : VS_FRAMEWORK_NONE;
}

enum vs_framework vs_framework_find(const struct vs_story *story, const struct vs_replay_pool *pool)
{
	const struct vs_replay *replay = story->analysis.replay;
	enum vs_framework found = get_framework(pool);
	size_t i;

	/* A program's own pool is what the program makes of it, whatever else it uses. */
	if (pool && pool->owner == VS_POOL_PROGRAM)
		return VS_FRAMEWORK_NONE;
	for (i = 0; i < replay->nr_pools && found == VS_FRAMEWORK_NONE; i++)
		found = get_framework(replay->pools[i]);
	if (found != VS_FRAMEWORK_NONE)
		return found;
	if (get_fact(story, "torch.version") || has_library(story, TORCH_LIBRARY))
		return VS_FRAMEWORK_TORCH;
	if (has_library(story, "/libtensorflow"))
		return VS_FRAMEWORK_TENSORFLOW;
	if (has_library(story, "/jaxlib/") || has_library(story, "/jax_plugins/"))
		return VS_FRAMEWORK_JAX;
	return VS_FRAMEWORK_NONE;
}

bool vs_framework_has_setting(const struct vs_story *story, const char *name, const char *word)
{
	const char *found, *value;
	size_t i = 0;

	while (vs_framework_next_setting(story, &i, &found, &value))
		if (!strcmp(found, name))
			return !word || strcasestr(value, word);
	return false;
}

bool vs_framework_has_fact(const struct vs_story *story, const char *begin, const char *word)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	size_t i;

	for (i = 0; i < definitions->nr_facts; i++)
		if (!strncmp(definitions->facts[i].key, begin, strlen(begin)) &&
		    strstr(definitions->facts[i].value, word))
			return true;
	return false;
}

bool vs_framework_has_code(const struct vs_story *story, const char *path)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	const struct vs_definition_code *code;
	size_t slot = 0;

	while ((code = vs_id_map_next(&definitions->codes, &slot)))
		if (code->file && strstr(code->file, path))
			return true;
	return false;
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

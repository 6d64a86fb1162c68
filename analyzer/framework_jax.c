#include "framework_jax.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "framework.h"
#include "info.h"
#include "report_text.h"
#include "units.h"

#define USUAL_SHARE 0.75 /* jaxlib's own, when no variable says another */

static const char *get_variable(const struct vs_story *story, const char *name)
{
	char key[64];
	const char *value;

	snprintf(key, sizeof(key), VS_INFO_ENV_PREFIX "%s", name);
	value = vs_reader_get_info(story->reader, key);
	return value && *value ? value : NULL;
}

/* Its plugin asked the driver for something. */
static bool has_plugin(const struct vs_definitions *definitions)
{
	static const char name[] = "/xla_cuda_plugin.so";
	size_t i, size;

	for (i = 0; i < definitions->nr_modules; i++) {
		size = strlen(definitions->modules[i]->path);
		if (size >= sizeof(name) &&
		    !strcmp(definitions->modules[i]->path + size - strlen(name), name))
			return true;
	}
	return false;
}

/* As jaxlib reads it. */
static bool is_false(const char *value)
{
	return value && (!strcmp(value, "false") || !strcmp(value, "False") || !strcmp(value, "0"));
}

static double get_share(const struct vs_story *story)
{
	const char *text = get_variable(story, "XLA_CLIENT_MEM_FRACTION");
	double share;

	if (!text)
		text = get_variable(story, "XLA_PYTHON_CLIENT_MEM_FRACTION");
	share = text ? strtod(text, NULL) : USUAL_SHARE;
	return share > 0 ? share : USUAL_SHARE;
}

/*
 * "platform" gives each buffer its own memory in old releases (0.6), and keeps a pool in those that
 * take their memory by cuMemCreate (0.10).
 */
static bool uses_handles(const struct vs_story *story)
{
	const struct vs_replay *replay = story->analysis.replay;
	size_t i;

	for (i = 0; i < replay->nr_devices; i++)
		if (vs_measure_counts_get_kind(&story->analysis.counts, replay->devices[i],
					       VS_MEMORY_VMM)
			    ->allocs)
			return true;
	return false;
}

bool vs_framework_jax_find(const struct vs_story *story, struct vs_framework_jax *jax)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	const char *allocator = get_variable(story, "XLA_PYTHON_CLIENT_ALLOCATOR");
	bool is_pooled;

	if (!has_plugin(definitions))
		return false;
	*jax = (struct vs_framework_jax){
		.version = vs_definitions_get_fact(definitions, "jax.version"),
		.allocator = allocator ? allocator : "default",
		.is_chosen_by_us = vs_reader_get_info(story->reader, VS_INFO_JAX_ALLOCATOR),
		.share = get_share(story),
	};
	is_pooled = !strcasecmp(jax->allocator, "default") || !strcasecmp(jax->allocator, "bfc");
	jax->is_hidden =
		is_pooled || (!strcasecmp(jax->allocator, "platform") && uses_handles(story));
	jax->preallocates = (is_pooled || !strcasecmp(jax->allocator, "cuda_async")) &&
			    !is_false(get_variable(story, "XLA_PYTHON_CLIENT_PREALLOCATE"));
	return true;
}

uint64_t vs_framework_jax_get_preallocated(const struct vs_story *story,
					   const struct vs_framework_jax *jax,
					   const struct vs_replay_device *device)
{
	uint64_t bytes = (uint64_t)((double)device->total_size * jax->share);

	if (!jax->preallocates || !bytes ||
	    vs_measure_peak_get(&story->analysis.peak, device)->reserved.bytes < bytes)
		return 0;
	return bytes;
}

static void put_line(const struct vs_story *story, struct vs_text_line *line)
{
	vs_text_put_whole(&story->style, line, VS_REPORT_TEXT_COLUMN);
	vs_text_fill(line, VS_REPORT_TEXT_COLUMN);
}

void vs_framework_jax_put_text(const struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_framework_jax jax;
	struct vs_text_line line = {0};
	const char *name, *value;
	char text[VS_UNITS_MAX];
	uint64_t bytes;
	size_t i = 0;

	if (!vs_framework_jax_find(story, &jax))
		return;
	bytes = vs_framework_jax_get_preallocated(story, &jax, device);
	vs_text_add(&line, "JAX");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "%s; allocator %s%s",
		    jax.version ? jax.version : "of an unknown release", jax.allocator,
		    jax.is_chosen_by_us ? ", chosen by --jax-allocator, not by the program" : "");
	while (vs_framework_next_setting(story, &i, &name, &value))
		if (!strncmp(name, "XLA_", 4) && strcmp(name, "XLA_PYTHON_CLIENT_ALLOCATOR") != 0)
			vs_text_add(&line, "; %s=%s", name, value);
	put_line(story, &line);
	if (bytes) {
		vs_text_add(&line,
			    "it took %s in advance, %.3g %% of the card, needed or not: "
			    "XLA_PYTHON_CLIENT_PREALLOCATE=false lets it grow instead, "
			    "XLA_CLIENT_MEM_FRACTION=0.5 makes it half",
			    vs_units_put_bytes(text, bytes), jax.share * 100);
		put_line(story, &line);
	}
	if (jax.is_hidden) {
		vs_text_add(&line,
			    "live is what its allocator holds: the arrays in it, its holes and "
			    "its running out are hidden in its plugin. To see each buffer, by "
			    "another allocator: vramscope run --jax-allocator");
		put_line(story, &line);
		if (vs_failures_count_device(&story->analysis.failures, device)) {
			vs_text_add(&line, "the driver refused it even the smallest piece that it "
					   "asked for: whether JAX itself ran out is not known");
			put_line(story, &line);
		}
	}
}

void vs_framework_jax_put_json(const struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_json *json = story->json;
	struct vs_framework_jax jax;

	if (!vs_framework_jax_find(story, &jax)) {
		vs_json_put_null(json, "jax");
		return;
	}
	vs_json_begin_object(json, "jax");
	vs_json_put_text(json, "version", jax.version);
	vs_json_put_text(json, "allocator", jax.allocator);
	vs_json_put_bool(json, "chosen_by_option", jax.is_chosen_by_us);
	vs_json_put_bool(json, "buffers_hidden", jax.is_hidden);
	vs_json_put_bool(json, "preallocates", jax.preallocates);
	vs_json_put_real(json, "memory_fraction", jax.share);
	vs_json_put_number(json, "preallocated_bytes",
			   vs_framework_jax_get_preallocated(story, &jax, device));
	vs_json_end_object(json);
}

#include "definitions.h"

#include <stdlib.h>
#include <string.h>

#include "definition_book.h"
#include "grow.h"

static char *copy_text(const struct vs_text *text)
{
	char *copy = malloc((size_t)text->size + 1);

	if (!copy)
		return NULL;
	if (text->size)
		memcpy(copy, text->bytes, text->size);
	copy[text->size] = '\0';
	return copy;
}

static int add_site(struct vs_definitions *definitions, struct vs_site *site)
{
	int err =
		VS_GROW(definitions->sites, definitions->sites_capacity, definitions->nr_sites + 1);

	if (err)
		return err;
	site->index = (uint32_t)definitions->nr_sites;
	definitions->sites[definitions->nr_sites++] = site;
	return 0;
}

int vs_definitions_init(struct vs_definitions *definitions)
{
	struct vs_site *none = calloc(1, sizeof(*none));
	int err;

	memset(definitions, 0, sizeof(*definitions));
	if (!none)
		return -VS_ERR_NO_MEMORY;
	err = add_site(definitions, none);
	if (err)
		free(none);
	return err;
}

static void free_site(struct vs_site *site)
{
	if (!site)
		return;
	free(site->frames);
	free(site);
}

static void free_code(struct vs_definition_code *code)
{
	free(code->file);
	free(code->name);
	free(code->lines);
	free(code);
}

void vs_definitions_fini(struct vs_definitions *definitions)
{
	struct vs_definition_thread *thread;
	struct vs_definition_code *code;
	size_t i, slot = 0;
	void *name;

	while ((name = vs_id_map_next(&definitions->names, &slot)))
		free(name);
	slot = 0;
	while ((thread = vs_id_map_next(&definitions->threads, &slot))) {
		free(thread->name);
		free(thread);
	}
	slot = 0;
	while ((code = vs_id_map_next(&definitions->codes, &slot)))
		free_code(code);
	for (i = 0; i < definitions->nr_modules; i++) {
		free(definitions->modules[i]->path);
		free(definitions->modules[i]);
	}
	for (i = 0; i < definitions->nr_sites && !definitions->shared; i++)
		free_site(definitions->sites[i]);
	for (i = 0; i < definitions->nr_facts; i++) {
		free(definitions->facts[i].key);
		free(definitions->facts[i].value);
	}
	free(definitions->modules);
	if (!definitions->shared)
		free(definitions->sites);
	free(definitions->facts);
	vs_id_map_fini(&definitions->names);
	vs_id_map_fini(&definitions->threads);
	vs_id_map_fini(&definitions->codes);
	vs_id_map_fini(&definitions->stacks);
	vs_id_map_fini(&definitions->by_hash);
	memset(definitions, 0, sizeof(*definitions));
}

static int add_name(struct vs_definitions *definitions, const struct vs_name *name)
{
	char *text;
	int err;

	/* The first definition stays: others may have been handed out already. */
	if (vs_id_map_get(&definitions->names, name->id))
		return 0;
	text = copy_text(&name->text);
	if (!text)
		return -VS_ERR_NO_MEMORY;
	err = vs_id_map_put(&definitions->names, name->id, text);
	if (err)
		free(text);
	return err;
}

static int add_fact(struct vs_definitions *definitions, const struct vs_fact *fact)
{
	struct vs_definition_fact copy = {copy_text(&fact->key), copy_text(&fact->value)};
	int err = -VS_ERR_NO_MEMORY;

	if (!copy.key || !copy.value)
		goto free_copy;
	err = 0;
	if (vs_definitions_get_fact(definitions, copy.key))
		goto free_copy;
	err = VS_GROW(definitions->facts, definitions->facts_capacity, definitions->nr_facts + 1);
	if (err)
		goto free_copy;
	definitions->facts[definitions->nr_facts++] = copy;
	return 0;
free_copy:
	free(copy.key);
	free(copy.value);
	return err;
}

static int add_thread(struct vs_definitions *definitions, const struct vs_thread_name *name)
{
	struct vs_definition_thread *thread = vs_id_map_get(&definitions->threads, name->id);
	char *text = copy_text(&name->name);
	int err = -VS_ERR_NO_MEMORY;

	if (!text)
		return err;
	/* A thread may be renamed; the latest name counts. */
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			goto free_text;
		err = vs_id_map_put(&definitions->threads, name->id, thread);
		if (err)
			goto free_thread;
	}
	free(thread->name);
	*thread = (struct vs_definition_thread){name->id, name->tid, text};
	return 0;

free_thread:
	free(thread);
free_text:
	free(text);
	return err;
}

int vs_definitions_copy_module(struct vs_definition_module *copy, const struct vs_module *module)
{
	*copy = (struct vs_definition_module){.id = module->id,
					      .start = module->start,
					      .end = module->end,
					      .bias = module->bias,
					      .build_id_size = module->build_id_size,
					      .path = copy_text(&module->path)};
	if (!copy->path)
		return -VS_ERR_NO_MEMORY;
	if (copy->build_id_size > VS_BUILD_ID_MAX)
		copy->build_id_size = VS_BUILD_ID_MAX;
	memcpy(copy->build_id, module->build_id, copy->build_id_size);
	return 0;
}

/* Without a build-id it may be another library of that name. */
static uint32_t find_same(const struct vs_definitions *definitions,
			  const struct vs_definition_module *module)
{
	size_t i;

	for (i = 0; i < definitions->nr_modules && module->build_id_size; i++) {
		const struct vs_definition_module *known = definitions->modules[i];

		if (known->build_id_size == module->build_id_size &&
		    !memcmp(known->build_id, module->build_id, known->build_id_size) &&
		    !strcmp(known->path, module->path))
			return known->same;
	}
	return module->id;
}

static int add_module(struct vs_definitions *definitions, const struct vs_module *module)
{
	struct vs_definition_module *copy;
	int err = VS_GROW(definitions->modules, definitions->modules_capacity,
			  definitions->nr_modules + 1);

	if (err)
		return err;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -VS_ERR_NO_MEMORY;
	err = vs_definitions_copy_module(copy, module);
	if (err) {
		free(copy);
		return err;
	}
	copy->same = find_same(definitions, copy);
	definitions->modules[definitions->nr_modules++] = copy;
	return 0;
}

static void end_module(struct vs_definitions *definitions, uint32_t id)
{
	size_t i;

	for (i = 0; i < definitions->nr_modules; i++)
		if (definitions->modules[i]->id == id)
			definitions->modules[i]->is_gone = true;
}

/* The module that holds the address now; the newest one first. */
static const struct vs_definition_module *find_module(const struct vs_definitions *definitions,
						      uint64_t address)
{
	size_t i;

	for (i = definitions->nr_modules; i-- > 0;) {
		const struct vs_definition_module *module = definitions->modules[i];

		if (!module->is_gone && address >= module->start && address < module->end)
			return module;
	}
	return NULL;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 32;
}

/* Where in its file it is, which is the same wherever that is loaded. */
static uint64_t get_place(const struct vs_site_frame *frame)
{
	return frame->address - (frame->module ? frame->module->bias : 0);
}

static uint32_t get_same(const struct vs_site_frame *frame)
{
	return frame->module ? frame->module->same : VS_NO_ID;
}

static uint64_t hash_site(const struct vs_site *site)
{
	uint64_t hash = site->nr_frames * 2u + site->is_cut;
	uint32_t i;

	for (i = 0; i < site->nr_frames; i++) {
		hash = mix(hash, get_place(&site->frames[i]));
		hash = mix(hash, get_same(&site->frames[i]));
	}
	return hash;
}

static bool is_equal(const struct vs_site *a, const struct vs_site *b)
{
	uint32_t i;

	if (a->nr_frames != b->nr_frames || a->is_cut != b->is_cut)
		return false;
	for (i = 0; i < a->nr_frames; i++)
		if (get_place(&a->frames[i]) != get_place(&b->frames[i]) ||
		    get_same(&a->frames[i]) != get_same(&b->frames[i]))
			return false;
	return true;
}

/* *site becomes the known one if it is equal to one; the other is freed. */
static int intern_site(struct vs_definitions *definitions, struct vs_site **site)
{
	uint64_t hash = hash_site(*site);
	struct vs_site *chain = vs_id_map_get(&definitions->by_hash, hash), *known;
	int err;

	for (known = chain; known; known = known->next_equal_hash) {
		if (is_equal(known, *site)) {
			free_site(*site);
			*site = known;
			return 0;
		}
	}
	err = add_site(definitions, *site);
	if (err) {
		free_site(*site);
		return err;
	}
	(*site)->next_equal_hash = chain;
	return vs_id_map_put(&definitions->by_hash, hash, *site);
}

static struct vs_site *make_site(const struct vs_definitions *definitions,
				 const struct vs_stack *stack)
{
	struct vs_site *site = calloc(1, sizeof(*site));
	uint32_t i;

	if (site)
		site->frames = calloc(stack->nr_frames, sizeof(site->frames[0]));
	if (!site || !site->frames) {
		free_site(site);
		return NULL;
	}
	site->nr_frames = stack->nr_frames;
	site->is_cut = stack->is_cut || stack->is_deep;
	for (i = 0; i < stack->nr_frames; i++) {
		site->frames[i].address = stack->frames[i];
		/* A return address may be the first byte behind its module: look at the call. */
		if (!vs_frame_is_special(stack->frames[i]))
			site->frames[i].module = find_module(definitions, stack->frames[i] - 1);
	}
	return site;
}

/* Sites are numbered as they come: one more, or one that was there. */
static void know_stack(struct vs_definitions *definitions)
{
	const struct vs_shared_stacks *shared = definitions->shared;
	uint32_t site;

	if (definitions->nr_stacks == shared->nr)
		return;
	site = shared->sites_of[definitions->nr_stacks++];
	if (site >= definitions->nr_sites)
		definitions->nr_sites = site + 1u;
}

static int add_stack(struct vs_definitions *definitions, const struct vs_stack *stack)
{
	struct vs_site *site;
	int err;

	if (definitions->shared) {
		know_stack(definitions);
		return 0;
	}
	if (vs_id_map_get(&definitions->stacks, stack->id))
		return 0;
	if (!stack->nr_frames)
		return vs_id_map_put(&definitions->stacks, stack->id, definitions->sites[0]);
	site = make_site(definitions, stack);
	if (!site)
		return -VS_ERR_NO_MEMORY;
	err = intern_site(definitions, &site);
	return err ? err : vs_id_map_put(&definitions->stacks, stack->id, site);
}

void vs_definitions_share(struct vs_definitions *definitions, const struct vs_shared_stacks *shared,
			  size_t nr_stacks)
{
	free_site(definitions->sites[0]);
	free(definitions->sites);
	definitions->shared = shared;
	definitions->sites = shared->sites;
	definitions->nr_sites = 1;
	while (definitions->nr_stacks < nr_stacks && definitions->nr_stacks < shared->nr)
		know_stack(definitions);
}

void vs_definitions_fetch_frames(const struct vs_site *site)
{
	vs_definition_book_read_site(site->book, site->index);
}

/* More than any recorder writes: a damaged trace must not take all memory. */
#define LINES_MAX (1u << 20)

static int add_code(struct vs_definitions *definitions, const struct vs_code *record)
{
	struct vs_definition_code *code;
	int err = -VS_ERR_NO_MEMORY;

	if (vs_id_map_get(&definitions->codes, record->id))
		return 0;
	code = calloc(1, sizeof(*code));
	if (!code)
		return -VS_ERR_NO_MEMORY;
	code->version = record->version;
	code->first_line = record->first_line;
	code->lines_size = record->lines_size <= LINES_MAX ? record->lines_size : 0;
	code->file = copy_text(&record->file);
	code->name = copy_text(&record->name);
	code->lines = calloc(1, (size_t)code->lines_size + 1);
	if (code->file && code->name && code->lines)
		err = vs_id_map_put(&definitions->codes, record->id, code);
	if (err)
		free_code(code);
	return err;
}

static void add_lines(struct vs_definitions *definitions, const struct vs_code_lines *record)
{
	struct vs_definition_code *code = vs_id_map_get(&definitions->codes, record->id);

	/* What is not as it was announced is left out. */
	if (code && record->offset <= code->lines_size &&
	    record->bytes.size <= code->lines_size - record->offset && record->bytes.size)
		memcpy(code->lines + record->offset, record->bytes.bytes, record->bytes.size);
}

int vs_definitions_add(struct vs_definitions *definitions, const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_NAME:
		return add_name(definitions, &record->name);
	case VS_RECORD_MODULE:
		return add_module(definitions, &record->module);
	case VS_RECORD_MODULE_END:
		end_module(definitions, record->module_end.id);
		return 0;
	case VS_RECORD_STACK:
		return add_stack(definitions, &record->stack);
	case VS_RECORD_FACT:
		return add_fact(definitions, &record->fact);
	case VS_RECORD_THREAD:
		return add_thread(definitions, &record->thread_name);
	case VS_RECORD_CODE:
		return add_code(definitions, &record->code);
	case VS_RECORD_CODE_LINES:
		add_lines(definitions, &record->code_lines);
		return 0;
	default:
		return 0;
	}
}

const char *vs_definitions_get_name(const struct vs_definitions *definitions, uint32_t id)
{
	return vs_id_map_get(&definitions->names, id);
}

const char *vs_definitions_get_fact(const struct vs_definitions *definitions, const char *key)
{
	size_t i;

	for (i = 0; i < definitions->nr_facts; i++)
		if (!strcmp(definitions->facts[i].key, key))
			return definitions->facts[i].value;
	return NULL;
}

struct vs_site *vs_definitions_get_shared_site(const struct vs_definitions *definitions,
					       uint32_t stack)
{
	const struct vs_shared_stacks *shared = definitions->shared;
	size_t which = stack < shared->nr_numbers ? shared->by_number[stack]
						  : (uintptr_t)vs_id_map_get(&shared->by_id, stack);

	/* One that is defined later is not known yet. */
	return definitions
		->sites[which && which <= definitions->nr_stacks ? shared->sites_of[which - 1] : 0];
}

const struct vs_definition_thread *vs_definitions_get_thread(
	const struct vs_definitions *definitions, uint32_t id)
{
	return vs_id_map_get(&definitions->threads, id);
}

const struct vs_definition_code *vs_definitions_get_code(const struct vs_definitions *definitions,
							 uint32_t id)
{
	return vs_id_map_get(&definitions->codes, id);
}

size_t vs_definitions_count_threads(const struct vs_definitions *definitions)
{
	const struct vs_definition_thread *thread;
	size_t slot = 0, nr = 0;

	while ((thread = vs_id_map_next(&definitions->threads, &slot)))
		nr += strcmp(thread->name, VS_FORMAT_OWN_THREAD) != 0;
	return nr;
}

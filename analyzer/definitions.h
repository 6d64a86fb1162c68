#ifndef VS_DEFINITIONS_H
#define VS_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "id_map.h"
#include "record.h"

/*
 * What a trace defines: names, modules, threads, stacks. Equal stacks under different numbers are
 * one site. All text is terminated and belongs to the definitions.
 */
struct vs_definition_module {
	uint32_t id;
	uint32_t
		same; /* the first one with its path and build-id: a library that is loaded again */
	bool is_gone; /* dlclose: its addresses may belong to another one */
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	char *path;
	uint8_t build_id[VS_BUILD_ID_MAX];
	uint32_t build_id_size;
};

/* An address in the process, and the module that was there when the stack was defined. */
struct vs_site_frame {
	uint64_t address;
	const struct vs_definition_module *module; /* NULL: unknown */
};

/* A distinct allocation stack, innermost frame first. Site 0 has no frames: no stack was recorded.
 */
struct vs_site {
	uint32_t index; /* from 0, without gaps */
	bool is_cut;
	uint32_t nr_frames;
	struct vs_site *next_equal_hash;
	struct vs_site_frame *frames;    /* after vs_definitions_need_frames */
	struct vs_definition_book *book; /* where frames are that are not here; NULL: all are */
};

/* For vs_definitions_need_frames. */
void vs_definitions_fetch_frames(const struct vs_site *site);

/* Stacks that several definitions have in common: definition_book.h. */
struct vs_shared_stacks {
	struct vs_id_map by_id; /* number -> 1 + which of the STACK records; for high numbers */
	uint32_t *by_number;    /* the same, for numbers below nr_numbers */
	uint32_t nr_numbers;
	const uint32_t *sites_of; /* of each STACK record, in order */
	size_t nr;
	struct vs_site **sites;
	size_t nr_sites;
};

/* Code of Python. */
struct vs_definition_code {
	uint32_t version; /* 0x030b: 3.11 */
	uint32_t first_line;
	char *file;
	char *name;
	uint8_t *lines; /* what has come of its line table; the rest is 0 */
	uint32_t lines_size;
};

struct vs_definition_thread {
	uint32_t id;
	uint32_t tid;
	char *name;
};

/* What was learnt about the process while it ran. */
struct vs_definition_fact {
	char *key;
	char *value;
};

struct vs_definitions {
	struct vs_id_map names;   /* number -> char * */
	struct vs_id_map threads; /* number -> struct vs_definition_thread */
	struct vs_id_map codes;   /* number -> struct vs_definition_code */
	struct vs_id_map stacks;  /* number -> struct vs_site, many to one */
	struct vs_id_map by_hash; /* hash of frames -> chain of struct vs_site */
	struct vs_definition_module **modules;
	size_t nr_modules;
	size_t modules_capacity;
	struct vs_site **sites;
	size_t nr_sites;
	size_t sites_capacity;
	struct vs_definition_fact *facts;
	size_t nr_facts;
	size_t facts_capacity;
	const struct vs_shared_stacks *shared; /* instead of `stacks` and `by_hash`; or NULL */
	size_t nr_stacks;                      /* STACK records so far; with `shared` only */
};

VS_MUST_CHECK int vs_definitions_init(struct vs_definitions *definitions);
void vs_definitions_fini(struct vs_definitions *definitions);

/* NAME, MODULE, MODULE_END, STACK, THREAD, CODE, CODE_LINES, FACT; others are ignored. */
VS_MUST_CHECK int vs_definitions_add(struct vs_definitions *definitions,
				     const struct vs_record *record);

/*
 * New definitions take their stacks from elsewhere, the first nr_stacks of them to begin with, and
 * each STACK that is added makes the next one known. What is shared outlives them.
 */
void vs_definitions_share(struct vs_definitions *definitions, const struct vs_shared_stacks *shared,
			  size_t nr_stacks);

/* A module as a record has it, with a path of its own to be freed. */
VS_MUST_CHECK int vs_definitions_copy_module(struct vs_definition_module *copy,
					     const struct vs_module *module);

/* Before frames of a site are looked at: they may be elsewhere until somebody needs them. */
static inline void vs_definitions_need_frames(const struct vs_site *site)
{
	if (site->book && !site->frames)
		vs_definitions_fetch_frames(site);
}

/* The text of a name, or NULL. */
const char *vs_definitions_get_name(const struct vs_definitions *definitions, uint32_t id);

/* The value of a fact, or NULL. */
const char *vs_definitions_get_fact(const struct vs_definitions *definitions, const char *key);

/* For vs_definitions_get_site. */
struct vs_site *vs_definitions_get_shared_site(const struct vs_definitions *definitions,
					       uint32_t stack);

/* Never NULL: a number that was not defined is site 0. */
static inline struct vs_site *vs_definitions_get_site(const struct vs_definitions *definitions,
						      uint32_t stack)
{
	struct vs_site *site;

	if (__builtin_expect(definitions->shared != NULL, 0))
		return vs_definitions_get_shared_site(definitions, stack);
	site = vs_id_map_get(&definitions->stacks, stack);
	return site ? site : definitions->sites[0];
}

/* NULL when not defined. */
const struct vs_definition_code *vs_definitions_get_code(const struct vs_definitions *definitions,
							 uint32_t id);
const struct vs_definition_thread *vs_definitions_get_thread(
	const struct vs_definitions *definitions, uint32_t id);

/* Threads of the program: all that are defined but the recorder's own. */
size_t vs_definitions_count_threads(const struct vs_definitions *definitions);

#endif

#ifndef VS_PAGE_EVENTS_H
#define VS_PAGE_EVENTS_H

/*
 * Turns what a replay tells its observers into the changes of a page (docs/page-format.md). Memory
 * grows with what is alive.
 */
#include "analysis.h"
#include "composition.h"
#include "page_columns.h"
#include "page_overview.h"

/* An instant that the page names, and which change it comes after. */
struct vs_page_mark {
	const char *name;
	const struct vs_replay_device *device; /* of the analysis */
	struct vs_instant at;
	uint64_t requested; /* of an out-of-memory */
	uint64_t change;    /* found by the pass */
};

struct vs_page_events {
	struct vs_observer observer; /* first */
	struct vs_page_columns columns;
	struct vs_page_overview *overviews; /* by device->index */
	uint64_t *reserved;                 /* by device->index: what the items say */
	size_t nr_devices;
	struct vs_page_mark *marks; /* by their record */
	size_t nr_marks;
	size_t marks_capacity;
	size_t next_mark;
	struct vs_id_map numbers; /* of items that are alive, by id: number + 1 */
	struct vs_id_map texts;   /* of names, by where they are: their place in `names` + 1 */
	const char **names;       /* belong to the replay */
	size_t nr_names;
	size_t names_capacity;
	uint8_t *categories; /* of items, by number: enum vs_category + 1; 0: none */
	size_t categories_capacity;
	bool has_categories;
	uint32_t thread; /* of the record that is being applied */
	/* A birth, or the end of being live, that may yet be joined by what follows it. */
	bool is_born;
	bool is_discharged;
	uint64_t pending_id;
	uint64_t pending_ns;
	struct vs_page_birth birth;
};

/* file: where the parts of that trace go. On failure there is nothing to undo. */
VS_MUST_CHECK int vs_page_events_init(struct vs_page_events *events,
				      const struct vs_analysis *analysis, FILE *file,
				      uint32_t trace);
void vs_page_events_fini(struct vs_page_events *events);

/* Before the pass. */
VS_MUST_CHECK int vs_page_events_add_mark(struct vs_page_events *events,
					  const struct vs_page_mark *mark);

/* The pass; `replay`, which the names belong to, stands at its end. Destroy it. names: of the
 * analysis's definitions. */
VS_MUST_CHECK int vs_page_events_gather(struct vs_page_events *events,
					const struct vs_analysis *analysis,
					struct vs_site_names *names, struct vs_replay **replay);

#endif

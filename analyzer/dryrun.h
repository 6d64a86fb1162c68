#ifndef VS_DRYRUN_H
#define VS_DRYRUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "failures.h"
#include "json.h"
#include "options.h"
#include "run_notes.h"
#include "story.h"

/*
 * What a run on a simulated card says of the real one: whether the program fits, what is left, and
 * where it runs out. docs/analyses.md, "Dry run"; docs/dry-run.md.
 */
enum vs_dryrun_verdict {
	VS_DRYRUN_FITS,    /* it ended well, and no request failed for good */
	VS_DRYRUN_TOO_BIG, /* it ran out of memory, and did not end well */
	VS_DRYRUN_WENT_ON, /* it ran out of memory, and ended well nevertheless */
	VS_DRYRUN_FAILED,  /* it did not end well, and not for want of memory as far as is seen */
	VS_DRYRUN_NO_GPU,  /* it ended well and never used one */
	VS_DRYRUN_UNKNOWN, /* there is no trace to tell from, or it is not whole */
};

/* One card, and what all processes took of it together. */
struct vs_dryrun_card {
	uint8_t uuid[16];
	char name[128];
	uint64_t total_size;
	uint32_t compute_capability;
	uint32_t nr_processes;
	uint64_t peak_live;     /* sums of the peaks of the processes: */
	uint64_t peak_reserved; /* of several, they were perhaps never reached at once */
	uint64_t nr_ooms;
};

/* The first request that failed for good, of all processes. */
struct vs_dryrun_failure {
	bool is_there;
	uint64_t wall_ns; /* since 1970 */
	size_t trace;
	struct vs_failure failure;
	char phase[128]; /* failure.at.phase points here, or is NULL */
	char api[64];
	char pool[64]; /* empty: of the driver */
	char site[1024];
	uint32_t ordinal;
	uint8_t uuid[16];
};

struct vs_dryrun_trace {
	char *text;  /* what is to be told of it, after the totals */
	bool is_cut; /* lost events, or no end */
};

/* Settings, or facts such as a version: each of the first process that has it. */
struct vs_dryrun_word {
	char name[64];
	char value[512];
};

struct vs_dryrun_words {
	struct vs_dryrun_word *list;
	size_t nr;
};

struct vs_dryrun {
	const struct vs_options *options;
	const struct vs_run_notes *notes;
	int wait_status;
	char **paths;
	size_t nr_traces;
	size_t nr_unread; /* traces that could not be read */
	struct vs_dryrun_trace *traces;
	struct vs_dryrun_card *cards;
	size_t nr_cards;
	struct vs_dryrun_words settings;
	struct vs_dryrun_words facts;
	struct vs_dryrun_failure first;
	bool hides_failures; /* JAX's own allocator may have run out: the trace does not tell */
	enum vs_dryrun_verdict verdict;
};

/*
 * Reads the traces (NULL behind the last; NULL: not known which) and judges. json: NULL, or where
 * an object is open: `traces` is put there on the way. 0 or -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_dryrun_init(struct vs_dryrun *dryrun, const struct vs_options *options,
				 const struct vs_run_notes *notes, int wait_status, char **paths,
				 struct vs_json *json);
void vs_dryrun_fini(struct vs_dryrun *dryrun);

/* It used no GPU, and the likely reason is that JAX did not look for one (docs/dry-run.md). */
bool vs_dryrun_has_hint(const struct vs_dryrun *dryrun);

/* "fits", "does-not-fit", ... */
const char *vs_dryrun_get_name(enum vs_dryrun_verdict verdict);

/* What each process takes of a card by using it at all; 0: not known. */
uint64_t vs_dryrun_get_context(const struct vs_dryrun *dryrun, const struct vs_dryrun_card *card);

/* total - contexts - peak reserved; 0 if that is less than nothing. */
uint64_t vs_dryrun_get_left(const struct vs_dryrun *dryrun, const struct vs_dryrun_card *card);

#endif

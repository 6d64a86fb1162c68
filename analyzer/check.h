#ifndef VS_CHECK_H
#define VS_CHECK_H

#include "reader.h"
#include "replay.h"

/*
 * What `vramscope check` looks at. A trace is read once, which gives the facts (check_gather.h);
 * each row of the table of checks counts something in them and judges it.
 */

/* What an event may refer to by number. */
enum vs_check_reference {
	VS_CHECK_THREAD,
	VS_CHECK_STACK,
	VS_CHECK_NAME,
	VS_CHECK_POOL,
	VS_CHECK_MODULE,
	VS_NR_CHECK_REFERENCES
};

struct vs_check_facts {
	struct vs_reader_state state; /* after the last record */
	struct vs_replay_counters counters;
	uint64_t nr_earlier;           /* events with a time before that of an earlier one */
	uint64_t nr_earlier_in_thread; /* of them, also before one of their own thread */
	/* Uses of what had not been defined by then. */
	uint64_t nr_undefined[VS_NR_CHECK_REFERENCES];
	uint64_t nr_undescribed_devices;
	uint64_t nr_short_stacks;   /* distinct ones without their outer frames */
	uint64_t nr_foreign_stacks; /* distinct ones with a frame outside all modules */
	uint64_t nr_unknown_frees;  /* of something unknown, and they did not fail */
	uint64_t nr_other_totals;   /* events at which a framework holds more or less than we say */
	uint64_t nr_late_totals;    /* devices on which it held something before the trace began */
	char other_totals[160];     /* the first of them, in words */
};

enum vs_check_verdict {
	VS_CHECK_OK,
	VS_CHECK_NOTE, /* to be known; the trace says so itself, or it is nobody's fault */
	VS_CHECK_WRONG
};

struct vs_check_finding {
	enum vs_check_verdict verdict;
	uint64_t count;
	const char *reason; /* half a sentence; NULL: nothing to say */
};

struct vs_check {
	const char *name; /* in JSON */
	const char *what; /* what is counted: "damaged blocks" */
	struct vs_check_finding (*judge)(const struct vs_check_facts *facts);
};

/* In the order they are told in; ends with a name of NULL. */
extern const struct vs_check vs_check_list[];

/* "ok", "note", "wrong". */
const char *vs_check_get_word(enum vs_check_verdict verdict);

#endif

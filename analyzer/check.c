#include "check.h"

/* Nothing was found, or so many, which is as bad as `verdict` says. */
static struct vs_check_finding find(uint64_t count, enum vs_check_verdict verdict,
				    const char *reason)
{
	return (struct vs_check_finding){count ? verdict : VS_CHECK_OK, count,
					 count ? reason : NULL};
}

/* What follows from events that are missing is told with what made them miss. */
static struct vs_check_finding find_consequence(const struct vs_check_facts *facts, uint64_t count,
						const char *reason)
{
	if (facts->state.nr_lost || facts->state.is_damaged)
		return find(count, VS_CHECK_NOTE, "events are missing");
	return find(count, VS_CHECK_WRONG, reason);
}

static uint64_t get_difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- The file -------------------------------------------------------------------------------- */

static struct vs_check_finding judge_blocks(const struct vs_check_facts *facts)
{
	return find(facts->state.nr_bad_blocks, VS_CHECK_WRONG, "what they held is missing");
}

static struct vs_check_finding judge_gaps(const struct vs_check_facts *facts)
{
	return find(facts->state.nr_gaps, VS_CHECK_WRONG, "records are missing there");
}

static struct vs_check_finding judge_totals(const struct vs_check_facts *facts)
{
	const struct vs_reader_state *state = &facts->state;

	if (!state->has_end)
		return find(0, VS_CHECK_OK, NULL);
	return find(get_difference(state->nr_events_end, state->nr_events_in_blocks),
		    VS_CHECK_WRONG, "blocks are missing, or there are too many");
}

static struct vs_check_finding judge_log(const struct vs_check_facts *facts)
{
	return find(facts->state.nr_bad_in_log, VS_CHECK_WRONG, "records are missing there");
}

static struct vs_check_finding judge_end(const struct vs_check_facts *facts)
{
	const struct vs_reader_state *state = &facts->state;

	if (state->is_complete)
		return find(0, VS_CHECK_OK, NULL);
	if (state->has_end)
		return find(1, VS_CHECK_NOTE, "killed, or _exit; its log was folded in");
	if (state->is_cut)
		return find(1, VS_CHECK_WRONG, "there is no END block, and no log either");
	if (state->is_running)
		return find(1, VS_CHECK_NOTE, "the program is still running");
	return find(1, VS_CHECK_NOTE,
		    "killed, or _exit; vramscope recover makes one file of trace and log");
}

static struct vs_check_finding judge_lost(const struct vs_check_facts *facts)
{
	const struct vs_reader_state *state = &facts->state;

	if (state->has_end && facts->counters.nr_lost > state->nr_lost_end)
		return find(state->nr_lost, VS_CHECK_WRONG, "more than the END block knows of");
	return find(state->nr_lost, VS_CHECK_NOTE, "all numbers may be too low");
}

static struct vs_check_finding judge_dropped(const struct vs_check_facts *facts)
{
	return find(facts->state.nr_dropped, VS_CHECK_NOTE,
		    "--max-size; what was alive then is known");
}

static struct vs_check_finding judge_unfinished(const struct vs_check_facts *facts)
{
	return find(facts->state.nr_unfinished, VS_CHECK_NOTE,
		    facts->state.is_running ? "they are being made" : "the kill was faster");
}

/* ---- The records ----------------------------------------------------------------------------- */

static struct vs_check_finding judge_order(const struct vs_check_facts *facts)
{
	return find(facts->nr_earlier, VS_CHECK_WRONG,
		    facts->nr_earlier_in_thread ? "even of the same thread"
						: "of different threads");
}

static struct vs_check_finding find_undefined(const struct vs_check_facts *facts,
					      enum vs_check_reference reference)
{
	return find(facts->nr_undefined[reference], VS_CHECK_WRONG, NULL);
}

static struct vs_check_finding judge_threads(const struct vs_check_facts *facts)
{
	return find_undefined(facts, VS_CHECK_THREAD);
}

static struct vs_check_finding judge_stacks(const struct vs_check_facts *facts)
{
	return find_undefined(facts, VS_CHECK_STACK);
}

static struct vs_check_finding judge_names(const struct vs_check_facts *facts)
{
	return find_undefined(facts, VS_CHECK_NAME);
}

static struct vs_check_finding judge_pools(const struct vs_check_facts *facts)
{
	return find_undefined(facts, VS_CHECK_POOL);
}

static struct vs_check_finding judge_modules(const struct vs_check_facts *facts)
{
	return find_undefined(facts, VS_CHECK_MODULE);
}

/* A program may describe pools of a device without ever calling CUDA. */
static struct vs_check_finding judge_devices(const struct vs_check_facts *facts)
{
	return find(facts->nr_undescribed_devices, VS_CHECK_NOTE, "their size is not known");
}

static struct vs_check_finding judge_short_stacks(const struct vs_check_facts *facts)
{
	return find(facts->nr_short_stacks, VS_CHECK_NOTE,
		    "deeper than the limit, or they could not be unwound");
}

static struct vs_check_finding judge_foreign_stacks(const struct vs_check_facts *facts)
{
	return find(facts->nr_foreign_stacks, VS_CHECK_NOTE,
		    "code made at run time, or a file that was not seen");
}

/* ---- The replay ------------------------------------------------------------------------------ */

static struct vs_check_finding judge_overlaps(const struct vs_check_facts *facts)
{
	return find_consequence(facts, facts->counters.nr_overlaps,
				"what was there is taken as freed");
}

static struct vs_check_finding judge_frees(const struct vs_check_facts *facts)
{
	return find_consequence(facts, facts->nr_unknown_frees,
				"allocations were not seen, or it was freed twice");
}

static struct vs_check_finding judge_framework(const struct vs_check_facts *facts)
{
	return find_consequence(facts, facts->nr_other_totals, facts->other_totals);
}

static struct vs_check_finding judge_late(const struct vs_check_facts *facts)
{
	return find(facts->nr_late_totals, VS_CHECK_NOTE, "its totals are not compared there");
}

/* Pools may lie in memory that is not CUDA's. */
static struct vs_check_finding judge_orphans(const struct vs_check_facts *facts)
{
	return find(facts->counters.nr_orphan_blocks, VS_CHECK_NOTE,
		    "they count as segments of their own");
}

const struct vs_check vs_check_list[] = {
	{"blocks", "damaged blocks", judge_blocks},
	{"gaps", "gaps between blocks", judge_gaps},
	{"totals", "events more or fewer than the END block says", judge_totals},
	{"log", "damaged places in the log", judge_log},
	{"end", "not ended in order", judge_end},
	{"dropped", "events dropped at the beginning", judge_dropped},
	{"lost", "lost events", judge_lost},
	{"unfinished", "calls that were being recorded at the end", judge_unfinished},
	{"order", "events with a time before that of an earlier one", judge_order},
	{"threads", "events of an undefined thread", judge_threads},
	{"stacks", "uses of an undefined stack", judge_stacks},
	{"names", "uses of an undefined name", judge_names},
	{"pools", "uses of an undefined pool", judge_pools},
	{"modules", "ends of an undefined module", judge_modules},
	{"devices", "devices that are not described", judge_devices},
	{"short_stacks", "stacks without their outer frames", judge_short_stacks},
	{"foreign_stacks", "stacks with frames outside all modules", judge_foreign_stacks},
	{"overlaps", "times that something new lay over something old", judge_overlaps},
	{"frees", "frees of what was never allocated", judge_frees},
	{"framework_totals", "events at which a framework's own totals are others",
	 judge_framework},
	{"late_totals", "devices that a framework used before the trace began", judge_late},
	{"orphans", "blocks in memory that was not seen", judge_orphans},
	{NULL, NULL, NULL},
};

const char *vs_check_get_word(enum vs_check_verdict verdict)
{
	static const char *const words[] = {
		[VS_CHECK_OK] = "ok",
		[VS_CHECK_NOTE] = "note",
		[VS_CHECK_WRONG] = "wrong",
	};

	return words[verdict];
}

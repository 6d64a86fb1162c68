#include "dryrun_text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "report_text.h"
#include "units.h"

#define COLUMN VS_REPORT_TEXT_COLUMN

static void add_heading(struct vs_text_line *line, const char *heading)
{
	vs_text_add(line, "%s", heading);
	vs_text_mark(line, VS_TEXT_STRONG);
	vs_text_fill(line, COLUMN);
}

static void add_ending(struct vs_text_line *line, int wait_status)
{
	if (WIFSIGNALED(wait_status))
		vs_text_add(line, "died of signal %d (%s)", WTERMSIG(wait_status),
			    strsignal(WTERMSIG(wait_status)));
	else
		vs_text_add(line, "ended with status %d", WEXITSTATUS(wait_status));
}

/* The card on which least is left. */
static const struct vs_dryrun_card *find_fullest(const struct vs_dryrun *dryrun)
{
	const struct vs_dryrun_card *fullest = NULL;
	size_t i;

	for (i = 0; i < dryrun->nr_cards; i++)
		if (!fullest || vs_dryrun_get_left(dryrun, &dryrun->cards[i]) <
					vs_dryrun_get_left(dryrun, fullest))
			fullest = &dryrun->cards[i];
	return fullest;
}

static void add_first(struct vs_text_line *line, const struct vs_dryrun *dryrun)
{
	const struct vs_dryrun_failure *first = &dryrun->first;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	vs_text_add(line, "out of memory");
	vs_story_add_instant(line, &first->failure.at);
	vs_text_add(line, ": %s asked", vs_units_put_bytes(a, first->failure.size));
	if (first->failure.total_size)
		vs_text_add(line, ", %s free on the card",
			    vs_units_put_bytes(b, first->failure.free_size));
	if (dryrun->nr_cards > 1)
		vs_text_add(line, ", on GPU %" PRIu32, first->ordinal);
}

static void add_room(struct vs_text_line *line, const struct vs_dryrun *dryrun)
{
	const struct vs_dryrun_card *card = find_fullest(dryrun);
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (!card)
		return;
	vs_text_add(line, "%s%s of %s are left%s", card->nr_processes > 1 ? "at least " : "",
		    vs_units_put_bytes(a, vs_dryrun_get_left(dryrun, card)),
		    vs_units_put_bytes(b, card->total_size),
		    dryrun->nr_cards > 1 ? " on the fullest card" : "");
}

static void put_verdict(const struct vs_dryrun *dryrun, const struct vs_text_style *style)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "DRY RUN");
	vs_text_fill(&line, COLUMN);
	switch (dryrun->verdict) {
	case VS_DRYRUN_FITS:
		vs_text_add(&line, "FITS");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_add(&line, ": ");
		add_room(&line, dryrun);
		break;
	case VS_DRYRUN_TOO_BIG:
		vs_text_add(&line, "DOES NOT FIT");
		vs_text_mark(&line, VS_TEXT_ALARM);
		vs_text_add(&line, ": ");
		add_first(&line, dryrun);
		vs_text_add(&line, "; it ");
		add_ending(&line, dryrun->wait_status);
		break;
	case VS_DRYRUN_WENT_ON:
		vs_text_add(&line, "RUNS OUT OF MEMORY, and goes on");
		vs_text_mark(&line, VS_TEXT_ALARM);
		vs_text_add(&line, ": ");
		add_first(&line, dryrun);
		vs_text_add(&line,
			    "; yet it ended well: whether it did all it should is not known");
		break;
	case VS_DRYRUN_FAILED:
		vs_text_add(&line, "NOT KNOWN");
		vs_text_mark(&line, VS_TEXT_ALARM);
		vs_text_add(&line, ": the program ");
		add_ending(&line, dryrun->wait_status);
		vs_text_add(&line, ", %s; %s",
			    dryrun->hides_failures
				    ? "and whether for want of memory is hidden in JAX's allocator "
				      "(--jax-allocator shows it)"
				    : "and not for want of memory",
			    dryrun->nr_cards ? "numbers are those until then"
					     : "it had not used a GPU by then");
		break;
	case VS_DRYRUN_NO_GPU:
		vs_text_add(&line, "NO GPU USED");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_add(&line, ": the program ended well and took no memory of any GPU");
		break;
	case VS_DRYRUN_UNKNOWN:
		vs_text_add(&line, "NOT KNOWN");
		vs_text_mark(&line, VS_TEXT_ALARM);
		vs_text_add(&line, ": what was recorded is not whole");
		break;
	}
	vs_text_put_whole(style, &line, COLUMN);
}

/* What the simulated card was, in the figures that sizes depend on. */
static void put_profile(const struct vs_dryrun *dryrun, const struct vs_text_style *style)
{
	const struct vs_run_notes *notes = dryrun->notes;
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (!notes->has_card)
		return;
	add_heading(&line, "SIMULATED");
	if (notes->nr_devices > 1)
		vs_text_add(&line, "%" PRIu32 " x ", notes->nr_devices);
	vs_text_add_name(&line, notes->name, VS_TEXT_NAME_COLUMNS);
	vs_text_add(&line,
		    " (%s): %s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32
		    " multiprocessors of %" PRIu32 " threads, context %s, addresses as on %s",
		    notes->profile, vs_units_put_bytes(a, notes->memory_size),
		    notes->compute_capability / 10, notes->compute_capability % 10,
		    notes->nr_multiprocessors, notes->threads_per_multiprocessor,
		    vs_units_put_bytes(b, notes->context_size),
		    !strcmp(notes->addresses, "packed") ? "Windows" : "Linux");
	vs_text_put_whole(style, &line, COLUMN);
}

static void put_cards(const struct vs_dryrun *dryrun, const struct vs_text_style *style)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX], d[VS_UNITS_MAX], e[VS_UNITS_MAX];
	size_t i;

	for (i = 0; i < dryrun->nr_cards; i++) {
		const struct vs_dryrun_card *card = &dryrun->cards[i];

		if (!i)
			add_heading(&line, "MEMORY");
		else
			vs_text_fill(&line, COLUMN);
		if (dryrun->nr_cards > 1)
			vs_text_add(&line, "card %zu: ", i);
		vs_text_add(&line, "%s = %s context + %s reserved at the peak (%s live) + %s left",
			    vs_units_put_bytes(a, card->total_size),
			    vs_units_put_bytes(b, vs_dryrun_get_context(dryrun, card)),
			    vs_units_put_bytes(c, card->peak_reserved),
			    vs_units_put_bytes(d, card->peak_live),
			    vs_units_put_bytes(e, vs_dryrun_get_left(dryrun, card)));
		if (card->nr_processes > 1)
			vs_text_add(&line,
				    "; sums over %" PRIu32 " processes, which may have peaked one "
				    "after the other",
				    card->nr_processes);
		vs_text_put_whole(style, &line, COLUMN);
	}
}

/* "torch 2.15.0" of the fact torch.version; the other facts are in the JSON. */
static void put_versions(const struct vs_dryrun_words *facts, const struct vs_text_style *style)
{
	static const char end[] = ".version";
	struct vs_text_line line = {0};
	size_t i, size;

	for (i = 0; i < facts->nr; i++) {
		size = strlen(facts->list[i].name);
		if (size < sizeof(end) ||
		    strcmp(facts->list[i].name + size - strlen(end), end) != 0)
			continue;
		if (!line.size)
			add_heading(&line, "VERSIONS");
		else
			vs_text_add(&line, ", ");
		vs_text_add(&line, "%.*s %s", (int)(size - strlen(end)), facts->list[i].name,
			    facts->list[i].value);
	}
	if (line.size)
		vs_text_put_whole(style, &line, COLUMN);
}

static void put_settings(const struct vs_dryrun_words *settings, const struct vs_text_style *style)
{
	struct vs_text_line line = {0};
	size_t i;

	if (!settings->nr)
		return;
	add_heading(&line, "SETTINGS");
	for (i = 0; i < settings->nr; i++)
		vs_text_add(&line, "%s%s=%s", i ? "  " : "", settings->list[i].name,
			    settings->list[i].value);
	vs_text_put_whole(style, &line, COLUMN);
}

/* What a real card would have told otherwise, as far as the simulated one knows. */
static void put_not_real(const struct vs_dryrun *dryrun, const struct vs_text_style *style)
{
	const struct vs_run_notes *notes = dryrun->notes;
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	size_t i;

	add_heading(&line, "NOT REAL");
	vs_text_add(&line, "kernels did not run: values, times, and sizes that depend on values; "
			   "what a context takes is an estimate");
	vs_text_put_whole(style, &line, COLUMN);
	if (notes->nr_sizes) {
		vs_text_fill(&line, COLUMN);
		vs_text_add(&line, "sizes nobody knows, and what was answered: ");
		for (i = 0; i < notes->nr_sizes; i++)
			vs_text_add(&line, "%s%s %s", i ? ", " : "", notes->sizes[i].name,
				    vs_units_put_bytes(a, notes->sizes[i].bytes));
		vs_text_put_whole(style, &line, COLUMN);
	}
	/* Most programs try some and do without; it matters where one failed. */
	if (notes->nr_missing && dryrun->verdict == VS_DRYRUN_FAILED) {
		vs_text_fill(&line, COLUMN);
		vs_text_add(&line, "functions that are not simulated, and were called: ");
		for (i = 0; i < notes->nr_missing; i++)
			vs_text_add(&line, "%s%s", i ? ", " : "", notes->missing[i]);
		vs_text_put_whole(style, &line, COLUMN);
	}
}

static void put_hint(const struct vs_dryrun *dryrun, const struct vs_text_style *style)
{
	struct vs_text_line line = {0};

	if (!vs_dryrun_has_hint(dryrun))
		return;
	add_heading(&line, "HINT");
	vs_text_add(
		&line,
		"the program imported JAX, which looks for a GPU only if there is a file "
		"/dev/nvidia0, /dev/nvidiactl or /dev/dxg; there is none here. What can be done: "
		"docs/dry-run.md, \"JAX\"");
	vs_text_put_whole(style, &line, COLUMN);
}

void vs_dryrun_text_put(const struct vs_dryrun *dryrun, const struct vs_text_style *style)
{
	size_t i;

	put_verdict(dryrun, style);
	put_hint(dryrun, style);
	put_cards(dryrun, style);
	put_profile(dryrun, style);
	put_versions(&dryrun->facts, style);
	put_settings(&dryrun->settings, style);
	if (dryrun->nr_cards)
		put_not_real(dryrun, style);
	for (i = 0; i < dryrun->nr_traces; i++)
		fprintf(style->file, "\n%s", dryrun->traces[i].text);
}

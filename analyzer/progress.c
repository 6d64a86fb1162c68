#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "text.h"

#define SECOND ((uint64_t)1000000000)

/* No terminal is so narrow that the line breaks. */
#define NAME_COLUMNS 36
#define LINE_MAX     512

/* Blanks over all of the longest line; no terminal needs to know more than a return. */
#define WIPE "\r                                                                      \r"

struct vs_progress_plan vs_progress_plan = {.after_ns = SECOND, .interval_ns = SECOND / 10};

static struct {
	char name[LINE_MAX / 2];
	bool is_enabled;
	bool is_shown;
	uint64_t size;     /* 0: no pass is under way */
	uint64_t start_ns; /* of the pass */
	uint64_t next_ns;  /* when to show it again */
} progress;

static uint64_t get_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void vs_progress_enable(const char *path, bool is_quiet)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	progress.is_enabled = path && !is_quiet && isatty(STDERR_FILENO);
	if (!progress.is_enabled)
		return;
	snprintf(progress.name, sizeof(progress.name), "%s", slash ? slash + 1 : path);
	vs_text_keep_tail(progress.name, NAME_COLUMNS, true);
}

void vs_progress_begin(uint64_t size)
{
	if (!progress.is_enabled || !size)
		return;
	progress.size = size;
	progress.start_ns = get_now();
	progress.next_ns = progress.start_ns + vs_progress_plan.after_ns;
}

static void put(const char *text)
{
	/* Nothing is lost if it does not arrive. */
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		progress.is_enabled = false;
}

static void show(uint64_t done, uint64_t now_ns)
{
	uint64_t spent_ns = now_ns - progress.start_ns;
	unsigned int share = (unsigned int)(done * 100 / progress.size);
	char line[LINE_MAX];

	if (!progress.is_shown)
		vs_interrupt_set_last_words(WIPE);
	progress.is_shown = true;
	if (share >= 5 && share < 100 && spent_ns > SECOND)
		snprintf(line, sizeof(line), "\rreading %s  %u %%, %" PRIu64 " s left   ",
			 progress.name, share, spent_ns / share * (100 - share) / SECOND + 1);
	else
		snprintf(line, sizeof(line), "\rreading %s  %u %%   ", progress.name, share);
	put(line);
}

void vs_progress_set(uint64_t done)
{
	uint64_t now_ns;

	if (!progress.size)
		return;
	now_ns = get_now();
	if (now_ns < progress.next_ns)
		return;
	progress.next_ns = now_ns + vs_progress_plan.interval_ns;
	show(done < progress.size ? done : progress.size, now_ns);
}

void vs_progress_end(void)
{
	progress.size = 0;
	if (!progress.is_shown)
		return;
	put(WIPE);
	vs_interrupt_set_last_words(NULL);
	progress.is_shown = false;
}

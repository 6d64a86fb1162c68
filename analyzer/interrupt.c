#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static char guarded[PATH_MAX]; /* written while has_file is false */
static atomic_bool has_file;
static _Atomic(const char *) words; /* NULL: none */

/* Nothing but what a signal handler may call. */
static void end(int number)
{
	const char *last = atomic_load(&words);

	if (atomic_load(&has_file))
		unlink(guarded);
	if (last && write(STDERR_FILENO, last, strlen(last)) < 0)
		errno = 0; /* nobody is left to be told */
	signal(number, SIG_DFL);
	raise(number);
}

static void watch(void)
{
	struct sigaction action = {.sa_handler = end}, before;
	size_t i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < NR_SIGNALS; i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

static void guard(const char *path)
{
	if (snprintf(guarded, sizeof(guarded), "%s", path) >= (int)sizeof(guarded))
		return; /* longer than any file's */
	watch();
	atomic_store(&has_file, true);
}

int vs_interrupt_make_file(char *name)
{
	sigset_t ours, before;
	int fd;
	size_t i;

	sigemptyset(&ours);
	for (i = 0; i < NR_SIGNALS; i++)
		sigaddset(&ours, signals[i]);
	if (sigprocmask(SIG_BLOCK, &ours, &before))
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		guard(name);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

void vs_interrupt_guard_file(const char *path)
{
	struct stat info;

	/* A device or a pipe is not ours to remove. */
	if (lstat(path, &info) == 0 && S_ISREG(info.st_mode))
		guard(path);
}

void vs_interrupt_release_file(void)
{
	atomic_store(&has_file, false);
}

void vs_interrupt_set_last_words(const char *text)
{
	if (text)
		watch();
	atomic_store(&words, text);
}

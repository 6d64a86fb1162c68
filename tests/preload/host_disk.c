/* Fills the disk it is recorded on, or takes the trace away: host_disk MODE ... */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <vramscope.h>

static vs_pool pool;

/*
 * Blocks that cannot be compressed: the size is noise. The address is thread << 32 | number, by
 * which they are known again.
 */
static void say_noise(unsigned long thread, unsigned long nr)
{
	static uint64_t state = 4711;

	for (unsigned long i = 1; i <= nr; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		vs_pool_alloc(pool, (const void *)(uintptr_t)(thread << 32 | i), state >> 1);
	}
}

/* Takes all that is left. */
static int fill_disk(void)
{
	static char bytes[65536];
	int fd = open("ballast", O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd < 0)
		return -1;
	for (size_t size = sizeof(bytes); size; size /= 2)
		while (write(fd, bytes, size) == (ssize_t)size)
			;
	return close(fd);
}

static bool is_trace(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && strcmp(end, ".vscope") == 0;
}

/* Bytes of the trace in this folder, or -1. */
static long get_trace_size(void)
{
	DIR *folder = opendir(".");
	struct dirent *entry;
	struct stat file;
	long size = -1;

	while (folder && (entry = readdir(folder)))
		if (is_trace(entry->d_name) && stat(entry->d_name, &file) == 0)
			size = (long)file.st_size;
	if (folder)
		closedir(folder);
	return size;
}

static void take_a_nap(void)
{
	static const struct timespec nap = {0, 5000000};

	nanosleep(&nap, NULL);
}

/* Full before the first event, or behind the first ones and to the end. */
static int stay_full(unsigned long nr_before, unsigned long nr_after)
{
	if (nr_before) {
		pool = vs_pool_create("full", 0, 0);
		say_noise(0, nr_before);
	}
	if (fill_disk() < 0)
		return 1;
	if (!nr_before)
		pool = vs_pool_create("full", 0, 0);
	say_noise(1, nr_after);
	puts("done");
	return 0;
}

static unsigned long nr_steps;

/* Goes on, slowly, until something has happened; or for 20 seconds, and then it does not. */
static bool say_steps_until(bool (*has_happened)(void))
{
	for (int i = 0; !has_happened(); i++) {
		if (i == 4000)
			return false;
		vs_step(nr_steps++);
		take_a_nap();
	}
	return true;
}

/* The profiler has said so; stderr is a file. */
static bool is_known_to_be_full(void)
{
	struct stat file;

	return fstat(2, &file) == 0 && file.st_size > 0;
}

/* Until nothing more goes into the trace, and then some. */
static int fill_trace(void)
{
	unsigned long nr = 0;

	pool = vs_pool_create("noise", 0, 0);
	for (; !is_known_to_be_full(); nr += 1000) {
		if (nr == 10000000)
			return 1;
		say_noise(0, 1000);
		sched_yield();
	}
	say_noise(1, 100000);
	printf("%lu\n", nr + 100000);
	return 0;
}

static long full_size;

static bool has_grown(void)
{
	return get_trace_size() > full_size;
}

/* Full for a while: then there is room, and the trace grows again. */
static int be_full(unsigned long nr)
{
	pool = vs_pool_create("full", 0, 0);
	say_noise(0, 1000);
	if (fill_disk() < 0)
		return 1;
	say_noise(1, nr);
	if (!say_steps_until(is_known_to_be_full))
		return 2;
	full_size = get_trace_size();
	if (unlink("ballast") < 0 || !say_steps_until(has_grown))
		return 3;
	say_noise(2, 1000);
	printf("%lu\n", nr_steps);
	return 0;
}

/* Counts those that somebody else removed first, too: behind a trace the profiler removes its log.
 */
static int remove_files(bool (*is_meant)(const char *name))
{
	DIR *folder = opendir(".");
	struct dirent *entry;
	int nr = 0;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && is_meant(entry->d_name))
			nr += unlink(entry->d_name) == 0 || errno == ENOENT;
	if (folder)
		closedir(folder);
	return nr;
}

static bool is_any(const char *name)
{
	return name[0] != '\0';
}

/* Somebody cleans up while the program runs. */
static int lose_trace(const char *what, unsigned long nr)
{
	pool = vs_pool_create("removed", 0, 0);
	say_noise(0, 1000);
	if (strcmp(what, "trace") == 0 && remove_files(is_trace) != 1)
		return 1;
	if (strcmp(what, "folder") == 0 && (remove_files(is_any) < 2 || rmdir("../removed") < 0))
		return 1;
	say_noise(1, nr);
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "noise") == 0 && argc == 3) {
		pool = vs_pool_create("noise", 0, 0);
		say_noise(0, strtoul(argv[2], NULL, 10));
		puts("done");
		return 0;
	}
	if (strcmp(mode, "fill-trace") == 0)
		return fill_trace();
	if (strcmp(mode, "stay-full") == 0 && argc == 4)
		return stay_full(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (strcmp(mode, "be-full") == 0 && argc == 3)
		return be_full(strtoul(argv[2], NULL, 10));
	if (strcmp(mode, "lose") == 0 && argc == 4)
		return lose_trace(argv[2], strtoul(argv[3], NULL, 10));
	return 2;
}

#include "process_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_NAME "vramscope\n" /* as preload/drain.c calls its thread */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time = {0, 0};

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t vs_process_watch_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void vs_process_watch_sleep_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}

/* The beginning of a file of /proc, terminated; empty if there is none. */
static void read_start(const char *path, char *text, size_t text_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, text_size - 1);

	text[size < 0 ? 0 : size] = '\0';
	if (fd >= 0)
		close(fd);
}

struct vs_process_watch_memory vs_process_watch_get_memory(void)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct vs_process_watch_memory memory = {0, 0};
	size_t resident;
	char text[128];
	char *at;

	/* All pages, the resident ones, those of them that are of files: proc(5). */
	read_start("/proc/self/statm", text, sizeof(text));
	(void)strtoul(text, &at, 10);
	resident = strtoul(at, &at, 10) * page_size;
	memory.mapped = strtoul(at, NULL, 10) * page_size;
	memory.own = resident - memory.mapped;
	return memory;
}

int vs_process_watch_find_drain(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int thread = 0;

	while (tasks && !thread && (task = readdir(tasks))) {
		char path[sizeof("/proc/self/task//comm") + sizeof(task->d_name)], name[32];

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		read_start(path, name, sizeof(name));
		if (strcmp(name, DRAIN_NAME) == 0 && atoi(task->d_name) != getpid())
			thread = atoi(task->d_name);
	}
	if (tasks)
		closedir(tasks);
	return thread;
}

/* The kernel's numbering of clocks (clock_gettime(2) of a thread by its number): not in libc. */
uint64_t vs_process_watch_get_cpu_ns(int thread)
{
	return read_clock((clockid_t)((~(unsigned)thread << 3) | 6u));
}

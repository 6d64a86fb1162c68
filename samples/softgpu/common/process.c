#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* proc(5), /proc/PID/stat: state is field 3, num_threads field 20, starttime field 22. */
static uint64_t parse_stat(const char *text)
{
	unsigned long long start = 0;
	const char *after_name;
	int nr_threads = 0;
	char state;

	/* The name in parentheses may hold anything, also parentheses. */
	after_name = strrchr(text, ')');
	if (!after_name ||
	    sscanf(after_name,
		   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
		   &state, &nr_threads, &start) != 3)
		return 0;
	/* A leader that left while other threads go on shows as a zombie, too. */
	if ((state == 'Z' || state == 'X') && nr_threads <= 1)
		return 0;
	return start;
}

uint64_t sg_process_read_start(pid_t pid)
{
	char path[32], text[1024];
	int saved = errno;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	errno = saved;
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return parse_stat(text);
}

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned enabled;
static int out_fd = STDERR_FILENO;

static void read_environment(void)
{
	const char *parts = getenv("SOFTGPU_LOG");
	const char *file = getenv("SOFTGPU_LOG_FILE");

	if (!parts || !*parts || !strcmp(parts, "0"))
		return;
	if (strstr(parts, "lookups"))
		enabled |= SG_LOG_LOOKUPS;
	if (strstr(parts, "math"))
		enabled |= SG_LOG_MATH;
	if (strstr(parts, "missing") || !enabled)
		enabled |= SG_LOG_MISSING;
	if (file && *file) {
		int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

		if (fd >= 0)
			out_fd = fd;
	}
}

static void write_line(int fd, const char *format, va_list args)
{
	static const char prefix[] = "softgpu: ";
	int saved = errno;
	char line[1024];
	size_t length = sizeof(prefix) - 1;
	int n;

	memcpy(line, prefix, length);
	n = vsnprintf(line + length, sizeof(line) - length - 1, format, args);
	if (n > 0)
		length += (size_t)n;
	if (length > sizeof(line) - 2)
		length = sizeof(line) - 2;
	line[length++] = '\n';
	/* Nobody to tell when standard error is closed. */
	if (write(fd, line, length) < 0)
		errno = saved;
	errno = saved;
}

void sg_log_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(STDERR_FILENO, format, args);
	va_end(args);
}

void sg_log_part(enum sg_log_part part, const char *format, ...)
{
	va_list args;

	pthread_once(&once, read_environment);
	if (!(enabled & part))
		return;
	va_start(args, format);
	write_line(out_fd, format, args);
	va_end(args);
}

#include "note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void sg_note_add(const char *format, ...)
{
	const char *path = getenv("SOFTGPU_NOTES");
	int fd, size, saved = errno;
	char line[512];
	va_list args;

	if (!path || !*path)
		return;
	va_start(args, format);
	size = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (size > (int)sizeof(line) - 2)
		size = (int)sizeof(line) - 2;
	/* Not made if it is not there: whoever wanted it has ended. */
	fd = size > 0 ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd >= 0) {
		line[size++] = '\n';
		if (write(fd, line, (size_t)size) < 0)
			errno = saved; /* nobody to tell */
		close(fd);
	}
	errno = saved;
}

#include "trace_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"

int vs_trace_open_is_trace(const char *path)
{
	char magic[sizeof(VS_FORMAT_MAGIC) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size;
	int saved;

	if (fd < 0)
		return -VS_ERR_IO;
	size = pread(fd, magic, sizeof(magic), 0);
	saved = errno;
	close(fd);
	errno = saved;
	if (size < 0)
		return -VS_ERR_IO;
	/* A full disk may have cut even the first bytes. */
	return !memcmp(magic, VS_FORMAT_MAGIC, (size_t)size);
}

int vs_trace_open_reader(struct vs_reader **reader, const char *path)
{
	struct stat info;
	int err;

	/* A folder can be opened, and a pipe never ends. */
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
		vs_command_fail_text(path, "is %s, not a vramscope trace",
				     S_ISDIR(info.st_mode) ? "a folder" : "no regular file");
		return -VS_ERR_NOT_A_TRACE;
	}
	errno = 0;
	err = vs_reader_open(reader, path);
	if (err)
		vs_command_fail(path, err);
	return err;
}

int vs_trace_open_next_some(struct vs_reader *reader, struct vs_record *records, uint32_t most)
{
	int got;

	/* Behind a cut there is nothing; behind a damaged block there may be another one. */
	do {
		got = vs_reader_next_some(reader, records, most);
	} while (got == -VS_ERR_CORRUPT);
	return got > 0 ? got : 0;
}

int vs_trace_open_next(struct vs_reader *reader, struct vs_record *record)
{
	return vs_trace_open_next_some(reader, record, 1);
}

int vs_trace_open_finish(struct vs_reader *reader, const char *path)
{
	struct vs_reader_state state;

	vs_reader_get_state(reader, &state);
	vs_reader_close(reader);
	if (!state.is_damaged)
		return VS_EXIT_DONE;
	vs_command_note(path, "is %sdamaged: parts of it could not be read",
			state.is_complete ? "" : "cut or ");
	return VS_EXIT_DAMAGED;
}

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "compose.h"
#include "info.h"

#define NR_TRIES 10000u

static void expand_pattern(const struct vs_settings *settings, struct vs_compose *text,
			   bool *is_own)
{
	for (const char *c = settings->output; *c; c++) {
		char next = *c == '%' ? c[1] : '\0';

		if (next == 'p') {
			vs_compose_add_number(text, (uint64_t)getpid());
			*is_own = true;
		} else if (next == 'h') {
			vs_compose_add(text, settings->host);
		} else if (next == 'r') {
			vs_compose_add(text, settings->rank);
		} else if (next == '%') {
			vs_compose_add(text, "%");
		} else {
			vs_compose_add_bytes(text, c, 1);
			continue;
		}
		c++;
	}
}

int vs_output_expand(const struct vs_settings *settings, char path[PATH_MAX], bool *is_own)
{
	struct vs_compose text;

	*is_own = false;
	vs_compose_init(&text, path, PATH_MAX);
	if (settings->output[0]) {
		expand_pattern(settings, &text, is_own);
	} else {
		vs_compose_add(&text, settings->folder);
		vs_compose_add(&text, "/");
		vs_compose_add(&text, settings->program);
		vs_compose_add(&text, ".");
		vs_compose_add_number(&text, (uint64_t)getpid());
		vs_compose_add(&text, ".vscope");
		*is_own = true;
	}
	return text.is_cut ? -VS_ERR_INVALID : 0;
}

/*
 * A device or a folder of that name is no trace of somebody else's: it cannot be evaded. What is
 * gone by now was an old trace, and somebody else is about to take its name.
 */
static bool is_taken(const char *path)
{
	struct stat file;
	bool is_file = lstat(path, &file) == 0 ? S_ISREG(file.st_mode) : errno == ENOENT;

	errno = EEXIST;
	return is_file;
}

static bool may_be_replaced(const struct vs_settings *settings, const struct stat *file)
{
	struct vs_compose key;
	char bytes[80];

	vs_compose_init(&key, bytes, sizeof(bytes));
	vs_compose_add_number(&key, (uint64_t)file->st_dev);
	vs_compose_add(&key, ":");
	vs_compose_add_number(&key, (uint64_t)file->st_ino);
	vs_compose_add(&key, ":");
	vs_compose_add_number(&key, (uint64_t)file->st_mtim.tv_sec * 1000000000u +
					    (uint64_t)file->st_mtim.tv_nsec);
	vs_compose_add(&key, ",");
	for (const char *c = strstr(settings->replace, bytes); c; c = strstr(c + 1, bytes))
		if (c == settings->replace || c[-1] == ',')
			return true;
	return false;
}

/*
 * Removes an old trace that has the name. Several processes, also of several launchers, may come to
 * this at once: whoever gets the lock on the old file may remove it, if it still has the name. The
 * others then find the new one, which is not listed. True if the name is free now.
 */
static bool make_room(const struct vs_settings *settings, const char *path)
{
	int fd = settings->replace[0] ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
				      : -1;
	struct stat file, named;
	bool is_gone = false;

	if (fd < 0)
		goto end;
	if (fstat(fd, &file) == 0 && may_be_replaced(settings, &file) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 && lstat(path, &named) == 0 &&
	    named.st_dev == file.st_dev && named.st_ino == file.st_ino)
		is_gone = unlink(path) == 0;
	close(fd);
end:
	errno = EEXIST; /* as it was */
	return is_gone;
}

static int create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int vs_output_open(const struct vs_settings *settings, char path[PATH_MAX], int *fd)
{
	struct vs_compose text;
	bool is_own;
	size_t base;
	int err = vs_output_expand(settings, path, &is_own);

	if (err) {
		errno = ENAMETOOLONG;
		return -VS_ERR_IO;
	}
	base = strlen(path);
	for (uint32_t i = 0; i < NR_TRIES; i++) {
		vs_compose_init(&text, path + base, PATH_MAX - base);
		if (i > 0 && !is_own) {
			vs_compose_add(&text, ".");
			vs_compose_add_number(&text, (uint64_t)getpid());
		}
		if (i > (is_own ? 0 : 1)) {
			vs_compose_add(&text, ".");
			vs_compose_add_number(&text, is_own ? i : i - 1);
		}
		*fd = create(path);
		if (*fd < 0 && errno == EEXIST && i == 0 && make_room(settings, path))
			*fd = create(path);
		if (*fd >= 0)
			return 0;
		if (errno != EEXIST || !is_taken(path))
			break;
	}
	return -VS_ERR_IO;
}

/* prefix: one character, or none. */
static void add_line(const struct vs_settings *settings, const char *prefix, const char *path)
{
	struct iovec line[3] = {
		{.iov_base = (void *)(uintptr_t)prefix, .iov_len = strlen(prefix)},
		{.iov_base = (void *)(uintptr_t)path, .iov_len = strlen(path)},
		{.iov_base = "\n", .iov_len = 1},
	};
	ssize_t written;
	int fd;

	if (!settings->index[0])
		return;
	fd = open(settings->index, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	/* One call: lines of several processes do not mix. */
	written = writev(fd, line, 3);
	(void)written;
	close(fd);
}

void vs_output_add_to_index(const struct vs_settings *settings, const char *path)
{
	add_line(settings, "", path);
}

void vs_output_add_refused(const struct vs_settings *settings, const char *path)
{
	add_line(settings, (char[]){VS_INFO_INDEX_REFUSED, '\0'}, path);
}

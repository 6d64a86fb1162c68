#include "standin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "library_name.h"

#define MAX_STANDINS 256
#define PATHS_SIZE   (128 * 1024)

struct standin {
	const char *path; /* absolute, in the paths below */
	size_t base_at;   /* where the file's own name begins */
	size_t stem_size;
	size_t version_at; /* counted from base_at */
	dev_t dev;
	ino_t ino;
};

/* No heap: the loader is in the middle of its own work whenever it calls an audit library. */
static struct {
	struct standin entries[MAX_STANDINS];
	size_t nr_entries;
	char paths[PATHS_SIZE];
	size_t paths_size;
} table;

static const char *base_of(const struct standin *entry)
{
	return entry->path + entry->base_at;
}

/* Not stand-ins: what is no library, the audit library itself, and anything under a hashed name. */
static bool is_wanted(const char *file, struct sg_library_name *name)
{
	return sg_library_name_parse(file, name) == 0 && strcmp(name->text, file) == 0 &&
	       strncmp(file, "libsoftgpu", strlen("libsoftgpu")) != 0;
}

static int add_file(int folder_fd, const char *folder, const char *file)
{
	struct standin *entry = &table.entries[table.nr_entries];
	size_t folder_size = strlen(folder), file_size = strlen(file);
	char *path = table.paths + table.paths_size;
	struct sg_library_name name;
	struct stat status;

	if (!is_wanted(file, &name) || fstatat(folder_fd, file, &status, 0) != 0 ||
	    !S_ISREG(status.st_mode))
		return 0;
	if (table.nr_entries == MAX_STANDINS ||
	    folder_size + file_size + 2 > PATHS_SIZE - table.paths_size)
		return -ENOSPC;
	memcpy(path, folder, folder_size);
	path[folder_size] = '/';
	memcpy(path + folder_size + 1, file, file_size + 1);
	*entry = (struct standin){
		.path = path,
		.base_at = folder_size + 1,
		.stem_size = name.stem_size,
		.version_at = name.version_at,
		.dev = status.st_dev,
		.ino = status.st_ino,
	};
	table.paths_size += folder_size + file_size + 2;
	table.nr_entries++;
	return 0;
}

int sg_standin_init(const char *folder)
{
	_Alignas(struct dirent64) char bytes[2048];
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	/* The system call itself: opendir would ask for heap. */
	for (;;) {
		long size = syscall(SYS_getdents64, fd, bytes, sizeof(bytes));

		if (size < 0)
			err = -errno;
		if (size <= 0)
			break;
		for (long at = 0; at < size && err == 0;) {
			const struct dirent64 *entry = (const struct dirent64 *)(bytes + at);

			err = add_file(fd, folder, entry->d_name);
			at += entry->d_reclen;
		}
		if (err)
			break;
	}
	close(fd);
	return err;
}

const char *sg_standin_find(const struct sg_library_name *name)
{
	struct sg_library_name wanted = *name;

	do {
		for (size_t i = 0; i < table.nr_entries; i++) {
			if (strcmp(base_of(&table.entries[i]), wanted.text) == 0)
				return table.entries[i].path;
		}
	} while (sg_library_name_shorten(&wanted));
	return NULL;
}

const char *sg_standin_find_newest(const struct sg_library_name *name)
{
	const struct standin *best = NULL;

	for (size_t i = 0; i < table.nr_entries; i++) {
		const struct standin *entry = &table.entries[i];

		if (entry->stem_size != name->stem_size ||
		    memcmp(base_of(entry), name->text, name->stem_size) != 0)
			continue;
		if (!best || strverscmp(base_of(entry) + entry->version_at,
					base_of(best) + best->version_at) > 0)
			best = entry;
	}
	return best ? best->path : NULL;
}

bool sg_standin_is_file(dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < table.nr_entries; i++) {
		if (table.entries[i].dev == dev && table.entries[i].ino == ino)
			return true;
	}
	return false;
}

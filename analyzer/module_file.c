#include "module_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

static const char *debug_folder = "/usr/lib/debug/.build-id";

void vs_module_file_set_debug_folder(const char *path)
{
	debug_folder = path ? path : "/usr/lib/debug/.build-id";
}

/* A path comes from a trace, perhaps from elsewhere: never wait for a FIFO, never read a device. */
static Elf *open_elf(const char *path, int *fd)
{
	struct stat st;
	Elf *elf;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return NULL;
	if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode))
		goto close_fd;
	elf_version(EV_CURRENT);
	elf = elf_begin(*fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
close_fd:
	close(*fd);
	*fd = -1;
	return NULL;
}

static void close_elf(Elf **elf, int *fd)
{
	elf_end(*elf);
	*elf = NULL;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool has_build_id(Elf *elf, const uint8_t *build_id, uint32_t size)
{
	const void *found = NULL;
	ssize_t found_size = dwelf_elf_gnu_build_id(elf, &found);

	/* Neither of them has one: nothing speaks against the file. */
	if (found_size <= 0)
		return size == 0;
	/* The recorder may have kept less than a long id's bytes. */
	if (size == VS_BUILD_ID_MAX && found_size > VS_BUILD_ID_MAX)
		found_size = VS_BUILD_ID_MAX;
	return (size_t)found_size == size && memcmp(found, build_id, size) == 0;
}

static void open_debug(struct vs_module_file *file, const uint8_t *build_id, uint32_t size)
{
	char path[4096];
	int used;

	if (size < 2)
		return;
	used = snprintf(path, sizeof(path), "%s/%02x/", debug_folder, build_id[0]);
	for (uint32_t i = 1; i < size && used + 10 < (int)sizeof(path); i++)
		used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", build_id[i]);
	if (used + 10 >= (int)sizeof(path))
		return;
	snprintf(path + used, sizeof(path) - (size_t)used, ".debug");
	file->debug = open_elf(path, &file->debug_fd);
	if (file->debug && !has_build_id(file->debug, build_id, size))
		close_elf(&file->debug, &file->debug_fd);
}

void vs_module_file_open(struct vs_module_file *file, const char *path, const uint8_t *build_id,
			 uint32_t build_id_size)
{
	*file = (struct vs_module_file){.elf_fd = -1, .debug_fd = -1};
	file->elf = open_elf(path, &file->elf_fd);
	if (!file->elf) {
		file->state = VS_MODULE_FILE_GONE;
	} else if (!has_build_id(file->elf, build_id, build_id_size)) {
		file->state = VS_MODULE_FILE_CHANGED;
		close_elf(&file->elf, &file->elf_fd);
	}
	open_debug(file, build_id, build_id_size);
}

void vs_module_file_close(struct vs_module_file *file)
{
	close_elf(&file->elf, &file->elf_fd);
	close_elf(&file->debug, &file->debug_fd);
}

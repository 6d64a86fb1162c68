#include "run_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

/* As deep as Linux follows interpreters of interpreters. */
#define MAX_INTERPRETERS 5

/* 0, ENOENT, or EACCES for something that is there and cannot be started. */
static int try_program(const char *path, const char **reason)
{
	struct stat info;

	if (stat(path, &info) < 0) {
		*reason = strerror(errno);
		return errno == EACCES ? EACCES : ENOENT;
	}
	if (S_ISDIR(info.st_mode)) {
		*reason = "is a folder";
		return EACCES;
	}
	if (access(path, X_OK) < 0) {
		*reason = "is not executable";
		return EACCES;
	}
	return 0;
}

static int find_in_path(char path[PATH_MAX], const char *name, const char **reason)
{
	const char *folder = getenv("PATH"), *end, *why;
	int result = VS_RUN_NOT_FOUND, error;

	*reason = "command not found";
	if (!folder)
		folder = "/bin:/usr/bin"; /* as execvp */
	for (;; folder = end + 1) {
		end = strchrnul(folder, ':');
		if (end == folder)
			error = snprintf(path, PATH_MAX, "./%s", name) < PATH_MAX ? 0 : ENOENT;
		else
			error = snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - folder), folder,
					 name) < PATH_MAX
					? 0
					: ENOENT;
		if (!error)
			error = try_program(path, &why);
		if (!error)
			return 0;
		if (error == EACCES && result == VS_RUN_NOT_FOUND && access(path, F_OK) == 0) {
			result = VS_RUN_NOT_EXECUTABLE;
			*reason = why;
		}
		if (!*end)
			return result;
	}
}

int vs_run_program_find(char path[PATH_MAX], const char *name, const char **reason)
{
	int error;

	if (!*name) {
		*reason = "command not found";
		return VS_RUN_NOT_FOUND;
	}
	if (!strchr(name, '/'))
		return find_in_path(path, name, reason);
	if (strlen(name) >= PATH_MAX) {
		*reason = strerror(ENAMETOOLONG);
		return VS_RUN_NOT_FOUND;
	}
	error = try_program(name, reason);
	if (error)
		return error == ENOENT ? VS_RUN_NOT_FOUND : VS_RUN_NOT_EXECUTABLE;
	strcpy(path, name);
	return 0;
}

/*
 * Whether the kernel would give the program more rights than we have, upon which the linker ignores
 * LD_PRELOAD.
 */
static bool is_privileged(const char *path)
{
	struct statvfs system;
	struct stat info;

	/* Where no rights can be gained, the bits mean nothing. */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (statvfs(path, &system) == 0 && (system.f_flag & ST_NOSUID)) || stat(path, &info) < 0)
		return false;
	if ((info.st_mode & S_ISUID) && info.st_uid != getuid())
		return true;
	if ((info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) && info.st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Whether it says of itself that it is a program, by the flags of its dynamic section. */
static bool has_pie_flag(int fd, const Elf64_Phdr *dynamic)
{
	Elf64_Dyn entry;
	uint64_t i;

	for (i = 0; i < dynamic->p_filesz / sizeof(entry); i++) {
		if (pread(fd, &entry, sizeof(entry),
			  (off_t)(dynamic->p_offset + i * sizeof(entry))) != sizeof(entry) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	}
	return false;
}

/*
 * Without an interpreter it is static, or the dynamic linker itself, which was told on the command
 * line what to load, and preloads as always.
 */
static enum vs_run_program_sight inspect_elf(int fd, const Elf64_Ehdr *header)
{
	enum vs_run_program_sight sight = VS_SIGHT_STATIC;
	Elf64_Phdr segment;
	unsigned int i;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OUR_MACHINE)
		return VS_SIGHT_FOREIGN;
	for (i = 0; i < header->e_phnum; i++) {
		off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);

		if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return VS_SIGHT_CLEAR;
		if (segment.p_type == PT_INTERP)
			return VS_SIGHT_CLEAR;
		if (segment.p_type == PT_DYNAMIC && !has_pie_flag(fd, &segment))
			sight = VS_SIGHT_CLEAR;
	}
	return sight;
}

/* Of "#!/bin/sh -e" leaves "/bin/sh" in text; false if there is none. */
static bool get_interpreter(char *text)
{
	char *start = text + 2 + strspn(text + 2, " \t");
	size_t size = strcspn(start, " \t\r\n");

	memmove(text, start, size);
	text[size] = '\0';
	return size > 0;
}

enum vs_run_program_sight vs_run_program_inspect(const char *path, char seen[PATH_MAX])
{
	enum vs_run_program_sight sight = VS_SIGHT_CLEAR;
	union {
		Elf64_Ehdr elf;
		char text[PATH_MAX];
	} start;
	int depth, fd;
	ssize_t size;

	snprintf(seen, PATH_MAX, "%s", path);
	for (depth = 0; depth < MAX_INTERPRETERS; depth++) {
		fd = open(seen, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		/* What may be executed but not read is no script. */
		if (fd < 0)
			return is_privileged(seen) ? VS_SIGHT_PRIVILEGED : VS_SIGHT_CLEAR;
		size = pread(fd, start.text, sizeof(start) - 1, 0);
		start.text[size > 0 ? size : 0] = '\0';
		if (size >= (ssize_t)sizeof(start.elf) && !memcmp(start.text, ELFMAG, SELFMAG)) {
			sight = is_privileged(seen) ? VS_SIGHT_PRIVILEGED
						    : inspect_elf(fd, &start.elf);
			close(fd);
			return sight;
		}
		close(fd);
		if (size < 3 || strncmp(start.text, "#!", 2) || !get_interpreter(start.text))
			return VS_SIGHT_CLEAR;
		strcpy(seen, start.text);
	}
	return VS_SIGHT_CLEAR;
}

bool vs_run_program_is_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[SELFMAG] = "";
	bool is_elf;

	if (fd < 0)
		return false;
	is_elf = pread(fd, magic, sizeof(magic), 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
	close(fd);
	return is_elf;
}

bool vs_run_program_is_tsan(const char *path)
{
	static const char linked[] = "libtsan.so", carried[] = "__tsan_init";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_tsan = false;
	struct stat info;
	void *bytes;

	if (fd < 0)
		return false;
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size < SELFMAG)
		goto close_fd;
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		goto close_fd;
	if (!memcmp(bytes, ELFMAG, SELFMAG))
		is_tsan = memmem(bytes, (size_t)info.st_size, linked, strlen(linked)) ||
			  memmem(bytes, (size_t)info.st_size, carried, strlen(carried));
	munmap(bytes, (size_t)info.st_size);
close_fd:
	close(fd);
	return is_tsan;
}

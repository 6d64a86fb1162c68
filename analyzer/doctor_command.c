#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "run_program.h"

#define LIST_SIZE 65536 /* of what the loader lists; a program with more libraries has others */

/* What a program says of itself that matters here. */
struct program {
	char runtime[64];   /* soname of the CUDA runtime it links; empty: none */
	char framework[64]; /* a library of a framework that it links, which brings a runtime */
	char missing[64];   /* a library it cannot start without, and that is not there */
	char loader[PATH_MAX];
	bool links_driver;
	bool names_driver; /* somewhere in it: a static runtime opens it by name */
};

/* ---- Which CUDA ------------------------------------------------------------------------------ */

static void note_library(struct program *program, const char *name)
{
	static const char *const frameworks[] = {"libtorch", "libc10", "libtensorflow", "libjax"};
	size_t i;

	if (!strncmp(name, "libcudart.so", strlen("libcudart.so")))
		snprintf(program->runtime, sizeof(program->runtime), "%s", name);
	program->links_driver |= !strcmp(name, "libcuda.so.1");
	for (i = 0; i < sizeof(frameworks) / sizeof(frameworks[0]); i++)
		if (!strncmp(name, frameworks[i], strlen(frameworks[i])))
			snprintf(program->framework, sizeof(program->framework), "%s", name);
}

/* The libraries that the dynamic section names. */
static void read_needed(struct program *program, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Dyn entry;
	const char *name;
	int i;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (i = 0; data && gelf_getdyn(data, i, &entry); i++) {
			if (entry.d_tag != DT_NEEDED)
				continue;
			name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
			if (name)
				note_library(program, name);
		}
	}
}

static void read_loader(struct program *program, Elf *elf, int fd)
{
	GElf_Phdr header;
	size_t nr = 0, i;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP &&
		    header.p_filesz < sizeof(program->loader) &&
		    pread(fd, program->loader, header.p_filesz, (off_t)header.p_offset) !=
			    (ssize_t)header.p_filesz)
			program->loader[0] = '\0';
}

struct listing {
	const char *loader, *path;
};

/* As ldd does it: the loader loads everything, and starts nothing. */
static void list_libraries(int out, void *context)
{
	const struct listing *listing = context;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	unsetenv("LD_PRELOAD"); /* looked at elsewhere */
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 2) >= 0 && dup2(out, 1) >= 0 &&
	    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1) == 0)
		execl(listing->loader, listing->loader, listing->path, (char *)NULL);
}

/* Libraries that its libraries need, as well: "NAME => PATH (ADDRESS)", "NAME => not found". */
static void read_list(struct program *program, const char *path)
{
	struct listing listing = {program->loader, path};
	char *text = malloc(LIST_SIZE), *rest = text, *line, *arrow;

	/* The loader of another C library would start the program. */
	if (!text || !strstr(program->loader, "/ld-linux"))
		goto out;
	/* Something may be missing, which it says with its status: the list is good all the same.
	 */
	(void)!vs_doctor_ask(text, LIST_SIZE, list_libraries, &listing);
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		arrow = strstr(line, " => ");
		if (!arrow)
			continue;
		*arrow = '\0';
		note_library(program, line);
		/* Of the driver, doctor_gpu.c tells. */
		if (!strcmp(arrow + 4, "not found") && !program->missing[0] &&
		    strcmp(line, "libcuda.so.1") != 0)
			snprintf(program->missing, sizeof(program->missing), "%s", line);
	}
out:
	free(text);
}

static bool has_text(int fd, const char *text)
{
	struct stat info;
	bool has = false;
	void *bytes;

	if (fstat(fd, &info) < 0 || info.st_size <= 0)
		return false;
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	has = memmem(bytes, (size_t)info.st_size, text, strlen(text)) != NULL;
	munmap(bytes, (size_t)info.st_size);
	return has;
}

static void read_program(struct program *program, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf;

	memset(program, 0, sizeof(*program));
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		read_needed(program, elf);
		read_loader(program, elf, fd);
	}
	elf_end(elf);
	program->names_driver = has_text(fd, "libcuda.so.1");
	close(fd);
	read_list(program, path);
}

static void judge_runtime(struct vs_doctor *doctor, const char *path)
{
	struct program program;

	read_program(&program, path);
	if (program.missing[0])
		vs_doctor_add(doctor, VS_FINDING_BAD, "command",
			      "install it, or name its folder in LD_LIBRARY_PATH; of a CUDA "
			      "library, `run --softgpu` has its own",
			      "%s needs %s, which is not found", path, program.missing);
	if (program.runtime[0])
		vs_doctor_add(doctor, VS_FINDING_GOOD, "runtime", NULL, "shared: %s",
			      program.runtime);
	else if (program.links_driver)
		vs_doctor_add(doctor, VS_FINDING_GOOD, "runtime", NULL,
			      "none: it calls the driver itself");
	else if (program.names_driver)
		vs_doctor_add(doctor, VS_FINDING_GOOD, "runtime", NULL,
			      "static, inside the program: seen through the driver");
	else if (program.framework[0])
		vs_doctor_add(doctor, VS_FINDING_GOOD, "runtime", NULL, "that of %s",
			      program.framework);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "runtime", NULL,
			      "none is linked; what it loads or starts later is recorded too");
}

/* ---- Who runs it ------------------------------------------------------------------------------
 */

static const char *get_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of "#!/usr/bin/env [-S] python3" the file that env would start. */
static void follow_env(const char *script, char program[PATH_MAX])
{
	char line[PATH_MAX] = "", found[PATH_MAX], *rest = line, *word;
	FILE *file = fopen(script, "re");
	const char *reason;

	if (!file)
		return;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	strsep(&rest, " \t\n");
	while ((word = strsep(&rest, " \t\n")) && (!*word || *word == '-' || strchr(word, '=')))
		;
	if (word && !vs_run_program_find(found, word, &reason))
		strcpy(program, found);
}

/* ---- Whether we get into it ------------------------------------------------------------------ */

void vs_doctor_command_look(struct vs_doctor *doctor, char **command, char program[PATH_MAX])
{
	static const struct {
		const char *text, *remedy;
	} sights[] = {
		[VS_SIGHT_STATIC] =
			{"is statically linked: nothing of it can be recorded",
			 "link it with the C library shared (no -static); a static CUDA "
			 "runtime is fine"},
		[VS_SIGHT_PRIVILEGED] = {"runs with privileges of its own, so the linker preloads "
					 "nothing: it cannot be recorded",
					 "run a copy without set-user-id bits and capabilities"},
		[VS_SIGHT_FOREIGN] = {"is made for another kind of machine, or for 32 bits: it "
				      "cannot be recorded",
				      "vramscope records 64-bit programs of this machine"},
	};
	enum vs_run_program_sight sight;
	char path[PATH_MAX];
	const char *reason;

	program[0] = '\0';
	if (!command || !command[0])
		return;
	if (vs_run_program_find(path, command[0], &reason)) {
		vs_doctor_add(doctor, VS_FINDING_BAD, "command", "check its name, and PATH",
			      "%s: %s", command[0], reason);
		return;
	}
	sight = vs_run_program_inspect(path, program);
	if (sight != VS_SIGHT_CLEAR) {
		vs_doctor_add(doctor, VS_FINDING_BAD, "command", sights[sight].remedy, "%s %s",
			      program, sights[sight].text);
		program[0] = '\0';
		return;
	}
	if (strcmp(path, program) != 0)
		vs_doctor_add(doctor, VS_FINDING_GOOD, "command", NULL, "%s, a script for %s", path,
			      program);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "command", NULL, "%s", path);
	judge_runtime(doctor, program);
	/* A script that has the name of an interpreter (pyenv) finds the real one itself. */
	if (strcmp(path, program) != 0 && !strncmp(get_name(path), "python", strlen("python")))
		strcpy(program, path);
	else if (!strcmp(get_name(program), "env") && strcmp(path, program) != 0)
		follow_env(path, program);
}

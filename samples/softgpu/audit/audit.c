/*
 * The dynamic loader's audit interface (rtld-audit(7)): every search for a library comes by here
 * before anything is opened, LD_PRELOAD, RPATH and absolute names included.
 *
 * A library that has a stand-in is answered with it, whatever path was asked for. One of NVIDIA's
 * own that has none is refused before it is mapped: it would look for a real driver, and what it
 * did then would be neither a real run nor a simulated one.
 *
 * This code lives in a namespace of its own, beside the program, with its own libc. The loader
 * calls it under its lock, from any thread, also where the program could not bear a surprise: hence
 * no heap, no stdio, one write per line, errno as it was.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "elf_soname.h"
#include "library_name.h"
#include "origin.h"
#include "path_set.h"
#include "standin.h"

#define SG_EXPORT __attribute__((visibility("default")))

/* What can be said about a path by looking at the file. */
struct facts {
	bool exists;
	bool is_standin;
	bool is_nvidia;
	struct sg_library_name name; /* if is_nvidia: as which library, the name inside first */
};

/* Paths that were reported, and paths behind which the loader was given a stand-in. */
static struct sg_path_set reported;
static struct sg_path_set redirected;

/* One line in one write, so that lines of several processes do not mix. */
static void say(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	const char *const texts[] = {"softgpu: ", a, b, c, d, e, "\n"};
	struct iovec parts[sizeof(texts) / sizeof(texts[0])];
	ssize_t written;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		parts[i].iov_base = (void *)texts[i];
		parts[i].iov_len = strlen(texts[i]);
	}
	/* Nobody to tell when stderr is closed. */
	written = writev(STDERR_FILENO, parts, sizeof(parts) / sizeof(parts[0]));
	(void)written;
}

static void look_at_file(const char *path, struct facts *facts)
{
	/* Not blocking: the path may name a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char soname[NAME_MAX + 1];
	struct stat status;

	*facts = (struct facts){0};
	if (fd < 0)
		return;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		goto close_fd;
	facts->exists = true;
	facts->is_standin = sg_standin_is_file(status.st_dev, status.st_ino);
	if (facts->is_standin)
		goto close_fd;
	if (sg_elf_soname_read(fd, soname, sizeof(soname)) == 0 &&
	    sg_library_name_parse(soname, &facts->name) == 0)
		facts->is_nvidia = sg_library_name_is_nvidia(&facts->name);
	if (!facts->is_nvidia && sg_library_name_parse(path, &facts->name) == 0)
		facts->is_nvidia = sg_library_name_is_nvidia(&facts->name);
close_fd:
	close(fd);
}

static void report_refusal(const char *path, const struct facts *facts)
{
	if (sg_path_set_add(&reported, path))
		say("refused ", path, ": NVIDIA's own ", facts->name.text,
		    ", and softgpu has no stand-in for it");
}

/*
 * A spare: a library that a program may well bring itself, and gets from us only if the loader has
 * nowhere else to look.
 */
static bool is_spare(const struct sg_library_name *name)
{
	return !sg_library_name_is_nvidia(name);
}

static const char *find_spare(const char *path)
{
	struct sg_library_name name;
	const char *standin = NULL;

	/* Folders for machines of some kind come before the one in which it may yet be. */
	if (!strstr(path, "/glibc-hwcaps/") && sg_library_name_parse(path, &name) == 0 &&
	    is_spare(&name))
		standin = sg_standin_find(&name);
	if (standin)
		sg_path_set_add(&redirected, path);
	return standin ? standin : path;
}

/* A path the loader is about to open, made from a search folder and the name that was asked for. */
static const char *answer_candidate(const char *path, bool is_last_resort)
{
	const char *standin;
	struct facts facts;

	look_at_file(path, &facts);
	if (!facts.exists && is_last_resort)
		return find_spare(path);
	if (!facts.is_nvidia)
		return path;
	standin = sg_standin_find(&facts.name);
	if (standin) {
		/* The loader will call the object by the path it had in mind. */
		sg_path_set_add(&redirected, path);
		return standin;
	}
	report_refusal(path, &facts);
	return NULL;
}

/*
 * A name with a folder in it: the loader opens this file and asks no further. @path is what it will
 * open for @name, @asked the name taken apart or NULL.
 */
static const char *answer_path(const char *name, const char *path,
			       const struct sg_library_name *asked)
{
	const char *standin = NULL;
	struct facts facts;

	look_at_file(path, &facts);
	if (facts.is_nvidia)
		standin = sg_standin_find(&facts.name);
	if (!standin && asked && asked->text[asked->version_at] == '\0' && !facts.is_standin &&
	    !is_spare(asked))
		standin = sg_standin_find_newest(asked);
	if (standin)
		return standin;
	if (!facts.is_nvidia)
		return name;
	report_refusal(path, &facts);
	return NULL;
}

/* Not inlined: few names have tokens, and a thread's stack may be small. */
__attribute__((noinline)) static const char *answer_path_with_tokens(
	const char *name, const struct sg_library_name *asked, const struct link_map *loader)
{
	char path[PATH_MAX];

	if (sg_origin_expand(name, loader ? loader->l_name : "", path, sizeof(path)) != 0)
		return name; /* la_objopen will look at what came of it */
	return answer_path(name, path, asked);
}

/* What the program asked for, before any folder is searched. */
static const char *answer_request(const char *name, const struct link_map *loader)
{
	struct sg_library_name asked;
	bool is_library = sg_library_name_parse(name, &asked) == 0;
	const char *standin = NULL;

	/* What /usr/lib/libcudart.so is, of which release, only the file can tell. */
	if (is_library && (asked.text[asked.version_at] || !strchr(name, '/')))
		standin = is_spare(&asked) ? NULL : sg_standin_find(&asked);
	if (!standin && strchr(name, '/') && strchr(name, '$'))
		return answer_path_with_tokens(name, is_library ? &asked : NULL, loader);
	if (!standin && strchr(name, '/'))
		return answer_path(name, name, is_library ? &asked : NULL);
	if (!standin && is_library && asked.text[asked.version_at] == '\0' && !is_spare(&asked))
		standin = sg_standin_find_newest(&asked);
	return standin ? standin : name;
}

/* The folder of this very file, or what SOFTGPU_LIBDIR says. */
static bool find_folder(char *folder)
{
	const char *chosen = secure_getenv("SOFTGPU_LIBDIR");
	Dl_info info;
	char *slash;

	if (chosen && *chosen)
		return realpath(chosen, folder) != NULL;
	if (!dladdr((void *)find_folder, &info) || !realpath(info.dli_fname, folder))
		return false;
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

SG_EXPORT unsigned int la_version(unsigned int version)
{
	char folder[PATH_MAX];
	int saved = errno, err;

	if (!find_folder(folder)) {
		say("the folder of the stand-ins cannot be found; NVIDIA's own libraries will be refused",
		    "", "", "", "");
	} else {
		err = sg_standin_init(folder);
		if (err == -ENOSPC)
			say("too many files in ", folder, "; some stand-ins will not be used", "",
			    "");
		else if (err)
			say("cannot read ", folder, ": ", strerror(-err), "");
	}
	errno = saved;
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

SG_EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
	const char *answer;
	int saved = errno;

	if (flag == LA_SER_ORIG)
		answer = answer_request(name, (const struct link_map *)*cookie);
	else
		answer = answer_candidate(name, flag == LA_SER_DEFAULT);
	errno = saved;
	return (char *)answer;
}

/*
 * The object is mapped, none of its code has run. What la_objsearch could not see ($LIB in a name,
 * another audit library changing the answer) shows here, too late to refuse it.
 */
SG_EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	const char *path = map->l_name;
	struct facts facts;
	int saved = errno;

	(void)lmid;
	*cookie = (uintptr_t)map; /* whom la_objsearch will be asked for */
	/* Without a folder it is the program itself or the kernel's vDSO. */
	if (path && strchr(path, '/') && !sg_path_set_has(&redirected, path)) {
		look_at_file(path, &facts);
		if (facts.is_nvidia && sg_path_set_add(&reported, path))
			say(path, " is NVIDIA's own ", facts.name.text,
			    " and was loaded all the same: this run is not softgpu's alone", "");
	}
	errno = saved;
	return 0; /* no symbol bindings wanted: calls cost what they always cost */
}

#include "siblings.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "grow.h"
#include "info.h"
#include "reader.h"
#include "trace_open.h"

static uint64_t get_number(const struct vs_reader *reader, const char *key)
{
	const char *value = vs_reader_get_info(reader, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

static bool has_file(const struct vs_siblings *siblings, const struct stat *info)
{
	size_t i;

	for (i = 0; i < siblings->nr; i++)
		if (siblings->list[i].device == info->st_dev &&
		    siblings->list[i].inode == info->st_ino)
			return true;
	return false;
}

/* reader and info may be NULL: a trace that cannot be read, for whoever will say so. */
static int add(struct vs_siblings *siblings, const char *path, const struct stat *info,
	       const struct vs_reader *reader)
{
	struct vs_sibling *new;

	if (VS_GROW(siblings->list, siblings->capacity, siblings->nr + 1))
		return -VS_ERR_NO_MEMORY;
	new = &siblings->list[siblings->nr];
	*new = (struct vs_sibling){.path = strdup(path)};
	if (!new->path)
		return -VS_ERR_NO_MEMORY;
	siblings->nr++;
	if (info) {
		new->device = info->st_dev;
		new->inode = info->st_ino;
	}
	if (reader) {
		new->pid = get_number(reader, VS_INFO_PID);
		new->parent = get_number(reader, VS_INFO_PPID);
		new->start_ns = get_number(reader, VS_INFO_START);
	}
	return 0;
}

/* Folders are full of other things: the first bytes are looked at before anything is read. */
static int consider(struct vs_siblings *siblings, const char *path, const char *run)
{
	struct vs_reader *reader;
	const char *its_run;
	struct stat info;
	int err = 0;

	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) || has_file(siblings, &info) ||
	    vs_trace_open_is_trace(path) <= 0 || vs_reader_open(&reader, path))
		return 0;
	its_run = vs_reader_get_info(reader, VS_INFO_RUN);
	if (its_run && !strcmp(its_run, run))
		err = add(siblings, path, &info, reader);
	vs_reader_close(reader);
	return err;
}

static int compare(const void *one, const void *other)
{
	const struct vs_sibling *a = one, *b = other;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return strcmp(a->path, b->path);
}

int vs_siblings_find(struct vs_siblings *siblings, const char *path, const char *run)
{
	const char *slash = strrchr(path, '/');
	int size = slash ? (int)(slash - path) + 1 : 0, err = 0;
	size_t nr_before = siblings->nr;
	struct dirent *entry;
	char *folder, *name;
	DIR *dir;

	if (asprintf(&folder, "%.*s", size, path) < 0)
		return -VS_ERR_NO_MEMORY;
	dir = opendir(*folder ? folder : ".");
	while (dir && !err && (entry = readdir(dir))) {
		if (asprintf(&name, "%s%s", folder, entry->d_name) < 0) {
			err = -VS_ERR_NO_MEMORY;
			break;
		}
		err = consider(siblings, name, run);
		free(name);
	}
	if (dir)
		closedir(dir);
	free(folder);
	if (siblings->nr > nr_before)
		qsort(siblings->list + nr_before, siblings->nr - nr_before, sizeof(*siblings->list),
		      compare);
	return err;
}

void vs_siblings_fini(struct vs_siblings *siblings)
{
	size_t i;

	for (i = 0; i < siblings->nr; i++)
		free(siblings->list[i].path);
	free(siblings->list);
	free(siblings->paths);
	*siblings = (struct vs_siblings){0};
}

/* The trace itself, if it belongs to no run or was not found: it was asked for. */
static int gather_one(struct vs_siblings *siblings, const char *path)
{
	struct vs_reader *reader = NULL;
	const char *run = NULL;
	struct stat info;
	bool is_there = stat(path, &info) == 0 && S_ISREG(info.st_mode);
	int err = 0;

	if (is_there && !vs_reader_open(&reader, path))
		run = vs_reader_get_info(reader, VS_INFO_RUN);
	if (run)
		err = vs_siblings_find(siblings, path, run);
	if (!err && (!is_there || !has_file(siblings, &info)))
		err = add(siblings, path, is_there ? &info : NULL, reader);
	vs_reader_close(reader);
	return err;
}

int vs_siblings_gather(struct vs_siblings *siblings, struct vs_options *options)
{
	size_t i;
	int err = 0;

	for (i = 0; i < options->nr_traces && !err; i++)
		err = gather_one(siblings, options->traces[i]);
	if (err)
		return err;
	siblings->paths = calloc(siblings->nr + 1, sizeof(*siblings->paths));
	if (!siblings->paths)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < siblings->nr; i++)
		siblings->paths[i] = siblings->list[i].path;
	options->traces = siblings->paths;
	options->nr_traces = siblings->nr;
	return 0;
}

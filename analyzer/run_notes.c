#include "run_notes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_environment.h"

#define VARIABLE "SOFTGPU_NOTES"

void vs_run_notes_open(struct vs_run_notes *notes)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	memset(notes, 0, sizeof(*notes));
	if (vs_run_environment_get_absolute(path, folder && *folder ? folder : "/tmp") ||
	    snprintf(notes->path, sizeof(notes->path), "%s/vramscope.XXXXXX", path) >=
		    (int)sizeof(notes->path) ||
	    (fd = mkostemp(notes->path, O_CLOEXEC)) < 0) {
		notes->path[0] = '\0';
		unsetenv(VARIABLE);
		return;
	}
	close(fd);
	if (vs_run_environment_set(VARIABLE, notes->path))
		vs_run_notes_close(notes);
}

static void get_word(char *out, size_t size, const char *line, const char *key)
{
	const char *at = strstr(line, key);
	size_t length;

	if (!at)
		return;
	at += strlen(key);
	length = strcspn(at, " \n");
	snprintf(out, size, "%.*s", (int)length, at);
}

/* "card cc=89 sms=128 ... name=NVIDIA GeForce RTX 4090": the name is the rest of the line. */
static void read_card(struct vs_run_notes *notes, char *line)
{
	char *name = strstr(line, " name=");
	unsigned int cc, sms, threads, devices;
	uint64_t memory, context;
	char addresses[16], backing[16];

	if (notes->has_card || !name ||
	    sscanf(line,
		   "card cc=%u sms=%u threads=%u memory=%" SCNu64 " context=%" SCNu64
		   " addresses=%15s backing=%15s devices=%u",
		   &cc, &sms, &threads, &memory, &context, addresses, backing, &devices) != 8)
		return;
	*name = '\0';
	snprintf(notes->name, sizeof(notes->name), "%s", name + strlen(" name="));
	get_word(notes->profile, sizeof(notes->profile), line, " profile=");
	snprintf(notes->addresses, sizeof(notes->addresses), "%s", addresses);
	snprintf(notes->backing, sizeof(notes->backing), "%s", backing);
	notes->has_card = true;
	notes->compute_capability = cc;
	notes->nr_multiprocessors = sms;
	notes->threads_per_multiprocessor = threads;
	notes->nr_devices = devices;
	notes->memory_size = memory;
	notes->context_size = context;
}

static int add_size(struct vs_run_notes *notes, const char *name, uint64_t bytes)
{
	struct vs_run_notes_size *more;
	size_t i;

	for (i = 0; i < notes->nr_sizes; i++) {
		if (strcmp(notes->sizes[i].name, name) != 0)
			continue;
		/* Processes may be told different ones: the largest. */
		if (notes->sizes[i].bytes < bytes)
			notes->sizes[i].bytes = bytes;
		return 0;
	}
	more = realloc(notes->sizes, (notes->nr_sizes + 1) * sizeof(*more));
	if (!more)
		return -VS_ERR_NO_MEMORY;
	notes->sizes = more;
	snprintf(more[notes->nr_sizes].name, sizeof(more->name), "%s", name);
	more[notes->nr_sizes++].bytes = bytes;
	return 0;
}

static int add_missing(struct vs_run_notes *notes, const char *name)
{
	char(*more)[64];
	size_t i;

	for (i = 0; i < notes->nr_missing; i++)
		if (!strcmp(notes->missing[i], name))
			return 0;
	more = realloc(notes->missing, (notes->nr_missing + 1) * sizeof(*more));
	if (!more)
		return -VS_ERR_NO_MEMORY;
	notes->missing = more;
	snprintf(more[notes->nr_missing++], sizeof(*more), "%s", name);
	return 0;
}

int vs_run_notes_read(struct vs_run_notes *notes)
{
	FILE *file = notes->path[0] ? fopen(notes->path, "re") : NULL;
	char line[1024], name[64];
	uint64_t bytes;
	int err = 0;

	if (!file)
		return 0;
	while (!err && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "card ", 5))
			read_card(notes, line);
		else if (sscanf(line, "size %63s %" SCNu64, name, &bytes) == 2)
			err = add_size(notes, name, bytes);
		else if (sscanf(line, "missing %63s", name) == 1)
			err = add_missing(notes, name);
		else if (!strcmp(line, "hint jax-device-file"))
			notes->jax_wants_file = true;
	}
	fclose(file);
	return err;
}

void vs_run_notes_close(struct vs_run_notes *notes)
{
	if (notes->path[0])
		unlink(notes->path);
	free(notes->sizes);
	free(notes->missing);
	memset(notes, 0, sizeof(*notes));
}

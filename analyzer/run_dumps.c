#include "run_dumps.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_environment.h"

/* What the files in the folder begin with. */
#define PREFIX "dump"

/* Named by a launcher that started us, who has no say in ours. */
static int forget(void)
{
	const char *outer = getenv("VRAMSCOPE_TF_DUMP"), *value = getenv("TF_BFC_MEMORY_DUMP");

	if (outer && *outer && value && !strncmp(value, outer, strlen(outer)))
		unsetenv("TF_BFC_MEMORY_DUMP");
	unsetenv("VRAMSCOPE_TF_DUMP");
	return getenv("TF_BFC_MEMORY_DUMP") != NULL;
}

int vs_run_dumps_set_up(struct vs_run_dumps *dumps)
{
	const char *parent = getenv("TMPDIR");
	char prefix[PATH_MAX + sizeof(PREFIX) + 1];
	int status;

	dumps->folder[0] = '\0';
	if (forget())
		return 0;
	if (!parent || *parent != '/')
		parent = "/tmp";
	if (snprintf(dumps->folder, sizeof(dumps->folder), "%s/vramscope-XXXXXX", parent) >=
		    (int)sizeof(dumps->folder) ||
	    !mkdtemp(dumps->folder)) {
		dumps->folder[0] = '\0';
		return 0;
	}
	snprintf(prefix, sizeof(prefix), "%s/" PREFIX, dumps->folder);
	status = vs_run_environment_set("VRAMSCOPE_TF_DUMP", prefix);
	if (!status)
		status = vs_run_environment_set("TF_BFC_MEMORY_DUMP", prefix);
	if (status)
		vs_run_dumps_clean_up(dumps);
	return status;
}

void vs_run_dumps_clean_up(struct vs_run_dumps *dumps)
{
	struct dirent *entry;
	DIR *folder;

	if (!dumps->folder[0])
		return;
	folder = opendir(dumps->folder);
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(dumps->folder);
	dumps->folder[0] = '\0';
}

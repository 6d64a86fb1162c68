#include "host_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t read_status(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), ": %" SCNu64, &kib) == 1)
			break;
	fclose(file);
	return kib * 1024;
}

uint64_t sg_host_usage_get_resident(void)
{
	return read_status("VmRSS");
}

uint64_t sg_host_usage_get_peak(void)
{
	return read_status("VmHWM");
}

uint64_t sg_host_usage_get_files(void)
{
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *entry;
	uint64_t bytes = 0;

	if (!fds)
		return 0;
	while ((entry = readdir(fds))) {
		char target[64] = "";
		struct stat st;

		if (readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1) < 0 ||
		    strncmp(target, "/memfd:", 7) != 0)
			continue;
		if (fstatat(dirfd(fds), entry->d_name, &st, 0) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	}
	closedir(fds);
	return bytes;
}

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "doctor.h"
#include "units.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* The log is 8 MiB at first, before anything is recorded; with room for a trace beside it. */
#define LEAST_DISK (16 * MIB)
#define SMALL_DISK GIB

/* ---- The trace ------------------------------------------------------------------------------- */

/* Where pages that were allocated stay so: statfs(2). Elsewhere the log goes to /dev/shm. */
static bool keeps_pages(const char *folder)
{
	static const unsigned long kinds[] = {0xef53, 0x58465342, 0x01021994, 0x794c7630};
	struct statfs system;
	size_t i;

	if (statfs(folder, &system) < 0)
		return true;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((unsigned long)system.f_type == kinds[i])
			return true;
	return false;
}

static bool get_room(const char *folder, uint64_t *bytes)
{
	struct statvfs system;

	if (statvfs(folder, &system) < 0)
		return false;
	*bytes = (uint64_t)system.f_bavail * system.f_frsize;
	return true;
}

/* The log, where the trace's own file system cannot have it. */
static void judge_shm(struct vs_doctor *doctor)
{
	uint64_t bytes = 0;
	char text[VS_UNITS_MAX];

	if (!get_room("/dev/shm", &bytes) || bytes < LEAST_DISK)
		vs_doctor_add(doctor, VS_FINDING_BAD, "log",
			      "write the trace to a local disk (-o), or give /dev/shm more room "
			      "(docker: --shm-size)",
			      "this file system cannot promise pages, and /dev/shm has %s",
			      vs_units_put_bytes(text, bytes));
	else
		vs_doctor_add(doctor, VS_FINDING_NOTE, "log", NULL,
			      "in /dev/shm (%s free): this file system cannot promise pages",
			      vs_units_put_bytes(text, bytes));
}

static void judge_folder(struct vs_doctor *doctor, const char *folder)
{
	char text[VS_UNITS_MAX];
	uint64_t bytes = 0;

	if (access(folder, W_OK | X_OK) < 0) {
		vs_doctor_add(doctor, VS_FINDING_BAD, "trace", "choose another one with -o",
			      "cannot be written to %s: %s", folder, strerror(errno));
		return;
	}
	if (!get_room(folder, &bytes))
		return;
	vs_units_put_bytes(text, bytes);
	if (bytes < LEAST_DISK)
		vs_doctor_add(doctor, VS_FINDING_BAD, "trace",
			      "make room, or choose another folder with -o",
			      "there is no room in %s: %s free", folder, text);
	else if (bytes < SMALL_DISK)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "trace", "--max-size keeps a trace small",
			      "little room in %s: %s free; a long run may fill it", folder, text);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "trace", NULL, "%s has %s free", folder,
			      text);
	if (!keeps_pages(folder))
		judge_shm(doctor);
}

/* ---- Limits of the process ------------------------------------------------------------------- */

struct limit {
	int resource;
	const char *name;
	uint64_t bad, small; /* below which it is bad, or worth a note */
	const char *text;
	const char *remedy;
};

static const struct limit limits[] = {
	{RLIMIT_FSIZE, "file size (ulimit -f)", LEAST_DISK, GIB,
	 "the trace ends where it is reached", "ulimit -f unlimited"},
	{RLIMIT_AS, "address space (ulimit -v)", 256 * MIB, 64 * GIB,
	 "CUDA itself reserves more; the log maps up to 1 GiB", "ulimit -v unlimited"},
	{RLIMIT_NOFILE, "open files (ulimit -n)", 16, 64, "the recorder needs a few",
	 "ulimit -n 1024"},
	{RLIMIT_NPROC, "processes (ulimit -u)", 2, 64, "the recorder starts two threads",
	 "ulimit -u, or the pids limit of the container"},
	{RLIMIT_MEMLOCK, "locked memory (ulimit -l)", 0, 64 << 10,
	 "pinned memory is limited by it on some systems", "ulimit -l unlimited"},
};

static void put_limit(char text[VS_UNITS_MAX], const struct limit *limit, uint64_t value)
{
	if (limit->resource == RLIMIT_NOFILE || limit->resource == RLIMIT_NPROC)
		snprintf(text, VS_UNITS_MAX, "%" PRIu64, value);
	else
		vs_units_put_bytes(text, value);
}

static void judge_limits(struct vs_doctor *doctor)
{
	char text[VS_UNITS_MAX];
	size_t nr_noted = 0, i;
	struct rlimit is;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct limit *limit = &limits[i];

		if (getrlimit((__rlimit_resource_t)limit->resource, &is) < 0 ||
		    is.rlim_cur == RLIM_INFINITY || is.rlim_cur >= limit->small)
			continue;
		put_limit(text, limit, is.rlim_cur);
		nr_noted++;
		vs_doctor_add(doctor, is.rlim_cur < limit->bad ? VS_FINDING_BAD : VS_FINDING_NOTE,
			      "limits", limit->remedy, "%s is %s: %s", limit->name, text,
			      limit->text);
	}
	if (!nr_noted)
		vs_doctor_add(doctor, VS_FINDING_GOOD, "limits", NULL,
			      "file size, address space, files, processes, locked memory: enough");
}

/* ---- Container ------------------------------------------------------------------------------- */

/* A number in a file; false: there is none ("max"). */
static bool read_number(const char *path, uint64_t *number)
{
	FILE *file = fopen(path, "re");
	bool is_read;

	if (!file)
		return false;
	is_read = fscanf(file, "%" SCNu64, number) == 1;
	fclose(file);
	return is_read;
}

/* Both generations of cgroups, as a container sees its own. */
static bool get_memory(uint64_t *limit, uint64_t *used)
{
	if (read_number("/sys/fs/cgroup/memory.max", limit))
		return read_number("/sys/fs/cgroup/memory.current", used);
	return read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit) &&
	       *limit < UINT64_C(1) << 60 &&
	       read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", used);
}

static bool is_container(void)
{
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
	       getenv("KUBERNETES_SERVICE_HOST") || getenv("SINGULARITY_CONTAINER") ||
	       getenv("APPTAINER_CONTAINER");
}

static void judge_container(struct vs_doctor *doctor)
{
	uint64_t limit = 0, used = 0, left;
	char text[VS_UNITS_MAX];

	if (is_container())
		vs_doctor_add(doctor, VS_FINDING_NOTE, "container",
			      "--pid=host lets NVML's numbers mean something",
			      "NVML's numbers of processes are those of the host: who else holds "
			      "memory will be an unknown holder");
	if (!get_memory(&limit, &used))
		return;
	left = limit > used ? limit - used : 0;
	vs_units_put_bytes(text, left);
	if (left < 64 * MIB)
		vs_doctor_add(doctor, VS_FINDING_BAD, "memory", "give the container more memory",
			      "%s left of the cgroup's limit: the recorder's log does not fit",
			      text);
	else if (left < 2 * GIB)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "memory",
			      "VRAMSCOPE_LOG_SIZE limits the log",
			      "%s left of the cgroup's limit; the log may take 1 GiB of it", text);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "memory", NULL,
			      "%s left of the cgroup's limit", text);
}

/* ---- What the kernel, or a filter in front of it, refuses ------------------------------------ */

static void judge_kernel(struct vs_doctor *doctor)
{
	long has = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	bool has_barrier = has > 0 && (has & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	bool has_proc = access("/proc/self/stat", R_OK) == 0;
	bool has_range = true;

#ifdef SYS_close_range
	/* No descriptor is that high. */
	has_range = syscall(SYS_close_range, ~0u, ~0u, 0) == 0;
#endif
	if (!has_barrier)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "kernel",
			      "Linux 4.14, and a seccomp profile that allows it",
			      "no membarrier: every event costs a little more");
	if (!has_range)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "kernel",
			      "Linux 5.9, and a seccomp profile that allows it",
			      "no close_range: a program that closes all files closes the trace");
	if (!has_proc)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "kernel", "mount /proc",
			      "no /proc: the trace knows less of the process");
	if (has_barrier && has_range && has_proc)
		vs_doctor_add(doctor, VS_FINDING_GOOD, "kernel", NULL,
			      "membarrier, close_range and /proc are there");
}

void vs_doctor_system_look(struct vs_doctor *doctor, const char *folder)
{
	judge_folder(doctor, folder);
	judge_limits(doctor);
	judge_container(doctor);
	judge_kernel(doctor);
}

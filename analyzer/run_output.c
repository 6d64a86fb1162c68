#include "run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "command.h"
#include "live_format.h"
#include "run_environment.h"

/* What may be added to a name: ".PID", ".N", ".live". */
#define SUFFIX_MAX 32

/* Every % is one that the recorder knows. */
static int check_pattern(struct vs_run_output *output, const char *pattern)
{
	const char *at;

	output->is_fixed = true;
	for (at = pattern; (at = strchr(at, '%')); at += 2) {
		if (!at[1] || !strchr("phr%", at[1]))
			return vs_command_fail_usage(
				&vs_cmd_run,
				"-o: '%%%.1s' is none of %%p (process), %%h (host), "
				"%%r (rank), %%%%",
				at + 1);
		output->is_fixed = false;
	}
	return 0;
}

/* Only a file that was really made there proves that one can be. */
static int try_folder(const char *folder)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/.vramscope.XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -VS_ERR_IO;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -VS_ERR_IO;
	close(fd);
	unlink(path);
	return 0;
}

static int check_folder(const struct vs_run_output *output, const char *shown)
{
	char folder[PATH_MAX];
	char *slash;

	strcpy(folder, output->pattern);
	slash = strrchr(folder, '/');
	*slash = '\0';
	/* A folder that depends on the process is the recorder's business. */
	if (strchr(folder, '%'))
		return 0;
	if (!slash[1])
		return vs_command_fail_text(shown, "names a folder, not a trace");
	if (strlen(slash + 1) > NAME_MAX - SUFFIX_MAX)
		return vs_command_fail_text(shown, "%s", strerror(ENAMETOOLONG));
	if (try_folder(*folder ? folder : "/"))
		return vs_command_fail_text(shown, "no trace can be written there: %s",
					    strerror(errno));
	return 0;
}

/* What is there already must be something that may be replaced: no folder, no device. */
static int check_file(const struct vs_run_output *output, const char *shown)
{
	struct stat info;

	if (!output->is_fixed || stat(output->pattern, &info) < 0)
		return 0;
	if (S_ISDIR(info.st_mode))
		return vs_command_fail_text(shown, "is a folder, not a trace");
	if (!S_ISREG(info.st_mode))
		return vs_command_fail_text(shown, "is not a regular file");
	return 0;
}

int vs_run_output_check(struct vs_run_output *output, const char *given)
{
	const char *shown = given ? given : getenv("VRAMSCOPE_OUTPUT");
	int status;

	output->pattern[0] = '\0';
	output->is_fixed = false;
	if (!given && (!shown || !*shown)) {
		if (try_folder("."))
			return vs_command_fail_text(
				NULL,
				"no trace can be written to the current folder: "
				"%s (-o names another place)",
				strerror(errno));
		return 0;
	}
	if (!*shown)
		return vs_command_fail_usage(&vs_cmd_run, "-o needs a file name");
	status = check_pattern(output, shown);
	if (status)
		return status;
	if (vs_run_environment_get_absolute(output->pattern, shown))
		return vs_command_fail_text(shown, "%s", strerror(ENAMETOOLONG));
	status = check_folder(output, shown);
	return status ? status : check_file(output, shown);
}

/* Whether the process that writes the log is still there; then the trace is not an old one. */
static bool is_being_written(const char *log_path)
{
	int fd = open(log_path, O_RDONLY | O_CLOEXEC);
	uint32_t pid = 0;

	if (fd < 0)
		return false;
	if (pread(fd, &pid, sizeof(pid), offsetof(struct vs_live_header, pid)) != sizeof(pid))
		pid = 0;
	close(fd);
	return pid && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static const char *find_rank(void)
{
	static const char *const names[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"};
	const char *rank;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		rank = getenv(names[i]);
		if (rank && *rank)
			return rank;
	}
	return "0";
}

/* As the recorder will in a process with our environment. False if that is a new name each time. */
static bool expand(char path[PATH_MAX], const char *pattern)
{
	struct utsname host;
	size_t used = 0;

	if (uname(&host) < 0)
		return false;
	for (; *pattern; pattern++) {
		const char one[] = {*pattern, '\0'}, *text = one;

		if (*pattern == '%') {
			pattern++;
			if (*pattern == 'p')
				return false;
			text = *pattern == 'h'   ? host.nodename
			       : *pattern == 'r' ? find_rank()
						 : "%";
		}
		used += (size_t)snprintf(path + used, PATH_MAX - used, "%s", text);
		if (used >= PATH_MAX)
			return false;
	}
	return true;
}

int vs_run_output_clear(const struct vs_run_output *output)
{
	char path[PATH_MAX], log_path[PATH_MAX + 8];
	struct stat info;

	/* Only what the recorder would take for another's trace, and evade. */
	if (!output->pattern[0] || !expand(path, output->pattern) || lstat(path, &info) < 0 ||
	    !(S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)))
		return 0;
	snprintf(log_path, sizeof(log_path), "%s%s", path, VS_LIVE_SUFFIX);
	if (is_being_written(log_path))
		return 0; /* a rank beside us; ours gets a name with its number */
	if (unlink(path) < 0 && errno != ENOENT)
		return vs_command_fail_text(path, "cannot be replaced: %s", strerror(errno));
	unlink(log_path);
	return 0;
}

#include "run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "command.h"
#include "info.h"
#include "live.h"
#include "reader.h"
#include "run_environment.h"
#include "trace_open.h"

/* What may be added to a name: ".PID", ".N", ".live". */
#define SUFFIX_MAX 32

/* ---- The name and its folder ---------------------------------------------------------------- */

/* Every % is one that the recorder knows. */
static int check_pattern(const char *pattern)
{
	const char *at;

	for (at = pattern; (at = strchr(at, '%')); at += 2)
		if (!at[1] || !strchr("phr%", at[1]))
			return vs_command_fail_usage(
				&vs_cmd_run,
				"-o: '%%%.1s' is none of %%p (process), %%h (host), "
				"%%r (rank), %%%%",
				at + 1);
	return 0;
}

/* For a command that may go elsewhere. A % of the current folder's name is nothing to fill in. */
static bool make_absolute(char absolute[PATH_MAX], const char *pattern)
{
	char here[PATH_MAX];
	const char *at = here;
	size_t used = 0;

	if (*pattern == '/')
		return snprintf(absolute, PATH_MAX, "%s", pattern) < PATH_MAX;
	if (!getcwd(here, sizeof(here)))
		return false;
	for (; *at && used + 2 < PATH_MAX; at++) {
		if (*at == '%')
			absolute[used++] = '%';
		absolute[used++] = *at;
	}
	/* The root has its slash already. */
	return snprintf(absolute + used, PATH_MAX - used, "%s%s", here[1] ? "/" : "", pattern) <
	       (int)(PATH_MAX - used);
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

/* Adds a text to a path of which *used bytes are there; false if it is too long. */
static bool add_text(char path[PATH_MAX], size_t *used, const char *text, bool is_glob)
{
	for (; *text; text++) {
		if (*used + 3 > PATH_MAX)
			return false;
		if (is_glob && strchr("*?[\\", *text))
			path[(*used)++] = '\\';
		path[(*used)++] = *text;
	}
	path[*used] = '\0';
	return true;
}

/*
 * The name as the recorder will have it in a process with our environment; for glob(3), whatever
 * the rank is: the command may give its children theirs. False if it is a new name each time.
 */
static bool expand(char path[PATH_MAX], const char *pattern, bool is_glob)
{
	struct utsname host;
	size_t used = 0;
	bool fits = uname(&host) == 0;

	for (; *pattern && fits; pattern++) {
		const char one[] = {*pattern, '\0'};

		if (*pattern != '%') {
			fits = add_text(path, &used, one, is_glob);
			continue;
		}
		pattern++;
		if (*pattern == 'p')
			return false;
		if (*pattern == 'h')
			fits = add_text(path, &used, host.nodename, is_glob);
		else if (*pattern == 'r')
			fits = is_glob ? add_text(path, &used, "*", false)
				       : add_text(path, &used, find_rank(), false);
		else
			fits = add_text(path, &used, "%", is_glob);
	}
	return fits;
}

/* Whether a part of the pattern has anything but %%. */
static bool depends_on_process(const char *part)
{
	for (; (part = strchr(part, '%')); part += 2)
		if (part[1] != '%')
			return true;
	return false;
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
	char folder[PATH_MAX], path[PATH_MAX];
	char *slash;

	strcpy(folder, output->pattern);
	slash = strrchr(folder, '/');
	*slash = '\0';
	if (!slash[1])
		return vs_command_fail_text(shown, "names a folder, not a trace");
	if (strlen(slash + 1) > NAME_MAX - SUFFIX_MAX)
		return vs_command_fail_text(shown, "%s", strerror(ENAMETOOLONG));
	/* A folder that depends on the process is the recorder's business. */
	if (depends_on_process(folder) || !expand(path, *folder ? folder : "/", false))
		return 0;
	if (try_folder(path))
		return vs_command_fail_text(shown, "no trace can be written there: %s",
					    strerror(errno));
	return 0;
}

/* ---- What has the name already -------------------------------------------------------------- */

/* Whether the process that writes it is still there, or may be; then it is not an old one. */
static bool is_being_written(const char *path)
{
	bool is_running = false;
	struct vs_reader *reader;
	const char *identity;
	struct vs_live *live;

	if (vs_reader_open(&reader, path))
		return false;
	identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);
	if (identity &&
	    !vs_live_find(&live, path, vs_reader_get_info(reader, VS_INFO_LIVE), identity, NULL)) {
		is_running = vs_live_is_running(live);
		vs_live_close(live);
	}
	vs_reader_close(reader);
	return is_running;
}

/* No folder, no device, no letter: what is there must be something that may be replaced. */
static int check_file(const char *path, const char *shown)
{
	struct stat info;
	int is_trace;

	if (lstat(path, &info) < 0)
		return 0;
	/* A name is taken, not followed: the recorder would not get through a link. */
	if (S_ISLNK(info.st_mode))
		return vs_command_fail_text(shown, "is a symbolic link; name the file itself");
	if (S_ISDIR(info.st_mode))
		return vs_command_fail_text(shown, "is a folder, not a trace");
	if (!S_ISREG(info.st_mode))
		return vs_command_fail_text(shown, "is not a regular file");
	is_trace = vs_trace_open_is_trace(path);
	if (is_trace < 0)
		return vs_command_fail_text(shown, "is there already, and cannot be read: %s",
					    strerror(errno));
	if (!is_trace)
		return vs_command_fail_text(shown,
					    "is there already and is no vramscope trace, so it is "
					    "not replaced (remove it, or choose another name)");
	return 0;
}

/* The key by which the recorder knows the file again: preload/output.h. */
static void add_key(struct vs_run_output *output, const struct stat *info)
{
	size_t used = strlen(output->replace), room = sizeof(output->replace) - used;
	uint64_t time_ns =
		(uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec;
	int size = snprintf(output->replace + used, room, "%llu:%llu:%llu,",
			    (unsigned long long)info->st_dev, (unsigned long long)info->st_ino,
			    (unsigned long long)time_ns);

	/* What is not listed is evaded, not lost. */
	if (size < 0 || (size_t)size >= room)
		output->replace[used] = '\0';
}

static void list_old_traces(struct vs_run_output *output)
{
	char names[PATH_MAX];
	struct stat info;
	glob_t found;
	size_t i;

	if (!expand(names, output->pattern, true) || glob(names, GLOB_NOSORT, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) &&
		    vs_trace_open_is_trace(path) > 0 && !is_being_written(path))
			add_key(output, &info);
	}
	globfree(&found);
}

/* ---- Before the start ----------------------------------------------------------------------- */

static int check_default(void)
{
	if (!try_folder("."))
		return 0;
	return vs_command_fail_text(NULL,
				    "no trace can be written to the current folder: %s (-o names "
				    "another place)",
				    strerror(errno));
}

int vs_run_output_check(struct vs_run_output *output, const char *given)
{
	const char *shown = given ? given : getenv("VRAMSCOPE_OUTPUT"), *run;
	char path[PATH_MAX];
	int status;

	*output = (struct vs_run_output){.pattern = ""};
	if (!given && (!shown || !*shown))
		return check_default();
	if (!*shown)
		return vs_command_fail_usage(&vs_cmd_run, "-o needs a file name");
	status = check_pattern(shown);
	if (status)
		return status;
	if (!make_absolute(output->pattern, shown))
		return vs_command_fail_text(shown, "%s", strerror(ENAMETOOLONG));
	run = getenv("VRAMSCOPE_RUN");
	output->is_inherited = !given && run && *run;
	status = check_folder(output, shown);
	if (!status && !output->is_inherited && expand(path, output->pattern, false))
		status = check_file(path, shown);
	if (!status && !output->is_inherited)
		list_old_traces(output);
	return status;
}

int vs_run_output_set_up(const struct vs_run_output *output)
{
	char here[PATH_MAX];
	int status;

	if (!output->pattern[0]) {
		/* Children go elsewhere, their traces must not. */
		if (!getcwd(here, sizeof(here)))
			return vs_command_fail_text("the current folder", "%s", strerror(errno));
		return vs_run_environment_set("VRAMSCOPE_FOLDER", here);
	}
	status = vs_run_environment_set("VRAMSCOPE_OUTPUT", output->pattern);
	if (status || output->is_inherited)
		return status;
	if (output->replace[0])
		return vs_run_environment_set("VRAMSCOPE_REPLACE", output->replace);
	unsetenv("VRAMSCOPE_REPLACE"); /* another run's */
	return 0;
}

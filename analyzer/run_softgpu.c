#include "run_softgpu.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "run_card.h"
#include "run_environment.h"
#include "run_program.h"

/*
 * Thread-local storage of the command's libraries must fit into a reserve that is taken from every
 * thread's stack; softgpu-run says why it is two sizes.
 */
#define STATIC_TLS    "glibc.rtld.optional_static_tls"
#define USUAL_RESERVE 65536u
#define TSAN_RESERVE  4194304u

/* Folder of the stand-ins. */
static int find_folder(char folder[PATH_MAX], const char *libdir)
{
	const char *own = getenv("SOFTGPU_LIBDIR");
	static const char *const files[] = {"libsoftgpu-audit.so", "libcuda.so.1"};
	char path[PATH_MAX + 32];
	size_t i;

	if (own && *own) {
		/* The command may change its folder before the first library is loaded. */
		if (vs_run_environment_get_absolute(folder, own))
			return vs_command_fail_text("SOFTGPU_LIBDIR", "the path is too long");
		if (vs_run_environment_set("SOFTGPU_LIBDIR", folder))
			return VS_EXIT_FAILED;
	} else if (snprintf(folder, PATH_MAX, "%s/softgpu", libdir) >= PATH_MAX) {
		return vs_command_fail_text(libdir, "the path is too long");
	}
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		if (access(path, R_OK) < 0)
			return vs_command_fail_text(path,
						    "the simulated GPU is not installed there");
	}
	return 0;
}

/* One card for all processes of this run, and for no other. */
static int set_card(void)
{
	const char *card = getenv("SOFTGPU_CARD");
	struct timespec now;
	char name[64];

	if (card && *card)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), "run.%ld.%lld%06ld", (long)getpid(), (long long)now.tv_sec,
		 now.tv_nsec / 1000);
	return vs_run_environment_set("SOFTGPU_CARD", name);
}

static int set_reserve(const char *program)
{
	const char *tunables = getenv("GLIBC_TUNABLES"), *preload = getenv("LD_PRELOAD");
	bool is_tsan = (preload && strstr(preload, "libtsan")) || vs_run_program_is_tsan(program);
	const char *at;
	char *text;
	int status;

	tunables = tunables ? tunables : "";
	/* What the user has set stays. */
	for (at = tunables; (at = strstr(at, STATIC_TLS "=")); at++)
		if (at == tunables || at[-1] == ':')
			return 0;
	if (asprintf(&text, "%s%s%s=%u", tunables, *tunables ? ":" : "", STATIC_TLS,
		     is_tsan ? TSAN_RESERVE : USUAL_RESERVE) < 0)
		return vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
	status = vs_run_environment_set("GLIBC_TUNABLES", text);
	free(text);
	return status;
}

int vs_run_softgpu_set_up(const struct vs_run_asker *asker, const char *libdir, const char *card,
			  const char *program)
{
	char folder[PATH_MAX], library[PATH_MAX + 32];
	int status = 0;

	if (vs_run_card_is_size(card))
		status = vs_run_card_set_memory(asker, card);
	if (!status)
		status = find_folder(folder, libdir);
	if (!status && *card && !vs_run_card_is_size(card))
		status = vs_run_card_set_profile(asker, folder, card);
	if (!status)
		status = set_card();
	if (!status)
		status = set_reserve(program);
	if (status)
		return status;
	/* Triton looks for a driver to link against, and asks nobody but ldconfig. */
	if (!getenv("TRITON_LIBCUDA_PATH") || !*getenv("TRITON_LIBCUDA_PATH"))
		status = vs_run_environment_set("TRITON_LIBCUDA_PATH", folder);
	if (status)
		return status;
	snprintf(library, sizeof(library), "%s/libsoftgpu-audit.so", folder);
	return vs_run_environment_prepend("LD_AUDIT", library, ":");
}

int vs_run_softgpu_list(const char *libdir)
{
	char folder[PATH_MAX], path[PATH_MAX + 32], line[512];
	FILE *file;

	if (find_folder(folder, libdir))
		return VS_EXIT_FAILED;
	snprintf(path, sizeof(path), "%s/profiles.txt", folder);
	file = fopen(path, "re");
	if (!file)
		return vs_command_fail_text(path, "%s", strerror(errno));
	while (fgets(line, sizeof(line), file))
		fputs(line, stdout);
	fclose(file);
	return VS_EXIT_DONE;
}

/* vramscope: finds the command and ends as it says. The table of commands is commands.def. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "suggest.h"

static int fail_unknown(const char *name)
{
	const char *guess = NULL;
	size_t i;

	for (i = 0; vs_command_list[i] && !guess; i++)
		if (vs_suggest_is_slip(name, vs_command_list[i]->name))
			guess = vs_command_list[i]->name;
	if (guess)
		vs_command_note(NULL,
				"unknown command '%s', did you mean %s? (see: vramscope help)",
				name, guess);
	else
		vs_command_note(NULL, "unknown command '%s' (see: vramscope help)", name);
	return VS_EXIT_USAGE;
}

/*
 * A file of ours must not get the number of a standard stream that was closed: what is meant for
 * the terminal would end up in it. A program that is run finds the stream closed again.
 */
static void fill_standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* What was printed must have arrived; a full disk is a failure like any other. */
static int finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	return vs_command_fail_text("standard output", "%s", strerror(errno));
}

int main(int argc, char **argv)
{
	const struct vs_command *command;
	const char *name = argc > 1 ? argv[1] : "";

	fill_standard_streams();
	if (argc < 2) {
		vs_command_note(NULL, "no command given (see: vramscope help)");
		return VS_EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	command = vs_command_find(name);
	if (!command)
		return fail_unknown(name);
	return finish_output(command->run(argc - 1, argv + 1));
}

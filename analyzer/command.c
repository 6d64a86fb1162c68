#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "option_table.h"

const struct vs_command *const vs_command_list[] = {
#define VS_COMMAND(name) &vs_cmd_##name,
#include "commands.def"
#undef VS_COMMAND
	NULL,
};

/* The line goes out in one piece: other processes write to the same terminal. */
static void put_line(const char *subject, const char *text)
{
	char line[9216];
	int size;

	/* What is on its way to stdout comes first. */
	fflush(stdout);
	if (subject)
		size = snprintf(line, sizeof(line), "vramscope: %s: %s\n", subject, text);
	else
		size = snprintf(line, sizeof(line), "vramscope: %s\n", text);
	if (size >= (int)sizeof(line))
		line[sizeof(line) - 2] = '\n';
	fputs(line, stderr);
	fflush(stderr);
}

static void put_format(const char *subject, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void put_format(const char *subject, const char *format, va_list args)
{
	char text[8192];

	vsnprintf(text, sizeof(text), format, args);
	put_line(subject, text);
}

int vs_command_fail(const char *subject, int error)
{
	int code = error < 0 ? -error : error;

	put_line(subject, code == VS_ERR_IO && errno ? strerror(errno) : vs_error_text(error));
	return VS_EXIT_FAILED;
}

int vs_command_fail_text(const char *subject, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_format(subject, format, args);
	va_end(args);
	return VS_EXIT_FAILED;
}

void vs_command_note(const char *subject, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_format(subject, format, args);
	va_end(args);
}

int vs_command_fail_usage(const struct vs_command *command, const char *format, ...)
{
	char text[2048], line[2560];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), "%s (see: vramscope help %s)", text, command->name);
	put_line(command->name, line);
	return VS_EXIT_USAGE;
}

/* Column in which the texts of the options start. */
#define TEXT_COLUMN 24

static void print_option(const struct vs_option *option)
{
	char head[128];
	const char *line = option->text, *end;
	int used;

	if (option->letter)
		used = snprintf(head, sizeof(head), "  -%c, --%s", option->letter, option->name);
	else
		used = snprintf(head, sizeof(head), "      --%s", option->name);
	if (option->value)
		/* "[=SIZE]" says for itself how it is attached. */
		snprintf(head + used, sizeof(head) - (size_t)used, "%s%s",
			 *option->value == '[' ? "" : " ", option->value);
	/* A head that is too long gets a line of its own. */
	printf("%-*s", TEXT_COLUMN, head);
	if (strlen(head) >= TEXT_COLUMN)
		printf("\n%*s", TEXT_COLUMN, "");
	while ((end = strchr(line, '\n'))) {
		printf("%.*s\n%*s", (int)(end - line), line, TEXT_COLUMN, "");
		line = end + 1;
	}
	printf("%s\n", line);
}

int vs_command_help(const struct vs_command *command)
{
	const struct vs_option *own = command->options;
	size_t i;

	printf("usage: vramscope %s%s%s\n\n%s.\n\n", command->name, *command->usage ? " " : "",
	       command->usage, command->summary);
	for (; own && own->name; own++)
		print_option(own);
	for (i = 0; vs_option_table[i].option.name; i++)
		if (!vs_option_table[i].takes || (command->takes & vs_option_table[i].takes))
			print_option(&vs_option_table[i].option);
	if (command->details)
		printf("\n%s\n", command->details);
	return VS_EXIT_DONE;
}

const struct vs_command *vs_command_find(const char *name)
{
	size_t i;

	for (i = 0; vs_command_list[i]; i++)
		if (!strcmp(vs_command_list[i]->name, name))
			return vs_command_list[i];
	return NULL;
}

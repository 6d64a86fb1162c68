#include "event_lines.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks_cmocka.h"

static char text[1 << 16];

static void *get_function(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	if (!function) {
		print_error("%s is not there: is the hooks' library preloaded?\n", name);
		exit(1);
	}
	return function;
}

static void take(void)
{
	void (*more)(char *, size_t) =
		(void (*)(char *, size_t))get_function("vs_line_recorder_take");
	size_t used = strlen(text);

	more(text + used, sizeof(text) - used);
}

void vs_event_lines_skip(void)
{
	take();
	text[0] = '\0';
}

void vs_event_lines_expect_at(const char *file, int line, const char *format, ...)
{
	char expected[512];
	va_list arguments;
	size_t size;

	va_start(arguments, format);
	vsnprintf(expected, sizeof(expected), format, arguments);
	va_end(arguments);
	take();
	size = strcspn(text, "\n");
	if (strlen(expected) != size || strncmp(text, expected, size) != 0) {
		print_error("expected: %s\nevents:   %s\n", expected, text);
		_fail(file, line);
	}
	memmove(text, text + size + 1, strlen(text + size));
}

void vs_event_lines_expect_none_at(const char *file, int line)
{
	take();
	if (text[0]) {
		print_error("expected no further event, got:\n%s\n", text);
		_fail(file, line);
	}
}

unsigned long vs_event_lines_get_nr_unsure(void)
{
	return ((unsigned long (*)(void))get_function("vs_line_recorder_get_nr_unsure"))();
}

void vs_event_lines_spoil_errno(int is_on)
{
	((void (*)(int))get_function("vs_line_recorder_spoil_errno"))(is_on);
}

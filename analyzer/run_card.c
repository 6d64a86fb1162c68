#include "run_card.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "run_environment.h"

#define LEAST_MEMORY (2ull << 20) /* one page */
#define MOST_MEMORY  (1ull << 59)
#define MOST_DEVICES 16
#define MAX_ROWS     128
#define MAX_TEXT     512

struct row {
	char name[32];
	char values[64]; /* of a field: what it takes */
};

/* The two tables of profiles.txt. */
struct list {
	struct row profiles[MAX_ROWS], fields[MAX_ROWS];
	size_t nr_profiles, nr_fields;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct vs_run_asker *asker,
							const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return vs_command_fail_usage(asker->command, "--%s: %s", asker->option, text);
}

bool vs_run_card_is_size(const char *text)
{
	return *text >= '0' && *text <= '9';
}

static int check_size(const struct vs_run_asker *asker, const char *name, const char *text,
		      uint64_t least, uint64_t most)
{
	uint64_t size;

	if (vs_options_parse_size(&size, text))
		return refuse(asker, "%s'%s' is not a size (8G, 512M, 1.5G, bytes)", name, text);
	if (size < least)
		return refuse(asker, "%s'%s' is too small, the least is %" PRIu64 " bytes", name,
			      text, least);
	if (size > most)
		return refuse(asker, "%s'%s' is too large, the most is %" PRIu64 " bytes", name,
			      text, most);
	return 0;
}

int vs_run_card_set_memory(const struct vs_run_asker *asker, const char *text)
{
	int status = check_size(asker, "", text, LEAST_MEMORY, MOST_MEMORY);

	return status ? status : vs_run_environment_set("SOFTGPU_MEMORY", text);
}

/* Rows of the first table, then, behind an empty line, of the second; each has a head. */
static int read_list(struct list *list, const char *folder)
{
	char path[PATH_MAX + 32], line[MAX_TEXT];
	bool has_fields = false;
	FILE *file;

	*list = (struct list){.nr_profiles = 0};
	snprintf(path, sizeof(path), "%s/profiles.txt", folder);
	file = fopen(path, "re");
	if (!file)
		return vs_command_fail_text(path, "the list of profiles: %s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		struct row row = {.name = ""};
		int nr = sscanf(line, "%31s %*s %63s", row.name, row.values);

		if (nr < 1 || !strcmp(row.name, "profile"))
			continue;
		if (!strcmp(row.name, "field"))
			has_fields = true;
		else if (!has_fields && list->nr_profiles < MAX_ROWS)
			list->profiles[list->nr_profiles++] = row;
		else if (has_fields && list->nr_fields < MAX_ROWS)
			list->fields[list->nr_fields++] = row;
	}
	fclose(file);
	return 0;
}

static const struct row *find_row(const struct row *rows, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static void join_names(char text[MAX_TEXT], const struct row *rows, size_t nr)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < nr && used < MAX_TEXT; i++)
		used += (size_t)snprintf(text + used, MAX_TEXT - used, "%s%s", i ? ", " : "",
					 rows[i].name);
}

/* "90" of "9.0", in place. */
static void remove_point(char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (digits && text[digits] == '.' && text[digits + 1] >= '0' && text[digits + 1] <= '9' &&
	    !text[digits + 2])
		memmove(text + digits, text + digits + 1, strlen(text + digits));
}

static int check_number(const struct vs_run_asker *asker, const char *name, const char *text,
			uint64_t least, uint64_t most)
{
	uint64_t number;
	char *end;

	if (!strncmp(text, "0x", 2) || !strncmp(text, "0X", 2)) {
		number = strtoull(text, &end, 16);
		if (text[2] && strlen(text) <= 9 && !*end && number >= least && number <= most)
			return 0;
	} else if (strlen(text) <= 9 && !vs_options_parse_number(&number, text, least, most)) {
		return 0;
	}
	return refuse(asker, "%s'%s' is not a number from %" PRIu64 " to %" PRIu64, name, text,
		      least, most);
}

static int check_word(const struct vs_run_asker *asker, const char *name, const char *text,
		      const char *words)
{
	size_t length = strlen(text);

	for (const char *word = words; length && word; word = strchr(word, '|')) {
		word += *word == '|';
		if (!strncmp(word, text, length) && (!word[length] || word[length] == '|'))
			return 0;
	}
	return refuse(asker, "%s'%s' is none of %s", name, text, words);
}

static int check_value(const struct vs_run_asker *asker, const struct row *field, const char *value)
{
	uint64_t least, most;
	char name[40];

	snprintf(name, sizeof(name), "%s: ", field->name);
	if (sscanf(field->values, "number:%" SCNu64 "-%" SCNu64, &least, &most) == 2)
		return check_number(asker, name, value, least, most);
	if (sscanf(field->values, "size:%" SCNu64 "-%" SCNu64, &least, &most) == 2)
		return check_size(asker, name, value, least, most);
	if (!strncmp(field->values, "word:", 5))
		return check_word(asker, name, value, field->values + 5);
	if (!*value)
		return refuse(asker, "%s needs a value", field->name);
	return 0;
}

/* "sms=10" as SOFTGPU_SMS=10. Changes its argument. */
static int set_field(const struct vs_run_asker *asker, const struct list *list, char *text)
{
	char *value = strchr(text, '='), known[MAX_TEXT], variable[64];
	const struct row *field = NULL;
	int status;

	if (value) {
		*value++ = '\0';
		field = find_row(list->fields, list->nr_fields, text);
	}
	if (!field) {
		join_names(known, list->fields, list->nr_fields);
		return refuse(asker, "'%s' is no FIELD=VALUE of these fields: %s", text, known);
	}
	if (!strcmp(text, "cc"))
		remove_point(value);
	status = check_value(asker, field, value);
	if (status)
		return status;
	snprintf(variable, sizeof(variable), "SOFTGPU_%s", text);
	for (char *c = variable; *c; c++)
		*c = *c == '-' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
	return vs_run_environment_set(variable, value);
}

/* "rtx4090x2": cuts the number off, unless all of it is a name (rtx4090). */
static int split_number(const struct vs_run_asker *asker, const struct list *list, char *name)
{
	char *cross = strrchr(name, 'x');

	if (find_row(list->profiles, list->nr_profiles, name) || !cross || cross == name ||
	    !cross[1] || cross[1 + strspn(cross + 1, "0123456789")])
		return 0;
	*cross = '\0';
	if (!find_row(list->profiles, list->nr_profiles, name)) {
		*cross = 'x';
		return 0;
	}
	return check_number(asker, "", cross + 1, 0, MOST_DEVICES)
		       ? VS_EXIT_USAGE
		       : vs_run_environment_set("SOFTGPU_DEVICES", cross + 1);
}

static int set_profile(const struct vs_run_asker *asker, const struct list *list, char *name)
{
	char known[MAX_TEXT];
	int status = split_number(asker, list, name);

	if (status)
		return status;
	if (!find_row(list->profiles, list->nr_profiles, name)) {
		join_names(known, list->profiles, list->nr_profiles);
		return refuse(asker, "'%s' is neither a size (8G) nor one of the profiles %s", name,
			      known);
	}
	return vs_run_environment_set("SOFTGPU_PROFILE", name);
}

int vs_run_card_set_profile(const struct vs_run_asker *asker, const char *folder, const char *text)
{
	struct list *list = malloc(sizeof(*list));
	char *copy = strdup(text), *part, *rest = copy;
	int status;

	if (!list || !copy) {
		status = vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
		goto free_copy;
	}
	status = read_list(list, folder);
	part = strsep(&rest, ",");
	if (!status)
		status = set_profile(asker, list, part);
	while (!status && (part = strsep(&rest, ",")))
		status = set_field(asker, list, part);
free_copy:
	free(copy);
	free(list);
	return status;
}

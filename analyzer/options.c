#include "options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "option_table.h"
#include "suggest.h"

#define NARROWEST 40

/* One command line while it is read. */
struct parse {
	struct vs_options *options;
	const struct vs_command *command;
	char **argv; /* what is left to read; NULL behind the last */
	int status;  /* set when has_ended */
	bool has_ended;
};

/* An option as found in one of the two tables. */
struct found {
	const struct vs_option *option;
	const struct vs_shared_option *shared; /* NULL: one of the command's own */
	size_t own;                            /* its place in the command's table */
};

static void end_usage(struct parse *parse, int status)
{
	parse->has_ended = true;
	parse->status = status;
}

static bool is_called(const struct vs_option *option, const char *name, size_t size, bool is_letter)
{
	if (is_letter)
		return option->letter == *name;
	return strlen(option->name) == size && !strncmp(option->name, name, size);
}

static bool find_option(struct found *found, const struct vs_command *command, const char *name,
			size_t size, bool is_letter)
{
	const struct vs_option *own = command->options;
	const struct vs_shared_option *shared = vs_option_table;

	for (; own && own->name; own++) {
		if (is_called(own, name, size, is_letter)) {
			*found = (struct found){own, NULL, (size_t)(own - command->options)};
			return true;
		}
	}
	for (; shared->option.name; shared++) {
		if (shared->takes && !(command->takes & shared->takes))
			continue;
		if (is_called(&shared->option, name, size, is_letter)) {
			*found = (struct found){&shared->option, shared, 0};
			return true;
		}
	}
	return false;
}

/* The command's option that `name` is probably a slip for, or NULL. */
static const char *guess_option(const struct vs_command *command, const char *name)
{
	const struct vs_option *own = command->options;
	const struct vs_shared_option *shared = vs_option_table;

	for (; own && own->name; own++)
		if (vs_suggest_is_slip(name, own->name))
			return own->name;
	for (; shared->option.name; shared++)
		if ((!shared->takes || (command->takes & shared->takes)) &&
		    vs_suggest_is_slip(name, shared->option.name))
			return shared->option.name;
	return NULL;
}

static void end_unknown(struct parse *parse, const char *word, size_t size)
{
	char name[64];
	const char *guess = NULL;

	if (!strncmp(word, "--", 2) && size - 2 < sizeof(name)) {
		snprintf(name, sizeof(name), "%.*s", (int)(size - 2), word + 2);
		guess = guess_option(parse->command, name);
	}
	if (guess)
		end_usage(parse, vs_command_fail_usage(parse->command,
						       "unknown option %.*s, did you mean --%s?",
						       (int)size, word, guess));
	else
		end_usage(parse, vs_command_fail_usage(parse->command, "unknown option %.*s",
						       (int)size, word));
}

/* word: as the user wrote the option, for messages. */
static void set_option(struct parse *parse, const struct found *found, const char *value,
		       const char *word, size_t word_size)
{
	if (!found->shared) {
		assert(found->own < VS_OPTIONS_MAX_OWN);
		parse->options->own[found->own] = value ? value : "";
		return;
	}
	if (!found->shared->set) {
		end_usage(parse, vs_command_help(parse->command));
		return;
	}
	if (found->shared->set(parse->options, value))
		end_usage(parse, vs_command_fail_usage(parse->command, "%.*s: '%s' is not %s",
						       (int)word_size, word, value ? value : "",
						       found->shared->kind));
}

/* --name, --name=value, --name value. */
static void parse_long(struct parse *parse)
{
	const char *word = *parse->argv++, *equals = strchr(word, '='), *value = NULL;
	size_t size = equals ? (size_t)(equals - word) : strlen(word);
	struct found found;

	if (!find_option(&found, parse->command, word + 2, size - 2, false)) {
		end_unknown(parse, word, size);
		return;
	}
	if (equals && !found.option->value) {
		end_usage(parse, vs_command_fail_usage(parse->command, "%.*s takes no value",
						       (int)size, word));
		return;
	}
	if (equals)
		value = equals + 1;
	else if (found.option->value && *found.option->value != '[')
		value = *parse->argv ? *parse->argv++ : NULL;
	if (found.option->value && *found.option->value != '[' && !value) {
		end_usage(parse, vs_command_fail_usage(parse->command, "%s needs a value: %s", word,
						       found.option->value));
		return;
	}
	set_option(parse, &found, value, word, size);
}

/* -o FILE, -oFILE; letters without a value may share a dash. */
static void parse_letters(struct parse *parse)
{
	const char *word = *parse->argv++, *letter, *value;
	struct found found;
	char shown[3] = "-?";

	for (letter = word + 1; *letter && !parse->has_ended; letter++) {
		shown[1] = *letter;
		if (!find_option(&found, parse->command, letter, 1, true)) {
			end_unknown(parse, shown, 2);
			return;
		}
		if (!found.option->value) {
			set_option(parse, &found, NULL, shown, 2);
			continue;
		}
		value = letter[1] ? letter + 1 : *parse->argv ? *parse->argv++ : NULL;
		if (!value) {
			end_usage(parse,
				  vs_command_fail_usage(parse->command, "%s needs a value: %s",
							shown, found.option->value));
			return;
		}
		set_option(parse, &found, value, shown, 2);
		return;
	}
}

/* Options up to the end, or up to a command to run. What is no option gathers in *words. */
static size_t parse_words(struct parse *parse, char **words)
{
	bool options_end = false;
	size_t nr_words = 0;
	const char *word;

	while ((word = *parse->argv) && !parse->has_ended) {
		if (options_end || word[0] != '-' || !word[1]) {
			options_end = options_end || (parse->command->takes & VS_TAKES_COMMAND);
			words[nr_words++] = *parse->argv++;
		} else if (!strcmp(word, "--")) {
			options_end = true;
			parse->argv++;
		} else if (word[1] == '-') {
			parse_long(parse);
		} else {
			parse_letters(parse);
		}
	}
	return nr_words;
}

static void check_words(struct parse *parse)
{
	const struct vs_command *command = parse->command;
	const struct vs_options *options = parse->options;
	const char *what = command->takes & VS_TAKES_COMMAND ? "program" : "trace";
	unsigned int any = VS_TAKES_TRACE | VS_TAKES_TRACES | VS_TAKES_COMMAND | VS_TAKES_WORD;

	if (!options->nr_traces && (command->takes & any) &&
	    !(command->takes & (VS_TAKES_WORD | VS_TAKES_NOTHING)))
		end_usage(parse, vs_command_fail_usage(command, "no %s given", what));
	else if (options->nr_traces && !(command->takes & any))
		end_usage(parse, vs_command_fail_usage(command, "unexpected argument '%s'",
						       options->traces[0]));
	else if (options->nr_traces > 1 && (command->takes & (VS_TAKES_TRACE | VS_TAKES_WORD)))
		end_usage(parse, vs_command_fail_usage(command, "unexpected argument '%s'",
						       options->traces[1]));
	else if (options->from_ns > options->to_ns)
		end_usage(parse, vs_command_fail_usage(command, "--from is later than --to"));
}

static uint32_t find_width(int stream)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t number;

	if (columns && !vs_options_parse_number(&number, columns, NARROWEST, 10000))
		return (uint32_t)number;
	if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
	return 100;
}

static uint32_t find_height(int stream)
{
	const char *lines = getenv("LINES");
	struct winsize size;
	uint64_t number;

	if (ioctl(stream, TIOCGWINSZ, &size) != 0)
		return 0;
	if (lines && !vs_options_parse_number(&number, lines, 1, 10000))
		return (uint32_t)number;
	return size.ws_row;
}

/*
 * Whether the locale names a charset in which our signs are none. "C" and "POSIX", which containers
 * and services have, and a name without charset say nothing of the terminal.
 */
static bool is_other_charset(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *locale = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !(locale && *locale); i++)
		locale = getenv(names[i]);
	locale = locale ? strchr(locale, '.') : NULL;
	return locale && strncasecmp(locale, ".utf-8", 6) && strncasecmp(locale, ".utf8", 5);
}

/* Options may stand behind the traces, so both are put in order in argv itself. */
bool vs_options_parse(struct vs_options *options, const struct vs_command *command, int argc,
		      char **argv, int *status)
{
	struct parse parse = {.options = options, .command = command, .argv = argv + 1};
	int stream = command->takes & VS_TAKES_STDERR ? STDERR_FILENO : STDOUT_FILENO;

	(void)argc;
	*options = (struct vs_options){
		.command = command,
		.device = VS_OPTIONS_ANY_DEVICE,
		.to_ns = UINT64_MAX,
		.color = (command->takes & VS_TAKES_COLOR) && vs_option_table_wants_color(stream),
		.ascii = is_other_charset(),
		.width = find_width(stream),
		.height = find_height(stream),
		.traces = argv + 1,
	};
	options->nr_traces = parse_words(&parse, argv + 1);
	if (!parse.has_ended)
		check_words(&parse);
	if (parse.has_ended)
		*status = parse.status;
	else
		argv[1 + options->nr_traces] = NULL;
	return !parse.has_ended;
}

int vs_options_parse_number(uint64_t *number, const char *text, uint64_t least, uint64_t most)
{
	uint64_t value = 0;
	const char *at;

	for (at = text; *at; at++) {
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -VS_ERR_INVALID;
	}
	if (at == text || value < least || value > most)
		return -VS_ERR_INVALID;
	*number = value;
	return 0;
}

#define BILLION 1000000000u

/* Digits with or without a fraction, which is kept in billionths. NULL if there are none. */
static const char *get_decimal(const char *text, uint64_t *whole, uint32_t *billionths)
{
	uint32_t unit = BILLION;
	const char *at = text;

	*whole = 0;
	*billionths = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*whole, 10, whole) ||
		    __builtin_add_overflow(*whole, (uint64_t)(*at - '0'), whole))
			return NULL;
	if (at == text)
		return NULL;
	if (*at != '.')
		return at;
	for (at++; *at >= '0' && *at <= '9'; at++) {
		unit /= 10;
		*billionths += unit * (uint32_t)(*at - '0');
	}
	return at;
}

/* whole.billionths x unit; false if that is too much. */
static bool add_scaled(uint64_t *sum, uint64_t whole, uint32_t billionths, uint64_t unit)
{
	uint64_t scaled, part;

	/* In two steps: a fraction of an hour in billionths overflows 64 bits. */
	part = billionths * (unit / BILLION) + billionths * (unit % BILLION) / BILLION;
	return !__builtin_mul_overflow(whole, unit, &scaled) &&
	       !__builtin_add_overflow(scaled, part, &scaled) &&
	       !__builtin_add_overflow(*sum, scaled, sum);
}

int vs_options_parse_time(uint64_t *time_ns, const char *text)
{
	static const struct {
		const char *name;
		uint64_t unit_ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"h", 3600ull * BILLION},
		{"m", 60ull * BILLION},
		{"s", BILLION},
	};
	uint64_t sum = 0, whole, below = UINT64_MAX, unit_ns = 0;
	uint32_t billionths;
	const char *at = text;
	size_t i;

	do {
		at = get_decimal(at, &whole, &billionths);
		if (!at)
			return -VS_ERR_INVALID;
		for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (!strncmp(at, units[i].name, strlen(units[i].name)))
				break;
		/* Seconds need no name if nothing else is said. */
		if (i == sizeof(units) / sizeof(units[0]) && (*at || unit_ns))
			return -VS_ERR_INVALID;
		unit_ns = *at ? units[i].unit_ns : BILLION;
		at += *at ? strlen(units[i].name) : 0;
		/* Large units first, each once. */
		if (unit_ns >= below || !add_scaled(&sum, whole, billionths, unit_ns))
			return -VS_ERR_INVALID;
		below = unit_ns;
		at += *at == ' ';
	} while (*at);
	*time_ns = sum;
	return 0;
}

int vs_options_parse_size(uint64_t *size, const char *text)
{
	static const char units[] = "KMGT";
	uint64_t sum = 0, whole, unit = 1;
	uint32_t billionths;
	const char *at = get_decimal(text, &whole, &billionths), *found;

	if (!at)
		return -VS_ERR_INVALID;
	found = *at ? strchr(units, *at & ~0x20) : NULL;
	if (found) {
		unit = 1ull << (10 * (found - units + 1));
		at++;
		if ((*at == 'i' || *at == 'I') && (at[1] == 'b' || at[1] == 'B'))
			at++;
	}
	at += *at == 'b' || *at == 'B';
	if (*at || !add_scaled(&sum, whole, billionths, unit))
		return -VS_ERR_INVALID;
	*size = sum;
	return 0;
}

#include "phase_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char separators[] = " _-=:#";
static const char *const words[] = {"epoch", "step", "iteration", "iter", "batch", "minibatch"};

static bool is_word(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == size && !strncasecmp(words[i], text, size))
			return true;
	return false;
}

/* Where the number at the end of a name begins; 0: it does not end with one. */
static size_t find_number(const char *name)
{
	size_t end = strlen(name), at = end;

	while (at > 0 && isdigit((unsigned char)name[at - 1]))
		at--;
	return at < end ? at : 0;
}

/* The word before a number: [*start, the result). */
static size_t find_word(const char *name, size_t number, size_t *start)
{
	size_t end = number;

	while (end > 0 && strchr(separators, name[end - 1]))
		end--;
	*start = end;
	while (*start > 0 && isalpha((unsigned char)name[*start - 1]))
		--*start;
	return end;
}

bool vs_phase_name_group(const char *name, char out[VS_PHASE_NAME_MAX])
{
	size_t number = find_number(name), start, end;

	if (!number || number + 2 > VS_PHASE_NAME_MAX)
		return false;
	end = find_word(name, number, &start);
	if (!is_word(name + start, end - start))
		return false;
	memcpy(out, name, number);
	out[number] = '#';
	out[number + 1] = '\0';
	return true;
}

bool vs_phase_name_is_epoch(const char *mark, uint64_t *number)
{
	size_t at = find_number(mark), start, end;
	unsigned long long value;

	if (!at)
		return false;
	end = find_word(mark, at, &start);
	if (start || end != strlen("epoch") || strncasecmp(mark, "epoch", end) != 0)
		return false;
	errno = 0;
	value = strtoull(mark + at, NULL, 10);
	if (errno)
		return false;
	*number = value;
	return true;
}

#include "setting.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "log.h"

/*
 * Digits and a fraction, without strtod: its decimal point follows the locale the program has set.
 * Returns what comes behind, or NULL if there is no number, or one too large.
 */
static const char *parse_number(const char *text, uint64_t *whole, double *fraction)
{
	const char *p = text;
	double scale = 1;

	*whole = 0;
	*fraction = 0;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (*whole > SG_MAX_SIZE / 10)
			return NULL;
		*whole = *whole * 10 + (uint64_t)(*p - '0');
	}
	if (p == text)
		return NULL;
	if (*p != '.')
		return p;
	for (p++; *p >= '0' && *p <= '9' && scale < 1e15; p++, scale *= 10)
		*fraction = *fraction * 10 + (*p - '0');
	*fraction /= scale;
	return p;
}

int sg_setting_parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "kmgt";
	const char *end, *unit;
	double fraction;
	uint64_t whole;
	int shift = 0;

	end = text ? parse_number(text, &whole, &fraction) : NULL;
	if (!end)
		return -1;
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit && *unit) {
		shift = 10 * (int)(unit - units + 1);
		end++;
		if (!strcasecmp(end, "ib"))
			end += 2;
	}
	if (!strcasecmp(end, "b"))
		end++;
	if (*end || whole > SG_MAX_SIZE >> shift)
		return -1;
	*size = (whole << shift) + (uint64_t)(fraction * (double)((uint64_t)1 << shift));
	return 0;
}

uint64_t sg_setting_read_size(const char *name, uint64_t fallback, uint64_t least, uint64_t most)
{
	const char *text = getenv(name);
	uint64_t size;

	if (!text || !*text)
		return fallback;
	if (sg_setting_parse_size(text, &size) < 0 || size < least || size > most) {
		uint64_t unit = fallback % SG_MIB ? SG_KIB : SG_MIB;

		sg_log_say("%s=%s is not a usable size, using %llu %s", name, text,
			   (unsigned long long)(fallback / unit), unit == SG_MIB ? "MiB" : "KiB");
		return fallback;
	}
	return size;
}

int sg_setting_read_int(const char *name, int fallback, int least, int most)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return fallback;
	value = strtol(text, &end, !strncasecmp(text, "0x", 2) ? 16 : 10);
	if (*end || value < least || value > most) {
		sg_log_say("%s=%s is not a number from %d to %d, using %d", name, text, least, most,
			   fallback);
		return fallback;
	}
	return (int)value;
}

/* Words are compared up to the blank behind them. */
int sg_setting_read_word(const char *name, int fallback, const char *words)
{
	const char *text = getenv(name), *word = words;
	size_t length;

	if (!text || !*text)
		return fallback;
	for (int number = 0;; number++) {
		length = strcspn(word, " ");
		if (strlen(text) == length && !strncmp(text, word, length))
			return number;
		if (!word[length])
			break;
		word += length + 1;
	}
	sg_log_say("%s=%s is none of: %s", name, text, words);
	return fallback;
}

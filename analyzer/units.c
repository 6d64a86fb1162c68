#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Three digits. */
static int get_decimals(double value)
{
	if (value >= 99.95)
		return 0;
	return value >= 9.995 ? 1 : 2;
}

const char *vs_units_put_bytes(char out[VS_UNITS_MAX], uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1000) {
		snprintf(out, VS_UNITS_MAX, "%" PRIu64 " B", bytes);
		return out;
	}
	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(out, VS_UNITS_MAX, "%.*f %s", get_decimals(value), value, units[unit]);
	return out;
}

const char *vs_units_put_change(char out[VS_UNITS_MAX], int64_t bytes)
{
	char size[VS_UNITS_MAX];

	vs_units_put_bytes(size, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
	snprintf(out, VS_UNITS_MAX, "%c%.40s", bytes < 0 ? '-' : '+', size);
	return out;
}

const char *vs_units_put_time(char out[VS_UNITS_MAX], uint64_t time_ns)
{
	uint64_t seconds = time_ns / 1000000000, rounded = (time_ns + 500000000) / 1000000000;
	double value = (double)time_ns;

	if (time_ns == 0)
		snprintf(out, VS_UNITS_MAX, "0 s");
	else if (time_ns < 1000)
		snprintf(out, VS_UNITS_MAX, "%" PRIu64 " ns", time_ns);
	else if (value < 999.5e3)
		snprintf(out, VS_UNITS_MAX, "%.*f us", get_decimals(value / 1e3), value / 1e3);
	else if (value < 999.5e6)
		snprintf(out, VS_UNITS_MAX, "%.*f ms", get_decimals(value / 1e6), value / 1e6);
	else if (value < 59.95e9)
		snprintf(out, VS_UNITS_MAX, "%.*f s", get_decimals(value / 1e9), value / 1e9);
	else if (rounded < 3600)
		snprintf(out, VS_UNITS_MAX, "%" PRIu64 "m %02" PRIu64 "s", rounded / 60,
			 rounded % 60);
	else
		snprintf(out, VS_UNITS_MAX, "%" PRIu64 "h %02" PRIu64 "m", (seconds + 30) / 3600,
			 (seconds + 30) / 60 % 60);
	return out;
}

const char *vs_units_put_number(char out[VS_UNITS_MAX], uint64_t number, bool is_ascii)
{
	const char *space = is_ascii ? " " : "\u202f";
	char digits[24];
	size_t nr_digits, i, used = 0;

	nr_digits = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	for (i = 0; i < nr_digits; i++) {
		if (i && (nr_digits - i) % 3 == 0) {
			memcpy(out + used, space, strlen(space));
			used += strlen(space);
		}
		out[used++] = digits[i];
	}
	out[used] = '\0';
	return out;
}

const char *vs_units_put_share(char out[VS_UNITS_MAX], uint64_t part, uint64_t whole)
{
	double percent = whole ? 100 * (double)part / (double)whole : 0;

	if (part && percent < 0.5)
		snprintf(out, VS_UNITS_MAX, "<1 %%");
	else
		snprintf(out, VS_UNITS_MAX, "%.0f %%", percent);
	return out;
}

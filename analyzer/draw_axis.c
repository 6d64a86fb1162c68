#include "draw_axis.h"

#include <stdio.h>

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

uint64_t vs_draw_axis_choose_bytes(uint64_t range, unsigned int max_ticks)
{
	uint64_t step = 1;

	while (range / step > max_ticks && step < 1ull << 62)
		step *= 2;
	return step;
}

/* 1, 2, 5, 10, 20, ... up to a second; then the numbers of a clock. */
uint64_t vs_draw_axis_choose_ns(uint64_t range, unsigned int max_ticks)
{
	static const uint64_t clock[] = {
		SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
		MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
		HOUR,   2 * HOUR,   3 * HOUR,   6 * HOUR,    12 * HOUR,   DAY,
	};
	static const uint64_t digits[] = {1, 2, 5};
	uint64_t step = DAY;

	for (uint64_t power = 1; power < SECOND; power *= 10)
		for (size_t i = 0; i < sizeof(digits) / sizeof(*digits); i++)
			if (range / (digits[i] * power) <= max_ticks)
				return digits[i] * power;
	for (size_t i = 0; i < sizeof(clock) / sizeof(*clock); i++)
		if (range / clock[i] <= max_ticks)
			return clock[i];
	while (range / step > max_ticks)
		step *= 2;
	return step;
}

bool vs_draw_axis_next(uint64_t *tick, uint64_t step, uint64_t end)
{
	/* Numbers of a damaged trace may be so large that adding to them begins anew at 0. */
	if (*tick > end || end - *tick < step)
		return false;
	*tick += step;
	return true;
}

void vs_draw_axis_put_bytes(char text[VS_AXIS_TEXT_MAX], uint64_t bytes, uint64_t step)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned int unit = 0;
	double value;
	int digits = 0;

	if (bytes == 0) {
		snprintf(text, VS_AXIS_TEXT_MAX, "0");
		return;
	}
	while (unit < 6 && bytes >> (10 * (unit + 1)))
		unit++;
	value = (double)bytes / (double)(1ull << (10 * unit));
	/* Half a unit needs one digit, a quarter two; further digits tell nobody anything. */
	while (digits < 2 && step && step << digits < 1ull << (10 * unit))
		digits++;
	while (digits > 0 &&
	       value * (digits == 1 ? 1 : 10) == (double)(uint64_t)(value * (digits == 1 ? 1 : 10)))
		digits--;
	snprintf(text, VS_AXIS_TEXT_MAX, "%.*f %s", digits, value, units[unit]);
}

static void put_fraction(char *text, uint64_t time_ns, uint64_t step, uint64_t unit,
			 const char *name)
{
	int digits = 0;

	for (uint64_t part = unit; part > step && digits < 3; part /= 10)
		digits++;
	snprintf(text, VS_AXIS_TEXT_MAX, "%.*f %s", digits, (double)time_ns / (double)unit, name);
}

void vs_draw_axis_put_ns(char text[VS_AXIS_TEXT_MAX], uint64_t time_ns, uint64_t step)
{
	uint64_t hours = time_ns / HOUR;
	uint64_t minutes = time_ns / MINUTE % 60;
	uint64_t seconds = time_ns / SECOND % 60;

	if (time_ns == 0)
		snprintf(text, VS_AXIS_TEXT_MAX, "0");
	else if (hours && step >= MINUTE)
		snprintf(text, VS_AXIS_TEXT_MAX, "%lluh %02llum", (unsigned long long)hours,
			 (unsigned long long)minutes);
	else if (time_ns >= MINUTE && step >= MINUTE)
		snprintf(text, VS_AXIS_TEXT_MAX, "%llum", (unsigned long long)(time_ns / MINUTE));
	else if (time_ns >= MINUTE && step >= SECOND)
		snprintf(text, VS_AXIS_TEXT_MAX, "%llum %02llus",
			 (unsigned long long)(time_ns / MINUTE), (unsigned long long)seconds);
	else if (step >= SECOND / 1000 && time_ns >= SECOND)
		put_fraction(text, time_ns, step, SECOND, "s");
	else if (time_ns >= SECOND / 1000)
		put_fraction(text, time_ns, step, SECOND / 1000, "ms");
	else
		put_fraction(text, time_ns, step, SECOND / 1000000, "µs");
}

#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "log.h"
#include "process.h"

/* Above this much simulated memory a machine of ordinary size cannot hold what programs write. */
#define EXACT_UP_TO (16 * SG_GIB)

/* 512 PiB. No sum over the devices of a card overflows. */
#define MAX_SIZE ((uint64_t)1 << 59)

static struct sg_config config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
		if (*whole > MAX_SIZE / 10)
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

int sg_config_parse_size(const char *text, uint64_t *size)
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
	if (*end || whole > MAX_SIZE >> shift)
		return -1;
	*size = (whole << shift) + (uint64_t)(fraction * (double)((uint64_t)1 << shift));
	return 0;
}

static uint64_t read_size(const char *name, uint64_t fallback, uint64_t least)
{
	const char *text = getenv(name);
	uint64_t size;

	if (!text || !*text)
		return fallback;
	if (sg_config_parse_size(text, &size) < 0 || size < least) {
		sg_log_say("%s=%s is not a usable size, using %llu MiB", name, text,
			   (unsigned long long)(fallback / SG_MIB));
		return fallback;
	}
	return size;
}

static int read_int(const char *name, int fallback, int least, int most)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return fallback;
	value = strtol(text, &end, 10);
	if (*end || value < least || value > most) {
		sg_log_say("%s=%s is not a number from %d to %d, using %d", name, text, least, most,
			   fallback);
		return fallback;
	}
	return (int)value;
}

static enum sg_backing read_backing(uint64_t memory_of_all)
{
	const char *text = getenv("SOFTGPU_BACKING");

	if (text && !strcmp(text, "exact"))
		return SG_BACKING_EXACT;
	if (text && !strcmp(text, "zero"))
		return SG_BACKING_ZERO;
	if (text && *text && strcmp(text, "auto") != 0)
		sg_log_say("SOFTGPU_BACKING=%s is neither exact, zero nor auto, using auto", text);
	return memory_of_all > EXACT_UP_TO ? SG_BACKING_ZERO : SG_BACKING_EXACT;
}

/*
 * The program may change its environment later; the name may not change. Without a name of the
 * user's it is one that no other process makes up, and the same in each library of this one.
 */
static const char *make_card_name(void)
{
	const char *name = getenv("SOFTGPU_CARD");
	char own[64];

	if (name && *name)
		return strdup(name);
	snprintf(own, sizeof(own), "process-%d-%llu", (int)getpid(),
		 (unsigned long long)sg_process_read_start(getpid()));
	return strdup(own);
}

static void read_environment(void)
{
	const char *key = getenv("SOFTGPU_PROFILE");
	const struct sg_profile *profile = sg_profile_find("softgpu");
	struct sg_profile *p = &config.profile;

	if (key && *key && !(profile = sg_profile_find(key))) {
		sg_log_say("SOFTGPU_PROFILE=%s is not a card softgpu knows, using softgpu", key);
		profile = sg_profile_find("softgpu");
	}
	*p = *profile;
	p->memory_size = read_size("SOFTGPU_MEMORY", p->memory_size, SG_PAGE_SIZE);
	p->memory_size &= ~(SG_PAGE_SIZE - 1);
	p->context_size = read_size("SOFTGPU_CONTEXT", p->context_size, 0);
	p->context_size = (p->context_size + SG_PAGE_SIZE - 1) & ~(SG_PAGE_SIZE - 1);
	p->cc = read_int("SOFTGPU_CC", p->cc, 30, 129);
	p->has_oversubscription = read_int("SOFTGPU_MANAGED", p->has_oversubscription, 0, 1);
	config.nr_devices = read_int("SOFTGPU_DEVICES", 1, 0, SG_MAX_DEVICES);
	config.driver_version = read_int("SOFTGPU_DRIVER_VERSION", 13000, 11000, 99990);
	config.backing = read_backing(p->memory_size * (uint64_t)config.nr_devices);
	config.exact_below = read_size("SOFTGPU_EXACT_BELOW", 64 * SG_KIB, 0);
	config.card = make_card_name();
}

const struct sg_config *sg_config_get(void)
{
	pthread_once(&once, read_environment);
	return &config;
}

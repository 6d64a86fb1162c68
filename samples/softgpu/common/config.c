#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "process.h"
#include "profile_field.h"
#include "setting.h"

/* Above this much simulated memory a machine of ordinary size cannot hold what programs write. */
#define EXACT_UP_TO (16 * SG_GIB)

static struct sg_config config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

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

static void say_profiles(const char *key)
{
	const struct sg_profile *profile;
	char names[500] = "";
	size_t used = 0;

	for (size_t i = 0; (profile = sg_profile_get(i)) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 profile->key);
	sg_log_say("SOFTGPU_PROFILE=%s is none of the cards %s; using softgpu", key, names);
}

static const struct sg_profile *find_profile(void)
{
	const char *key = getenv("SOFTGPU_PROFILE");
	const struct sg_profile *found;

	if (!key || !*key)
		return sg_profile_find("softgpu");
	found = sg_profile_find(key);
	if (found)
		return found;
	say_profiles(key);
	return sg_profile_find("softgpu");
}

static void read_environment(void)
{
	struct sg_profile *p = &config.profile;

	*p = *find_profile();
	sg_profile_field_read_all(p);
	p->memory_size &= ~(SG_PAGE_SIZE - 1);
	p->context_size = (p->context_size + SG_PAGE_SIZE - 1) & ~(SG_PAGE_SIZE - 1);
	config.nr_devices = sg_setting_read_int("SOFTGPU_DEVICES", 1, 0, SG_MAX_DEVICES);
	config.driver_version = sg_setting_read_int("SOFTGPU_DRIVER_VERSION", 13000, 11000, 99990);
	config.nvml_mode = (enum sg_nvml_mode)sg_setting_read_word("SOFTGPU_NVML", SG_NVML_NORMAL,
								   "normal container mig wsl");
	config.backing = read_backing(p->memory_size * (uint64_t)config.nr_devices);
	config.exact_below =
		sg_setting_read_size("SOFTGPU_EXACT_BELOW", 64 * SG_KIB, 0, SG_MAX_SIZE);
	config.unknown_bool =
		(enum sg_bool)sg_setting_read_word("SOFTGPU_BOOL", SG_BOOL_NO, "0 1 guess");
	config.card = make_card_name();
}

const struct sg_config *sg_config_get(void)
{
	pthread_once(&once, read_environment);
	return &config;
}

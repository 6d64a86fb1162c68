#include "profile.h"

#include <stddef.h>
#include <string.h>

static const struct sg_profile profiles[] = {
#define SG_PROFILE(key_, name_, cc_, sms_, threads_, blocks_, shared_, optin_, l2_, clock_, \
		   mclock_, bus_, memory_, context_, managed_)                              \
	{                                                                                   \
		.key = (key_),                                                              \
		.name = (name_),                                                            \
		.cc = (cc_),                                                                \
		.nr_multiprocessors = (sms_),                                               \
		.threads_per_multiprocessor = (threads_),                                   \
		.blocks_per_multiprocessor = (blocks_),                                     \
		.shared_per_multiprocessor = (shared_)*1024,                                \
		.shared_per_block_optin = (optin_)*1024,                                    \
		.l2_size = (l2_)*1024 * 1024,                                               \
		.clock_khz = (clock_)*1000,                                                 \
		.memory_clock_khz = (mclock_)*1000,                                         \
		.bus_width = (bus_),                                                        \
		.memory_size = (uint64_t)(memory_) << 20,                                   \
		.context_size = (uint64_t)(context_) << 20,                                 \
		.has_oversubscription = (managed_),                                         \
	},
#include "profile.def"
#undef SG_PROFILE
};

const struct sg_profile *sg_profile_find(const char *key)
{
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (!strcmp(profiles[i].key, key))
			return &profiles[i];
	return NULL;
}

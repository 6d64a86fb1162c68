#include "profile.h"

#include <string.h>

/* Units of profile.def. Widths follow the member: what does not fit is a warning. */
#define KIB(n) ((n)*INT64_C(1024))
#define MIB(n) ((n)*INT64_C(1048576))
#define MHZ(n) ((n)*1000)

static const struct sg_profile profiles[] = {
#define SG_PROFILE(key_, ...) {.key = (key_), __VA_ARGS__},
#include "profile.def"
#undef SG_PROFILE
};

#define NR_PROFILES (sizeof(profiles) / sizeof(profiles[0]))

const struct sg_profile *sg_profile_find(const char *key)
{
	for (size_t i = 0; i < NR_PROFILES; i++)
		if (!strcmp(profiles[i].key, key))
			return &profiles[i];
	return NULL;
}

const struct sg_profile *sg_profile_get(size_t index)
{
	return index < NR_PROFILES ? &profiles[index] : NULL;
}

#ifndef SG_PROFILE_FIELD_H
#define SG_PROFILE_FIELD_H

#include <stddef.h>

#include "profile.h"

/* The figures of a profile that a user can change: profile_field.def. */

/*
 * Override the figures that the environment names (SOFTGPU_SMS=10). As for all settings: what
 * cannot be understood is said, and changes nothing. Text is copied and never freed: a profile is
 * read once per process.
 */
void sg_profile_field_read_all(struct sg_profile *profile);

/* The fields in order: the name without SOFTGPU_, and what it means. False behind the last. */
bool sg_profile_field_describe(size_t index, const char **name, const char **meaning);

#endif

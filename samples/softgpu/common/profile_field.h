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

enum sg_profile_field_kind {
	SG_PROFILE_FIELD_TEXT,
	SG_PROFILE_FIELD_NUMBER, /* from least to most */
	SG_PROFILE_FIELD_SIZE,   /* the same, in bytes */
	SG_PROFILE_FIELD_WORD,   /* one of the words */
};

struct sg_profile_field {
	const char *name; /* without SOFTGPU_ */
	enum sg_profile_field_kind kind;
	uint64_t least, most;
	const char *words; /* with a blank between any two */
	const char *meaning;
};

/* The fields in order: NULL behind the last. */
const struct sg_profile_field *sg_profile_field_get(size_t index);

#endif

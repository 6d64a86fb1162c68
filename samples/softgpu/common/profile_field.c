#include "profile_field.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "setting.h"

#define VARIABLE(NAME) "SOFTGPU_" #NAME

static const char *read_text(const char *name, const char *fallback)
{
	const char *text = getenv(name);
	char *copy = text && *text ? strdup(text) : NULL;

	return copy ? copy : fallback;
}

void sg_profile_field_read_all(struct sg_profile *profile)
{
#define SG_FIELD_TEXT(NAME, member, meaning) \
	profile->member = read_text(VARIABLE(NAME), profile->member);
#define SG_FIELD_INT(NAME, member, unit, least, most, meaning) \
	profile->member =                                      \
		(unit)*sg_setting_read_int(VARIABLE(NAME), profile->member / (unit), least, most);
#define SG_FIELD_SIZE(NAME, member, least, most, meaning) \
	profile->member = sg_setting_read_size(VARIABLE(NAME), profile->member, least, most);
#define SG_FIELD_SMALL(NAME, member, least, most, meaning) \
	profile->member =                                  \
		(int)sg_setting_read_size(VARIABLE(NAME), (uint64_t)profile->member, least, most);
#define SG_FIELD_FLAG(NAME, member, meaning) \
	profile->member = sg_setting_read_int(VARIABLE(NAME), profile->member, 0, 1);
#define SG_FIELD_WORD(NAME, member, type, words, meaning) \
	profile->member = (type)sg_setting_read_word(VARIABLE(NAME), (int)profile->member, words);
#include "profile_field.def"
#undef SG_FIELD_TEXT
#undef SG_FIELD_INT
#undef SG_FIELD_SIZE
#undef SG_FIELD_SMALL
#undef SG_FIELD_FLAG
#undef SG_FIELD_WORD
}

const struct sg_profile_field *sg_profile_field_get(size_t index)
{
	static const struct sg_profile_field fields[] = {
#define SG_FIELD_TEXT(NAME, member, meaning) {#NAME, SG_PROFILE_FIELD_TEXT, 0, 0, "", meaning},
#define SG_FIELD_INT(NAME, member, unit, least, most, meaning) \
	{#NAME, SG_PROFILE_FIELD_NUMBER, least, most, "", meaning},
#define SG_FIELD_SIZE(NAME, member, least, most, meaning) \
	{#NAME, SG_PROFILE_FIELD_SIZE, least, most, "", meaning},
#define SG_FIELD_SMALL(NAME, member, least, most, meaning) \
	{#NAME, SG_PROFILE_FIELD_SIZE, least, most, "", meaning},
#define SG_FIELD_FLAG(NAME, member, meaning) {#NAME, SG_PROFILE_FIELD_NUMBER, 0, 1, "", meaning},
#define SG_FIELD_WORD(NAME, member, type, words, meaning) \
	{#NAME, SG_PROFILE_FIELD_WORD, 0, 0, words, meaning},
#include "profile_field.def"
	};

	return index < sizeof(fields) / sizeof(fields[0]) ? &fields[index] : NULL;
}

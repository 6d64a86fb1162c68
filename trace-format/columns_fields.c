#include "columns_fields.h"

uint32_t vs_columns_fields_count_site(uint32_t type)
{
	switch (type) {
#define VS_COLUMNS_BEGIN(NAME) \
	case VS_RECORD_##NAME: \
		return 0
#define VS_SITE(member)               +1
#define VS_SITE_CHOICE(member, limit) +1
#define VS_ROW(member)
#define VS_ADDRESS(member)
#define VS_SIZE(member)
#define VS_COLUMNS_END ;
#include "columns_fields.def"
#undef VS_SITE
#undef VS_SITE_CHOICE
#undef VS_ROW
	default:
		return 0;
	}
}

uint32_t vs_columns_fields_count_rows(uint32_t type)
{
	switch (type) {
#define VS_SITE(member)
#define VS_SITE_CHOICE(member, limit)
#define VS_ROW(member) +1
#include "columns_fields.def"
#undef VS_COLUMNS_BEGIN
#undef VS_SITE
#undef VS_SITE_CHOICE
#undef VS_ROW
#undef VS_COLUMNS_END
	default:
		return 0;
	}
}

bool vs_columns_fields_is_valid(uint32_t type, const uint32_t fields[VS_COLUMNS_FIELDS_MAX])
{
	switch (type) {
#define VS_COLUMNS_BEGIN(NAME) \
	case VS_RECORD_##NAME: \
		return true
#define VS_SITE(member)
#define VS_SITE_CHOICE(member, limit) &&fields[0] < (uint32_t)(limit) /* always the first one */
#define VS_ROW(member)
#define VS_COLUMNS_END ;
#include "columns_fields.def"
#undef VS_COLUMNS_BEGIN
#undef VS_SITE
#undef VS_SITE_CHOICE
#undef VS_ROW
#undef VS_ADDRESS
#undef VS_SIZE
#undef VS_COLUMNS_END
	default:
		return true;
	}
}

#ifndef VS_INFO_LIST_H
#define VS_INFO_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* The pairs of INFO blocks, as text. {0} is an empty list. */
struct vs_info_list {
	char *text; /* key, NUL, value, NUL, ... */
	size_t size;
};

void vs_info_list_fini(struct vs_info_list *list);

/* Adds the pairs of a block's payload. On -VS_ERR_CORRUPT those in front of the damage are added.
 */
VS_MUST_CHECK int vs_info_list_add(struct vs_info_list *list, const uint8_t *payload, size_t size);

/* The value of a key, the first if there are several, or NULL. */
const char *vs_info_list_get(const struct vs_info_list *list, const char *key);

#endif

#ifndef VS_WHY_JSON_H
#define VS_WHY_JSON_H

#include "why_details.h"

/* A verdict for machines: an object in the array `verdicts` of docs/json.md, "why". */
VS_MUST_CHECK int vs_why_json_put(struct vs_story *story, const struct vs_device_state *state);

/* Its numbers, as members of an object. */
void vs_why_json_put_numbers(struct vs_json *json, const struct vs_why *why);

/* One set of blocks that stand in the way, as an object of an array. */
VS_MUST_CHECK int vs_why_json_put_set(struct vs_story *story, const struct vs_pinning_set *set);

/* A number, or null where it is not known. */
void vs_why_json_put_known(struct vs_json *json, const char *key, bool is_known, uint64_t number);

#endif

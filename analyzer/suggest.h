#ifndef VS_SUGGEST_H
#define VS_SUGGEST_H

#include <stddef.h>

/*
 * How many letters must be added, left out, changed or swapped with a neighbour to get from one
 * word to the other. Words of more than 63 letters are as far apart as can be: SIZE_MAX.
 */
size_t vs_suggest_distance(const char *a, const char *b);

/* Whether `word`, which nobody knows, may well be a slip for `known`. */
int vs_suggest_is_slip(const char *word, const char *known);

#endif

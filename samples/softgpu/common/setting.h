#ifndef SG_SETTING_H
#define SG_SETTING_H

#include <stdint.h>

/*
 * One variable of the environment each. Not set, or empty: the fallback. A value that cannot be
 * understood, or is out of its limits, is said on standard error, and the fallback is used. The
 * caller sees to it that nobody changes the environment meanwhile.
 */
uint64_t sg_setting_read_size(const char *name, uint64_t fallback, uint64_t least, uint64_t most);
int sg_setting_read_int(const char *name, int fallback, int least, int most);

/* The number of the word among those of a list with a blank between any two. */
int sg_setting_read_word(const char *name, int fallback, const char *words);

/*
 * "8G", "512M", "80GiB", "4096" (bytes): 0 and the value, or -1. Parses the whole string; fractions
 * such as 1.5G are understood, in every locale. Any thread.
 */
int sg_setting_parse_size(const char *text, uint64_t *size);

#endif

#ifndef VS_RANDOM_SCRIPT_H
#define VS_RANDOM_SCRIPT_H

#include "script.h"

/*
 * Records of every type at random, the same for the same seed: definitions among the events, too.
 * Addresses are few, so that things meet, overlap and are freed twice; but frees that fail follow
 * the free that they are of, and pools mostly place their blocks where there is memory.
 */
void random_script_make(struct script *script, unsigned int seed, size_t nr_records);

#endif

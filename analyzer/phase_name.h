#ifndef VS_PHASE_NAME_H
#define VS_PHASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Phases that count: "step 17", "Iteration_5", "epoch=3". The number behind such a word is not part
 * of the name, so that all of them are one row. docs/analyses.md, "Phases".
 */
#define VS_PHASE_NAME_MAX 256

/* Puts the name with '#' in place of that number; false: there is none, and nothing was put. */
bool vs_phase_name_group(const char *name, char out[VS_PHASE_NAME_MAX]);

/* Whether a mark begins an epoch ("epoch 3"), and which. */
bool vs_phase_name_is_epoch(const char *mark, uint64_t *number);

#endif

#ifndef VS_FACTS_H
#define VS_FACTS_H

#include "record.h"

/*
 * What is learnt about the process after its trace may have begun, by key: each recording of the
 * process defines it once. Lock-free, any thread. Holds VS_FACTS_MAX facts, later ones are dropped;
 * keys and values are cut to their sizes.
 */
#define VS_FACTS_MAX       32u
#define VS_FACTS_KEY_MAX   48u
#define VS_FACTS_VALUE_MAX 512u

/* Keeps copies. False: there is one of this key, which stays, or no room. */
bool vs_facts_add(const char *key, const char *value);

/*
 * The next fact from place *i on that this recording does not know; *i becomes its place. False:
 * there is none.
 */
bool vs_facts_next_undefined(uint32_t recording, uint32_t *i, struct vs_fact *fact);
void vs_facts_set_defined(uint32_t i, uint32_t recording);

#endif

#ifndef VS_CUPTI_INTERPOSED_H
#define VS_CUPTI_INTERPOSED_H

/*
 * Functions of CUPTI that ours stand in front of: whoever becomes a subscriber, takes CUPTI's
 * records, or ends CUPTI, has it from then on. Ours are found by name (LD_PRELOAD) and are what
 * dlsym answers.
 */

/* What dlsym answers, from now on. Once, at the start. */
void vs_cupti_interposed_begin(void);

#endif

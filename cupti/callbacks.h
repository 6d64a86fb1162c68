#ifndef VS_CALLBACKS_H
#define VS_CALLBACKS_H

#include <stdbool.h>

#include "cupti_library.h"

/*
 * What CUPTI calls back for: the functions of the driver that do something to memory, by their
 * names in the library that is there, and contexts. Nothing else is ever asked for: launches and
 * copies cost what they always did.
 */

/* Numbers of callbacks above this are looked at by nobody; releases up to 13.4 have less than half.
 */
#define VS_CALLBACKS_MAX 2048u

/*
 * Learns the numbers of the functions from the library; where it does not tell (13.3 and newer do
 * so only to a subscriber), those of the headers we were built with, as far as its release has
 * them: numbers are never used again for something else. Returns how many there are. One thread,
 * before vs_callbacks_enable().
 */
unsigned vs_callbacks_learn(const struct vs_cupti_library *library);

/* The number of the function (told_calls.h) that a callback is for, or VS_TOLD_CALLS_NONE. */
uint32_t vs_callbacks_get_function(uint32_t cbid);

/*
 * Asks for them. A release may refuse some that it does not know: CUPTI_SUCCESS if it took any of
 * the driver's functions, else the first error.
 */
CUptiResult vs_callbacks_enable(const struct vs_cupti_library *library,
				CUpti_SubscriberHandle subscriber);

/* Modules of GPU code that were loaded since, and their bytes. Any thread. */
void vs_callbacks_get_modules(uint64_t *nr_modules, uint64_t *size);

/* The function to subscribe with; userdata is the library. */
void CUPTIAPI vs_callbacks_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data);

#endif

#ifndef VS_SUBSCRIPTION_H
#define VS_SUBSCRIPTION_H

#include "cupti_library.h"

/*
 * Being CUPTI's one subscriber of the process, as long as nobody else wants to be. What happens to
 * it is said once, in one line on stderr, and in the trace as a fact. Any thread.
 *
 *   begin      of a library that stays. False, and said, if another subscriber is there or CUPTI
 *              refuses: it has no device, or does not know the driver.
 *   hand_over  somebody else is about to subscribe, or to end CUPTI: ours is given up first, for
 *              good. Nothing happens if there is none. why: for the line, "... has CUPTI now".
 */
bool vs_subscription_begin(const struct vs_cupti_library *library);
void vs_subscription_hand_over(const char *why);

#endif

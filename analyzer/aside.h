#ifndef VS_ASIDE_H
#define VS_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

/*
 * A thread beside the one that has begun all this, for work that both can do at a time. All signals
 * are for the latter: the new one has them blocked. Whoever starts it joins it.
 *
 * False: there is none, because there is only one processor, or the system gives none. Then the
 * work is done without, to the same end.
 */
bool vs_aside_start(pthread_t *thread, void *(*run)(void *), void *context);

#endif

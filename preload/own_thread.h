#ifndef VS_OWN_THREAD_H
#define VS_OWN_THREAD_H

#include "error.h"

/*
 * A thread of ours in the program: nobody's to join, with every signal blocked from its first
 * instruction on, so the program's handlers never run on it. -VS_ERR_NO_MEMORY: there is none.
 */
VS_MUST_CHECK int vs_own_thread_create(void *(*run)(void *unused));

#endif

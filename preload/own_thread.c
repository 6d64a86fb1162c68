#include "own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define STACK_SIZE (256u << 10)

int vs_own_thread_create(void *(*run)(void *unused))
{
	sigset_t all, old;
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	if (pthread_attr_init(&attributes) != 0)
		return -VS_ERR_NO_MEMORY;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attributes, run, NULL);
	if (error == EINVAL) {
		/* The program's thread-local data, which comes out of the stack, is large. */
		pthread_attr_destroy(&attributes);
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		error = pthread_create(&thread, &attributes, run, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	return error ? -VS_ERR_NO_MEMORY : 0;
}

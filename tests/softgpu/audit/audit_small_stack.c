/*
 * Starts a thread with a stack of 256 KiB, as databases and language runtimes do.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *answer(void *argument)
{
	return argument;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	err = pthread_create(&thread, &attr, answer, NULL);
	if (err) {
		printf("no thread: %s\n", strerror(err));
		return 1;
	}
	pthread_join(thread, NULL);
	puts("thread ran");
	return 0;
}

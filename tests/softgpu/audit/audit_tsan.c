/* Built with ThreadSanitizer: that it starts at all is the test. */
#include <pthread.h>
#include <stdio.h>

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	counter++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], NULL, count, NULL) != 0)
			return 1;
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("counted %d\n", counter);
	return 0;
}

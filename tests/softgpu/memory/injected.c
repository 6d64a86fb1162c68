/* A tool's library for test_init.c: what CUDA_INJECTION64_PATH names. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

/* Counts its calls in the environment, where the test finds them. */
int InitializeInjection(void)
{
	const char *before = getenv("TEST_NR_INJECTIONS");
	char text[20];

	snprintf(text, sizeof(text), "%d", (before ? atoi(before) : 0) + 1);
	setenv("TEST_NR_INJECTIONS", text, 1);
	return 1;
}

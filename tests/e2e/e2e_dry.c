/*
 * usage: e2e_dry WORD...
 *
 * Does what the words say, one after the other, and ends with exit status 0:
 *
 *   device N   goes on with device N
 *   step N     begins step N, in the phase "forward"
 *   must N     takes N MiB; without them, a line on stderr and exit status 1
 *   may N      takes N MiB, or goes on without them
 *   drop       gives back what it took last
 *   say TEXT   prints it
 *   start      starts itself with the words that are left, twice, and waits for both
 *   fft        makes a plan, for which the library takes memory that nobody knows the size of
 *   exit N     ends with that status
 *   abort      dies of SIGABRT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "vramscope.h"

#define MAX_TAKEN 64

static void *taken[MAX_TAKEN];
static int nr_taken;

static int take(const char *mib)
{
	size_t size = strtoul(mib, NULL, 10) << 20;

	return nr_taken < MAX_TAKEN && cudaMalloc(&taken[nr_taken], size) == cudaSuccess
		       ? (nr_taken++, 0)
		       : -1;
}

static int start_twice(char **argv, char **words)
{
	int status, worst = 0;

	words[-1] = argv[0];
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			execv("/proc/self/exe", words - 1);
			_exit(99);
		}
	}
	while (wait(&status) > 0)
		if (WEXITSTATUS(status) > worst)
			worst = WEXITSTATUS(status);
	return worst;
}

static int make_plan(void)
{
	void *library = dlopen("libcufft.so.12", RTLD_NOW);
	int (*plan)(int *, int, int, int) = NULL;
	int handle;

	if (library)
		*(void **)&plan = dlsym(library, "cufftPlan1d");
	return plan ? plan(&handle, 1024, 0x29, 1) : -1;
}

static int do_with(const char *word, const char *value)
{
	if (!strcmp(word, "device"))
		return cudaSetDevice(atoi(value)) == cudaSuccess ? 0 : -1;
	if (!strcmp(word, "step")) {
		vs_step(strtoull(value, NULL, 10));
		vs_phase_push("forward");
	} else if (!strcmp(word, "must")) {
		return take(value);
	} else if (!strcmp(word, "may")) {
		(void)take(value);
	} else if (!strcmp(word, "say")) {
		puts(value);
	} else {
		exit(atoi(value));
	}
	return 0;
}

int main(int argc, char **argv)
{
	int err = 0;

	(void)argc;
	for (char **word = argv + 1; *word && !err; word++) {
		if (!strcmp(*word, "start"))
			return start_twice(argv, word + 1);
		if (!strcmp(*word, "abort"))
			abort();
		if (!strcmp(*word, "drop")) {
			err = cudaFree(taken[--nr_taken]) == cudaSuccess ? 0 : -1;
		} else if (!strcmp(*word, "fft")) {
			err = make_plan();
		} else {
			err = do_with(word[0], word[1]);
			word++;
		}
	}
	if (err)
		fprintf(stderr, "e2e_dry: cannot go on\n");
	return err ? 1 : 0;
}

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
 *   try N      the same; exit status 1 in the end
 *   start      starts itself with the words that are left, twice, and waits for both
 *   meet       waits until both have come here
 *   fft        makes a plan, for which the library takes memory that nobody knows the size of
 *   exit N     ends with that status
 *   abort      dies of SIGABRT
 */
#include <dlfcn.h>
#include <fcntl.h>
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
static int has_failed;

static int take(const char *mib)
{
	size_t size = strtoul(mib, NULL, 10) << 20;

	return nr_taken < MAX_TAKEN && cudaMalloc(&taken[nr_taken], size) == cudaSuccess
		       ? (nr_taken++, 0)
		       : -1;
}

/* Descriptors that the two inherit: one to say who is there, one that ends when both are. */
enum {
	THERE = 100,
	BOTH = 101
};

static int start_twice(char **argv, char **words)
{
	int there[2], both[2], status, worst = 0;
	char byte;

	words[-1] = argv[0];
	if (pipe2(there, O_CLOEXEC) != 0 || pipe2(both, O_CLOEXEC) != 0)
		return 99;
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			dup2(there[1], THERE);
			dup2(both[0], BOTH);
			execv("/proc/self/exe", words - 1);
			_exit(99);
		}
	}
	close(there[1]);
	for (int i = 0; i < 2 && read(there[0], &byte, 1) == 1; i++)
		;
	close(both[1]);
	while (wait(&status) > 0)
		if (WEXITSTATUS(status) > worst)
			worst = WEXITSTATUS(status);
	return worst;
}

static int meet(void)
{
	char byte = 0;

	return write(THERE, &byte, 1) == 1 && read(BOTH, &byte, 1) == 0 ? 0 : -1;
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
	} else if (!strcmp(word, "try")) {
		has_failed |= take(value) != 0;
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
		} else if (!strcmp(*word, "meet")) {
			err = meet();
		} else if (!strcmp(*word, "fft")) {
			err = make_plan();
		} else {
			err = do_with(word[0], word[1]);
			word++;
		}
	}
	if (err)
		fprintf(stderr, "e2e_dry: cannot go on\n");
	return err || has_failed ? 1 : 0;
}

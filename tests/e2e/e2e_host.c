/*
 * A program that ends as it is told to, after some allocations.
 *
 *	e2e_host PAIRS HOW
 *
 * PAIRS times cudaMalloc and cudaFree, then three allocations that stay; then a line on stdout, and
 * the end: return, _exit, abort, kill, segv, or wait (for the end of stdin, then return).
 */
#include <signal.h>
#include <unistd.h>

#include "sample.h"

static void end(const char *how)
{
	volatile int *nowhere = NULL;
	char byte;

	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "segv"))
		*nowhere = 1;
	while (!strcmp(how, "wait") && read(0, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	void *memory;

	if (argc != 3)
		return 2;
	for (int i = atoi(argv[1]); i > 0; i--) {
		CHECK(cudaMalloc(&memory, MIB));
		CHECK(cudaFree(memory));
	}
	for (size_t i = 1; i <= 3; i++)
		CHECK(cudaMalloc(&memory, i * MIB));
	puts("done");
	fflush(stdout);
	end(argv[2]);
	return 0;
}

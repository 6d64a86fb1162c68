/*
 * A program that fills a card in a known way, and ends in a known way.
 *
 *	e2e_ending MIB-AT-ONCE MIB-KEPT-A-STEP HOW
 *
 * 16 steps, each of which takes 4 MiB and gives them back. HOW: return; kill (SIGKILL); cpu (works
 * until the limit of its CPU time kills it); oom (asks for more than any card has, then is killed).
 */
#include <signal.h>
#include <unistd.h>

#include "sample.h"
#include "vramscope.h"

#define NR_STEPS 16

static void *take_at_once(size_t size)
{
	void *memory = NULL;

	CHECK(cudaMalloc(&memory, size)); /* all at once */
	return memory;
}

static void *keep(size_t size)
{
	void *memory = NULL;

	CHECK(cudaMalloc(&memory, size)); /* kept in every step */
	return memory;
}

static void work(void)
{
	void *memory;

	CHECK(cudaMalloc(&memory, 4 * MIB));
	CHECK(cudaFree(memory));
}

int main(int argc, char **argv)
{
	size_t at_once, kept;
	void *memory;

	if (argc != 4)
		return 2;
	at_once = (size_t)atol(argv[1]) * MIB;
	kept = (size_t)atol(argv[2]) * MIB;
	if (at_once)
		take_at_once(at_once);
	for (uint64_t step = 0; step < NR_STEPS; step++) {
		vs_step(step);
		work();
		if (kept)
			keep(kept);
	}
	if (!strcmp(argv[3], "oom"))
		cudaMalloc(&memory, 1024 * GIB);
	if (!strcmp(argv[3], "kill") || !strcmp(argv[3], "oom"))
		kill(getpid(), SIGKILL);
	while (!strcmp(argv[3], "cpu"))
		;
	return 0;
}

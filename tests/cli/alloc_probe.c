/*
 * usage: alloc_probe WORD...
 *
 * Does what the words say, one after the other, and ends with exit status 0:
 *
 *   alloc  allocates 1 MiB of device memory
 *   pairs  allocates and frees 60,000 times
 *   exec   becomes this program with the words that are left
 *   spawn  starts it with them, waits, and ends as it does
 *   leave  starts it with them, and ends without waiting
 *   ready  prints the word, then waits for a line on stdin, or its end
 *   kill   dies of SIGKILL
 *   _exit  ends without farewell
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

static int make_pairs(void)
{
	void *memory;

	for (int i = 0; i < 60000; i++)
		if (cudaMalloc(&memory, 1 << 20) != cudaSuccess || cudaFree(memory) != cudaSuccess)
			return 0;
	return 1;
}

static int start(char **argv, char **words, int must_wait)
{
	pid_t child = fork();
	int status = 0;

	words[-1] = argv[0];
	if (child == 0) {
		execv("/proc/self/exe", words - 1);
		_exit(99);
	}
	if (must_wait)
		waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char line[16];
	void *memory;

	(void)argc;
	for (char **word = argv + 1; *word; word++) {
		if (!strcmp(*word, "alloc")) {
			if (cudaMalloc(&memory, 1 << 20) != cudaSuccess)
				return 98;
		} else if (!strcmp(*word, "pairs")) {
			if (!make_pairs())
				return 96;
		} else if (!strcmp(*word, "exec")) {
			*word = argv[0];
			execv("/proc/self/exe", word);
			return 97;
		} else if (!strcmp(*word, "spawn") || !strcmp(*word, "leave")) {
			return start(argv, word + 1, **word == 's');
		} else if (!strcmp(*word, "ready")) {
			puts("ready");
			fflush(stdout);
			if (!fgets(line, sizeof(line), stdin))
				continue;
		} else if (!strcmp(*word, "kill")) {
			raise(SIGKILL);
		} else if (!strcmp(*word, "_exit")) {
			_exit(0);
		} else {
			return 96;
		}
	}
	return 0;
}

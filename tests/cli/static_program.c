/*
 * usage: static_program [then COMMAND [ARGUMENT...]]
 *
 * Linked without the dynamic linker: nothing can be preloaded into it. Becomes COMMAND.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	puts("static");
	fflush(stdout);
	if (argc < 3 || strcmp(argv[1], "then") != 0)
		return 0;
	execvp(argv[2], argv + 2);
	return 1;
}

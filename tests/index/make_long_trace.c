/* Writes a long trace, to try commands on: make_long_trace FILE EVENTS. */
#include <stdio.h>
#include <stdlib.h>

#include "long_trace.h"

int main(int argc, char **argv)
{
	if (argc == 3 && long_trace_write(argv[1], strtoull(argv[2], NULL, 10)) == 0)
		return 0;
	fprintf(stderr, "usage: make_long_trace FILE EVENTS\n");
	return 1;
}

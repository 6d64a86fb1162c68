/*
 * usage: card_holder SIZE
 *
 * Takes so many bytes of the device, says how that went, and holds them until stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

int main(int argc, char **argv)
{
	void *data;

	if (argc != 2)
		return 2;
	printf("malloc %d\n", (int)cudaMalloc(&data, strtoull(argv[1], NULL, 10)));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

/* libFuzzer: any bytes as a line table of Python, of any release; each instruction is asked for. */
#include <stdlib.h>
#include <string.h>

#include "python_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t first_line;
	uint8_t *table;

	if (size < 5)
		return 0;
	memcpy(&first_line, data, sizeof(first_line));
	/* Its own memory, of just that size: what is read beyond it is seen. */
	table = malloc(size - 5 ? size - 5 : 1);
	if (!table)
		abort();
	memcpy(table, data + 5, size - 5);
	for (uint32_t i = 0; i < 2 * size; i++)
		vs_python_lines_find(0x0308u + data[4] % 8, first_line, table, size - 5, i);
	vs_python_lines_find(0x0308u + data[4] % 8, first_line, table, size - 5, UINT32_MAX);
	vs_python_lines_find(0x0308u + data[4] % 8, first_line, table, size - 5, UINT32_MAX - 1);
	free(table);
	return 0;
}

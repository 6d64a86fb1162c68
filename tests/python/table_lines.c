/*
 * Lines of Python code by its tables: reads `VERSION FIRST_LINE NR_INSTRUCTIONS TABLE` (the last in
 * hexadecimal, or -) from stdin, writes the line of each instruction.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_lines.h"

static size_t read_table(const char *text, uint8_t *table)
{
	size_t size = 0;

	for (; text[0] != '-' && text[0] && text[1]; text += 2) {
		char digits[3] = {text[0], text[1], '\0'};

		table[size++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return size;
}

int main(void)
{
	static char text[8 << 20];
	uint8_t *table = malloc(sizeof(text) / 2);
	uint32_t version, first_line, nr;

	if (!table)
		return 1;
	while (scanf("%" SCNx32 " %" SCNu32 " %" SCNu32 " %8388607s", &version, &first_line, &nr,
		     text) == 4) {
		size_t size = read_table(text, table);

		for (uint32_t i = 0; i < nr; i++)
			printf("%" PRIu32 " ",
			       vs_python_lines_find(version, first_line, table, size, i));
		printf("\n");
	}
	free(table);
	return 0;
}

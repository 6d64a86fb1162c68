#ifndef VS_PYTHON_LINES_H
#define VS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Lines of Python code from the tables that its code objects have. There are three forms: up to 3.9
 * (co_lnotab), 3.10 (PEP 626), and since 3.11 (locations).
 *
 * version: 0x030b for 3.11. instruction: in units of two bytes; UINT32_MAX: the code has not begun,
 * which is its first line. 0: the table gives it none, or is damaged.
 */
uint32_t vs_python_lines_find(uint32_t version, uint32_t first_line, const uint8_t *table,
			      size_t size, uint32_t instruction);

#endif

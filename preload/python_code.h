#ifndef VS_PYTHON_CODE_H
#define VS_PYTHON_CODE_H

#include "error.h"
#include "python.h"
#include "record.h"

/*
 * Numbers for Python's code objects, so that the names and the line table of each are written once.
 * Equal ones are one, wherever they lie: a program that executes the same text again and again
 * does not make new ones. Lock-free; two threads may give one code object two numbers at the same
 * moment. Beyond VS_PYTHON_CODE_MAX the number is 0, "not known".
 */
#define VS_PYTHON_CODE_MAX   65536u
#define VS_PYTHON_LINES_MAX  (256u << 10) /* of a line table; a longer one is left out */
#define VS_PYTHON_LINES_PART 4096u        /* bytes that one record holds */

/* What a code object says of itself. The texts are in `space`, the lines where Python has them. */
struct vs_python_code {
	struct vs_code record; /* but for its id */
	const char *lines;
	uint64_t hash[2]; /* of all of it */
	char file[4096];
	char name[1024];
};

/* -VS_ERR_NO_MEMORY: every number is 0. One thread. */
VS_MUST_CHECK int vs_python_code_init(void);

/* Forgets all numbers; a new trace starts. One thread. */
void vs_python_code_clear(void);

/* False: it is no code object, or not one as it should be. Any thread that executes it. */
bool vs_python_code_read(struct vs_python_code *code, uintptr_t address);

/* Its number, or 0. Any thread. */
uint32_t vs_python_code_find(const struct vs_python_code *code);

/* A number for one that is not known; 0 when there is none left. Any thread. */
uint32_t vs_python_code_new_number(void);

/* From now on find answers this number, whose definition is in the log. Any thread. */
void vs_python_code_add(const struct vs_python_code *code, uint32_t number);

/* All of the file name and of the line table of a code object that is executed, as a number. */
uint64_t vs_python_code_hash_all(uintptr_t address);

/*
 * What one thread remembers of code objects, by their addresses and a fingerprint, so that their
 * texts need not be read again. Only its own thread touches it. All zero at first.
 */
#define VS_PYTHON_CODE_MEMO_BITS 10

struct vs_python_code_memo {
	struct {
		uintptr_t code;
		uint64_t fingerprint;
		uint32_t era; /* 0: none */
		uint32_t number;
	} entries[1u << VS_PYTHON_CODE_MEMO_BITS];
};

/* The number that was remembered in this era (not 0) for the code that now lies there, or 0. */
uint32_t vs_python_code_recall(struct vs_python_code_memo *memo, uintptr_t code, uint32_t era);
void vs_python_code_remember(struct vs_python_code_memo *memo, uintptr_t code, uint32_t era,
			     uint32_t number);

#endif

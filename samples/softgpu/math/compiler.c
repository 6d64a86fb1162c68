/* libnvrtc: programs, their names, and the PTX that stands for them. */
#include "compiler.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math_call.h"

#define KIND_PROGRAM SG_MATH_FIRST_OWN

/* nvrtcResult */
#define OUT_OF_MEMORY   1
#define INVALID_INPUT   3
#define INVALID_PROGRAM 4
#define AFTER_COMPILE   8
#define BEFORE_COMPILE  9
#define NO_SUCH_NAME    10

struct expression {
	struct expression *next;
	char *text;
	char *lowered;
};

struct program {
	char *source;
	struct expression *expressions;
	char *ptx; /* NULL until compiled */
	size_t ptx_size;
};

int sg_math_bad_handle(void)
{
	return INVALID_PROGRAM;
}

static struct program *get(const void *handle)
{
	return sg_math_object_get(KIND_PROGRAM, handle);
}

SG_MATH_API(int, nvrtcCreateProgram, void **handle, const char *source, const char *name,
	    int nr_headers, const char *const *headers, const char *const *include_names)
{
	struct program *program;

	(void)name;
	(void)headers;
	(void)include_names;
	if (!handle || !source || nr_headers < 0)
		return INVALID_INPUT;
	program = sg_math_object_create(KIND_PROGRAM, sizeof(*program));
	if (!program)
		return OUT_OF_MEMORY;
	program->source = strdup(source);
	if (!program->source) {
		sg_math_object_destroy(KIND_PROGRAM, program);
		return OUT_OF_MEMORY;
	}
	*handle = program;
	return 0;
}

SG_MATH_API(int, nvrtcDestroyProgram, void **handle)
{
	struct program *program = handle ? get(*handle) : NULL;

	if (!program)
		return INVALID_PROGRAM;
	while (program->expressions) {
		struct expression *expression = program->expressions;

		program->expressions = expression->next;
		free(expression->text);
		free(expression->lowered);
		free(expression);
	}
	free(program->source);
	free(program->ptx);
	sg_math_object_destroy(KIND_PROGRAM, program);
	*handle = NULL;
	return 0;
}

SG_MATH_API(int, nvrtcAddNameExpression, void *handle, const char *text)
{
	struct program *program = get(handle);
	struct expression *expression;

	if (!program)
		return INVALID_PROGRAM;
	if (program->ptx)
		return AFTER_COMPILE;
	if (!text)
		return INVALID_INPUT;
	expression = calloc(1, sizeof(*expression));
	if (!expression)
		return OUT_OF_MEMORY;
	expression->text = strdup(text);
	expression->lowered = sg_compiler_names_lower(text);
	expression->next = program->expressions;
	program->expressions = expression;
	return expression->text && expression->lowered ? 0 : OUT_OF_MEMORY;
}

SG_MATH_API(int, nvrtcGetLoweredName, void *handle, const char *text, const char **lowered)
{
	struct program *program = get(handle);

	if (!program)
		return INVALID_PROGRAM;
	if (!text || !lowered)
		return INVALID_INPUT;
	if (!program->ptx)
		return BEFORE_COMPILE;
	for (struct expression *e = program->expressions; e; e = e->next) {
		if (e->text && e->lowered && !strcmp(e->text, text)) {
			*lowered = e->lowered;
			return 0;
		}
	}
	return NO_SUCH_NAME;
}

/* "--gpu-architecture=sm_90", "-arch=compute_80": 90, 80. The oldest one it could be otherwise. */
static int architecture(int nr_options, const char *const *options)
{
	int number = 75;

	for (int i = 0; i < nr_options; i++) {
		const char *value = options[i] ? strstr(options[i], "arch") : NULL;

		value = value ? strchr(value, '_') : NULL;
		if (value && atoi(value + 1) > 0)
			number = atoi(value + 1);
	}
	return number;
}

static void write_kernel(const char *name, size_t size, void *stream)
{
	fprintf(stream, ".visible .entry %.*s()\n{\n\tret;\n}\n", (int)size, name);
}

SG_MATH_API(int, nvrtcCompileProgram, void *handle, int nr_options, const char *const *options)
{
	struct program *program = get(handle);
	FILE *stream;

	if (!program)
		return INVALID_PROGRAM;
	if (nr_options < 0 || (nr_options > 0 && !options))
		return INVALID_INPUT;
	free(program->ptx);
	program->ptx = NULL;
	stream = open_memstream(&program->ptx, &program->ptx_size);
	if (!stream)
		return OUT_OF_MEMORY;
	fprintf(stream, ".version 7.0\n.target sm_%d\n.address_size 64\n",
		architecture(nr_options, options));
	sg_compiler_names_scan(program->source, write_kernel, stream);
	for (struct expression *e = program->expressions; e; e = e->next) {
		if (e->lowered && strncmp(e->lowered, "_Z", 2) == 0)
			write_kernel(e->lowered, strlen(e->lowered), stream);
	}
	return fclose(stream) == 0 && program->ptx ? 0 : OUT_OF_MEMORY;
}

/* The driver takes PTX wherever it takes a cubin, so it is given for both. */
static int put_size(void *handle, size_t *size)
{
	struct program *program = get(handle);

	if (!program)
		return INVALID_PROGRAM;
	if (!size || !program->ptx)
		return INVALID_INPUT;
	*size = program->ptx_size + 1;
	return 0;
}

static int put_code(void *handle, char *code)
{
	struct program *program = get(handle);

	if (!program)
		return INVALID_PROGRAM;
	if (!code || !program->ptx)
		return INVALID_INPUT;
	memcpy(code, program->ptx, program->ptx_size + 1);
	return 0;
}

#define OUTPUT(name)                                             \
	SG_MATH_API(int, name##Size, void *handle, size_t *size) \
	{                                                        \
		return put_size(handle, size);                   \
	}                                                        \
	SG_MATH_API(int, name, void *handle, char *code)         \
	{                                                        \
		return put_code(handle, code);                   \
	}

OUTPUT(nvrtcGetPTX)
OUTPUT(nvrtcGetCUBIN)
OUTPUT(nvrtcGetLTOIR)
OUTPUT(nvrtcGetOptiXIR)
OUTPUT(nvrtcGetNVVM)

SG_MATH_API(int, nvrtcGetProgramLogSize, void *handle, size_t *size)
{
	if (!get(handle))
		return INVALID_PROGRAM;
	if (!size)
		return INVALID_INPUT;
	*size = 1;
	return 0;
}

SG_MATH_API(int, nvrtcGetProgramLog, void *handle, char *log)
{
	if (!get(handle))
		return INVALID_PROGRAM;
	if (!log)
		return INVALID_INPUT;
	*log = '\0';
	return 0;
}

SG_MATH_API(int, nvrtcVersion, int *major, int *minor)
{
	if (!major || !minor)
		return INVALID_INPUT;
	*major = sg_math_version[SG_MATH_MAJOR_VERSION];
	*minor = sg_math_version[SG_MATH_MINOR_VERSION];
	return 0;
}

static const int architectures[] = {75, 80, 86, 87, 89, 90, 100, 120};

SG_MATH_API(int, nvrtcGetNumSupportedArchs, int *nr)
{
	if (!nr)
		return INVALID_INPUT;
	*nr = (int)(sizeof(architectures) / sizeof(architectures[0]));
	return 0;
}

SG_MATH_API(int, nvrtcGetSupportedArchs, int *list)
{
	if (!list)
		return INVALID_INPUT;
	memcpy(list, architectures, sizeof(architectures));
	return 0;
}

SG_MATH_API(const char *, nvrtcGetErrorString, int result)
{
	static const char *const names[] = {
		"NVRTC_SUCCESS",
		"NVRTC_ERROR_OUT_OF_MEMORY",
		"NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
		"NVRTC_ERROR_INVALID_INPUT",
		"NVRTC_ERROR_INVALID_PROGRAM",
		"NVRTC_ERROR_INVALID_OPTION",
		"NVRTC_ERROR_COMPILATION",
		"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
		"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
		"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
		"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
		"NVRTC_ERROR_INTERNAL_ERROR",
	};

	if (result < 0 || (size_t)result >= sizeof(names) / sizeof(names[0]))
		return "NVRTC_ERROR unknown";
	return names[result];
}

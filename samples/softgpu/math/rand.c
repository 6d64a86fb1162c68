/* libcurand: versions; generators are handles that generate nothing. */
#include "math_call.h"

/* curandStatus_t */
#define NOT_INITIALIZED 101
#define OUT_OF_RANGE    104

int sg_math_bad_handle(void)
{
	return NOT_INITIALIZED;
}

SG_MATH_API(int, curandGetVersion, int *version)
{
	if (!version)
		return OUT_OF_RANGE;
	*version = sg_math_version[SG_MATH_MAJOR_VERSION] * 1000 +
		   sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
		   sg_math_version[SG_MATH_PATCH_LEVEL];
	return 0;
}

SG_MATH_API(int, curandGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? OUT_OF_RANGE : 0;
}

/* Tables of which the program reads an element; all zero. Sizes as curand.h has them. */
#define DIMENSIONS 20000

static const unsigned vectors_32[DIMENSIONS][32];
static const unsigned long long vectors_64[DIMENSIONS][64];
static const unsigned constants_32[DIMENSIONS];
static const unsigned long long constants_64[DIMENSIONS];

#define TABLE(name, table)                                    \
	SG_MATH_API(int, name, const void **vectors, int set) \
	{                                                     \
		(void)set;                                    \
		if (!vectors)                                 \
			return OUT_OF_RANGE;                  \
		*vectors = table;                             \
		return 0;                                     \
	}

#define CONSTANTS(name, table)                         \
	SG_MATH_API(int, name, const void **constants) \
	{                                              \
		if (!constants)                        \
			return OUT_OF_RANGE;           \
		*constants = table;                    \
		return 0;                              \
	}

TABLE(curandGetDirectionVectors32, vectors_32)
TABLE(curandGetDirectionVectors64, vectors_64)
CONSTANTS(curandGetScrambleConstants32, constants_32)
CONSTANTS(curandGetScrambleConstants64, constants_64)

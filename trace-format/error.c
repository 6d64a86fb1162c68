#include "error.h"

#include <stddef.h>

const char *vs_error_text(int error)
{
	static const char *const texts[] = {
		[VS_OK] = "no error",
#define VS_ERROR(NAME, text) [VS_ERR_##NAME] = text,
#include "error.def"
#undef VS_ERROR
	};
	/* Unsigned, so that INT_MIN has an absolute value. */
	unsigned int number = error < 0 ? 0u - (unsigned int)error : (unsigned int)error;

	return number < sizeof(texts) / sizeof(texts[0]) ? texts[number] : "unknown error";
}

#ifndef VS_ERROR_H
#define VS_ERROR_H

#define VS_MUST_CHECK __attribute__((warn_unused_result))

/* The errors of the whole project: error.def. Functions return them negated. */
enum vs_error {
	VS_OK = 0,
#define VS_ERROR(NAME, text) VS_ERR_##NAME,
#include "error.def"
#undef VS_ERROR
};

/* The text of an error, for a sentence that starts with a file's name. Takes either sign. */
const char *vs_error_text(int error);

#endif

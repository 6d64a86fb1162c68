/* Compiled once for each soname; the numbers come from its list. */
#include "math_call.h"

const int sg_math_version[SG_MATH_NR_PROPERTIES] = {SG_MATH_MAJOR, SG_MATH_MINOR, SG_MATH_PATCH};

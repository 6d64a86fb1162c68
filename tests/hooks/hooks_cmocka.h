#ifndef VS_HOOKS_CMOCKA_H
#define VS_HOOKS_CMOCKA_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

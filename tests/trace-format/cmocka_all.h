#ifndef VS_CMOCKA_ALL_H
#define VS_CMOCKA_ALL_H

/* cmocka.h does not include what it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

#ifndef VS_NAMES_H
#define VS_NAMES_H

#include "error.h"
#include "record.h"

/*
 * Numbers for names: API functions, phases, marks. A number means the same in every trace of the
 * process; each trace defines it before its first use. Lock-free, any thread, but init. Holds
 * VS_NAMES_MAX names; what comes later has the number 0. Text is cut to VS_NAMES_TEXT_MAX bytes.
 */
#define VS_NAMES_MAX      8192u
#define VS_NAMES_TEXT_MAX 240u

VS_MUST_CHECK int vs_names_init(void);

/* The number of a text, a new one if need be; 0 when the table is full. */
uint32_t vs_names_get(const char *text);

/* A number that is nobody else's, for a text that is defined once and that nobody looks for again.
 */
uint32_t vs_names_take_number(void);

/* The same, for those who must leave room for others: no new one above `limit`. */
uint32_t vs_names_get_below(const char *text, uint32_t limit);

/* Whether vs_names_get gave that number. */
bool vs_names_is_given(uint32_t number);

/* The text of a number that vs_names_get gave. */
struct vs_text vs_names_text(uint32_t number);

/* Whether the number's definition is in this recording's log; and: now it is. */
bool vs_names_is_defined(uint32_t number, uint32_t recording);
void vs_names_set_defined(uint32_t number, uint32_t recording);

#endif

#ifndef VS_UNITS_H
#define VS_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers for people, in plain ASCII but for the digit groups. Any thread. */

#define VS_UNITS_MAX 48

/* "1.61 GiB": three digits, IEC units; below 1000 exact: "999 B". Returns out. */
const char *vs_units_put_bytes(char out[VS_UNITS_MAX], uint64_t bytes);

/* The same with a sign, also for 0: "+12.4 MiB". */
const char *vs_units_put_change(char out[VS_UNITS_MAX], int64_t bytes);

/* "7.25 us", "250 ms", "12.5 s", "4m 12s", "1h 02m". */
const char *vs_units_put_time(char out[VS_UNITS_MAX], uint64_t time_ns);

/* "48 210", with narrow spaces, or plain ones in ASCII. */
const char *vs_units_put_number(char out[VS_UNITS_MAX], uint64_t number, bool is_ascii);

/* "33 %" of a whole; "0 %" of nothing; less than a half is "<1 %". */
const char *vs_units_put_share(char out[VS_UNITS_MAX], uint64_t part, uint64_t whole);

#endif

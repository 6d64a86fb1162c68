#ifndef VS_EVENT_LINES_H
#define VS_EVENT_LINES_H

/*
 * The events of the hooks in front of a test, line by line: line_recorder.h. The program must have
 * been started with libhooks_printing.so preloaded.
 */

/* Forget what there is. */
void vs_event_lines_skip(void);

/* The next line must be this one. */
#define vs_event_lines_expect(...) vs_event_lines_expect_at(__FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 3, 4))) void vs_event_lines_expect_at(const char *file, int line,
								    const char *format, ...);

/* There must be no further line. */
#define vs_event_lines_expect_none() vs_event_lines_expect_none_at(__FILE__, __LINE__)
void vs_event_lines_expect_none_at(const char *file, int line);

unsigned long vs_event_lines_get_nr_unsure(void);
void vs_event_lines_spoil_errno(int is_on);

#endif

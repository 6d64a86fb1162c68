#ifndef VS_INTERRUPT_H
#define VS_INTERRUPT_H

#include <stdbool.h>

/*
 * What is in order when a signal ends the program (Ctrl-C, a closed terminal, kill): a file that is
 * half written goes, and so does a line of progress. The program still ends by that signal, so that
 * whoever started it sees why. Signals that are ignored, or handled by others, stay so.
 *
 * One file at a time; one thread. Signals come on the first thread: others block them.
 */

/* As mkostemp with O_CLOEXEC: the file is guarded from its first moment on. -1: see errno. */
int vs_interrupt_make_file(char *name);

/* A file that was opened to be written, if it is a regular one. path is copied. */
void vs_interrupt_guard_file(const char *path);

/* It is whole, or gone. */
void vs_interrupt_release_file(void);

/* Bytes that a signal must write to stderr before the end, or NULL: a text that stays. */
void vs_interrupt_set_last_words(const char *text);

#endif

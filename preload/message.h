#ifndef VS_MESSAGE_H
#define VS_MESSAGE_H

/*
 * The only voice of the shim: single lines on stderr, "vramscope: ...". It never waits (a pipe that
 * is full gets nothing), raises no SIGPIPE, keeps errno, and writes only to the file that was
 * stderr when the program started: a program that closed it may have put its data there.
 */

/* Remembers what stderr is. Once, at the start. */
void vs_message_init(void);

/* Prints the texts up to the first NULL as one line. Any thread that has the program's files. */
void vs_message_print(const char *text, ...) __attribute__((sentinel));

/*
 * For the drain thread, which has no stderr: keeps the line until some thread of the program comes
 * by vs_message_flush(). Only the newest unprinted line is kept. One thread at a time.
 */
void vs_message_post(const char *text, ...) __attribute__((sentinel));

/* Prints what was posted, if anything. Any thread; cheap when there is nothing. */
void vs_message_flush(void);

/* In a child, which has its parent's line: tells usual.h whether there is one. */
void vs_message_begin_in_child(void);

#endif

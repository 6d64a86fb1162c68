#ifndef VS_CAPTURE_H
#define VS_CAPTURE_H

/* What the code under test prints, kept for the test instead. One stream at a time. */

/* fd: STDOUT_FILENO or STDERR_FILENO. */
void vs_capture_begin(int fd);

/* Gives the stream back. All that was printed, whatever its size; until the next begin. */
const char *vs_capture_end(void);

#endif

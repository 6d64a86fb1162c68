#ifndef SG_NOTE_H
#define SG_NOTE_H

/*
 * What softgpu tells whoever started the program, in the file that SOFTGPU_NOTES names: the card it
 * describes, sizes that it made up, functions that it does not have. One line each, in one
 * write(2), so that processes share a file; docs/softgpu.md, "Notes". Without the variable:
 * nothing. errno is kept; no descriptor stays open. Any thread may call it.
 */
void sg_note_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

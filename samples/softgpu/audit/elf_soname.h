/*
 * The name a shared library carries inside (DT_SONAME), read from the file without mapping it.
 */
#ifndef SG_ELF_SONAME_H
#define SG_ELF_SONAME_H

#include <stddef.h>

/*
 * Reads the soname of the file open at @fd into @soname, NUL-terminated. The file position stays
 * where it was. Any bytes may be in the file: nothing in it is believed before it is checked.
 *
 * Returns 0, or
 *   -ENOEXEC       not a 64-bit little-endian ELF file
 *   -EINVAL        such a file, but damaged: a header points outside of it
 *   -ENOENT        a sound file without a soname (or without a dynamic section)
 *   -ENAMETOOLONG  the soname does not fit into @size bytes
 * @soname is untouched on failure. Any thread; uses neither the heap nor static storage.
 */
int sg_elf_soname_read(int fd, char *soname, size_t size);

#endif

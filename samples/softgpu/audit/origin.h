/*
 * $ORIGIN in the name of a library. The loader expands it after the audit library was asked and
 * does not ask again, so whoever wants to know which file is meant has to expand it as well.
 */
#ifndef SG_ORIGIN_H
#define SG_ORIGIN_H

#include <stddef.h>

/*
 * Writes @name to @path with every $ORIGIN and ${ORIGIN} replaced by the folder of the file
 * @loader, which is "" for the program itself. Returns 0; -ENAMETOOLONG; -ENOTSUP when another
 * token remains ($LIB, $PLATFORM: only the loader knows them); or why the program's own path
 * cannot be read. @path is undefined on failure. Any thread.
 */
int sg_origin_expand(const char *name, const char *loader, char *path, size_t size);

#endif

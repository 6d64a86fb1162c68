/*
 * The folder of the stand-ins, read once when the audit library starts. Afterwards nothing here
 * changes: every thread may ask, and the paths handed out stay valid until the process ends.
 */
#ifndef SG_STANDIN_H
#define SG_STANDIN_H

#include <stdbool.h>
#include <sys/types.h>

struct sg_library_name;

/*
 * Reads the names in @folder (an absolute path). Returns 0; a negative errno when the folder cannot
 * be read; -ENOSPC when it holds more than the table does (the first ones are then known).
 * Once, before any other function here.
 */
int sg_standin_init(const char *folder);

/*
 * The stand-in for exactly this library, or for one that it is a more exact version of:
 * libcudart.so.13.0.96 is answered by libcudart.so.13. NULL without one.
 */
const char *sg_standin_find(const struct sg_library_name *name);

/* The stand-in with this stem and the highest version, whatever version @name has; NULL if none. */
const char *sg_standin_find_newest(const struct sg_library_name *name);

/* Whether this file is one of the stand-ins, by whatever path it was reached. */
bool sg_standin_is_file(dev_t dev, ino_t ino);

#endif

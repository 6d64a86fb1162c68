#ifndef VS_FOLD_H
#define VS_FOLD_H

#include "error.h"

/*
 * Makes one file of a trace and the log that a killed program has left: the log's records become
 * blocks, an END block says so, the new file takes the trace's name at once, the log is removed. 0
 * also when there is no log and so nothing to do.
 *
 * On failure both files are as they were: -VS_ERR_RUNNING while the program runs or where that
 * cannot be told, -VS_ERR_CORRUPT when records between the two are missing, -VS_ERR_IO,
 * -VS_ERR_NO_MEMORY and the errors of vs_reader_open.
 */
VS_MUST_CHECK int vs_fold_trace(const char *path);

#endif

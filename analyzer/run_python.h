#ifndef VS_RUN_PYTHON_H
#define VS_RUN_PYTHON_H

#include "error.h"

/*
 * The folder of preload/sitecustomize.py goes in front of the command's PYTHONPATH: a Python that
 * starts then watches for CuPy, RMM and JAX being imported (docs/cupy-rmm.md). Where the folder is
 * not installed, or its name has a colon in it, Python programs go without; the latter is said.
 *
 * 0, or VS_EXIT_FAILED after one line on stderr.
 */
VS_MUST_CHECK int vs_run_python_set_up(const char *libdir);

#endif

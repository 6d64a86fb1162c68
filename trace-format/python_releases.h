#ifndef VS_PYTHON_RELEASES_H
#define VS_PYTHON_RELEASES_H

/* Releases of CPython whose frames can be read: docs/python-versions.md. 0x030b is 3.11. */
#define VS_PYTHON_OLDEST 0x0308
#define VS_PYTHON_NEWEST 0x030e

#endif

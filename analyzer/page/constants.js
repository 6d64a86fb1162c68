/* What page and worker call things. */

/* Entries of the address space. */
export const SEGMENT = 0;
export const BLOCK = 1;
export const HOLE = 2;
export const FREE_SEGMENT = 3; /* a hole that is all of its segment: the pool could give it back */

/* Frames: enum vs_symbol_kind. */
export const NATIVE = 0;
export const PYTHON = 1;

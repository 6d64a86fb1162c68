#ifndef VS_DRAW_CAIRO_H
#define VS_DRAW_CAIRO_H

/*
 * cairo, which is loaded when something is drawn: it brings twenty libraries with it, and to load
 * them takes longer than all else that happens before main(). Most commands draw nothing.
 */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include "error.h"

/* Its functions, without their cairo_. */
struct vs_draw_cairo {
#define VS_CAIRO(name) __typeof__(&cairo_##name) name;
#include "draw_cairo.def"
#undef VS_CAIRO
};
extern struct vs_draw_cairo vs_draw_cairo;

/* Before any of them is called; again is nothing. -VS_ERR_IO: it is not there (errno). */
VS_MUST_CHECK int vs_draw_cairo_load(void);

#endif

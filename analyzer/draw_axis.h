#ifndef VS_DRAW_AXIS_H
#define VS_DRAW_AXIS_H

/* Where an axis has its ticks, and what stands at them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_AXIS_TEXT_MAX 32

/* The distance of ticks, a round number, so that `range` has at most max_ticks of them. */
uint64_t vs_draw_axis_choose_bytes(uint64_t range, unsigned int max_ticks);
uint64_t vs_draw_axis_choose_ns(uint64_t range, unsigned int max_ticks);

/* Goes on to the next tick; false, and it stays where it is, if that would be behind the end. */
bool vs_draw_axis_next(uint64_t *tick, uint64_t step, uint64_t end);

/* The text at a tick, as exact as `step` needs: "1.5 GiB", "0"; "250 ms", "12 s", "4m 30s". */
void vs_draw_axis_put_bytes(char text[VS_AXIS_TEXT_MAX], uint64_t bytes, uint64_t step);
void vs_draw_axis_put_ns(char text[VS_AXIS_TEXT_MAX], uint64_t time_ns, uint64_t step);

#endif

#ifndef VS_HOT_H
#define VS_HOT_H

/*
 * Functions that nearly all events come by. They lie next to each other in the library: between two
 * events a program does so much that the cache has none of them any more, and the fewer pages they
 * are on, the less it takes to fetch them.
 */
#define VS_HOT __attribute__((hot))

/*
 * The same for a function at the beginning of that way: all that it calls becomes a part of it,
 * where the linker sees all files. An event passes through a dozen small functions, and to save and
 * pass on registers at each of them takes as long as what they do. What is not on that way says so.
 */
#define VS_FLAT __attribute__((hot, flatten))
#define VS_COLD __attribute__((noinline, cold))

/*
 * The same for variables that nearly all events read and hardly anybody ever writes: otherwise each
 * would lie on a page of its own, behind somebody's table.
 */
#define VS_HOT_DATA __attribute__((section("vs_hot_data")))

#endif

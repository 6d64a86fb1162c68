#ifndef VS_HOT_H
#define VS_HOT_H

/*
 * Functions that nearly all events come by. They lie next to each other in the library: between two
 * events a program does so much that the cache has none of them any more, and the fewer pages they
 * are on, the less it takes to fetch them.
 */
#define VS_HOT __attribute__((hot))

/*
 * The same for variables that nearly all events read and hardly anybody ever writes: otherwise each
 * would lie on a page of its own, behind somebody's table.
 */
#define VS_HOT_DATA __attribute__((section("vs_hot_data")))

#endif

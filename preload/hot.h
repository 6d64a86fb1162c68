#ifndef VS_HOT_H
#define VS_HOT_H

/*
 * Functions that nearly all events come by. They lie next to each other in the library: between two
 * events a program does so much that the cache has none of them any more, and the fewer pages they
 * are on, the less it takes to fetch them.
 */
#define VS_HOT __attribute__((hot))

#endif

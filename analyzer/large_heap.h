#ifndef VS_LARGE_HEAP_H
#define VS_LARGE_HEAP_H

/*
 * To fault in the memory of a large trace page by page takes as long as to fill it, and to find it
 * again in small pages takes time, too. From now on the heap has room in large pages, of which only
 * those are taken that are used, and what is freed stays there. Once is enough; before other
 * threads are started.
 */
void vs_large_heap_prepare(void);

#endif

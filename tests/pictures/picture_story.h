#ifndef VS_PICTURE_STORY_H
#define VS_PICTURE_STORY_H

/*
 * A short story as a source of records. Device 0: an arena of 100 MiB from 100 ns on, blocks of 40
 * and 40 MiB with 10 MiB between them, the first freed at 500; the arena fails to give 45 MiB at
 * 600. Device 1: 10 MiB, a failure at 550 that is recovered at 560.
 */
#include "analysis.h"

#define MIB                (1ull << 20)
#define PICTURE_STORY_BASE 0x7f0000000000

extern const struct vs_source picture_story;

#endif

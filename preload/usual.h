#ifndef VS_USUAL_H
#define VS_USUAL_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * One word that says at once all that an event has to know of the process: whether there is a
 * recording that takes events, which one, and that nothing out of the ordinary is to be seen to.
 * A thread that has a ring in the recording keeps the word as it is then (its ticket: guard.h), and
 * compares. Whatever is not so makes the two differ, and sends the event the long way, which asks
 * one by one.
 *
 *   bits 0-7   one for each thing that is as usual: VS_USUAL_ALL of them
 *   bits 8-31  number of the recording
 *
 * The word lies in the page that the kernel wipes in a child (lifecycle.h): 0, which is nobody's
 * ticket. Each bit has one owner, who says how threads may set and clear it. Any thread reads, in
 * any order: what an event must not miss it looks at again where that is (the state of the log).
 */
enum {
	VS_USUAL_OPEN = 1,   /* the log takes events, hooks are wanted: lifecycle.c */
	VS_USUAL_SILENT = 2, /* no line waits to be printed: message.c */
	VS_USUAL_WHOLE = 4,  /* no event of this recording was lost: recorder.c */
	VS_USUAL_ALL = 7,
};

extern _Atomic uint64_t *vs_usual_word;

static inline uint64_t vs_usual_get(void)
{
	return atomic_load_explicit(vs_usual_word, memory_order_acquire);
}

/* What the word is when all is as usual in this recording. */
static inline uint32_t vs_usual_make_ticket(uint32_t recording)
{
	return recording << 8 | VS_USUAL_ALL;
}

/* The word is at `word` from now on; NULL: where it was. Nothing is known yet of the recording. */
void vs_usual_begin(_Atomic uint64_t *word);

/* The recording takes events. */
void vs_usual_open(uint32_t recording);

void vs_usual_set(uint64_t bit);
void vs_usual_clear(uint64_t bit);

#endif

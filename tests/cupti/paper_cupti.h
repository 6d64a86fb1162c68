#ifndef PAPER_CUPTI_H
#define PAPER_CUPTI_H

/*
 * A CUPTI on paper, and a recorder (told_calls.h) that writes down what it is told, as lines. One
 * test at a time.
 */
#include "cupti_library.h"

struct paper {
	struct vs_cupti_library library;
	uint32_t version; /* 0: it does not tell */
	bool is_silent;   /* it does not tell names of callbacks */
	bool is_new;      /* it has what came with 13.4 */
	CUptiResult subscribe_result;
	CUptiResult enable_result;
	CUpti_CallbackFunc callback; /* of the subscriber; NULL: there is none */
	void *userdata;
	unsigned nr_subscribes, nr_unsubscribes;
	unsigned nr_enabled, nr_resources;
	uint32_t enabled[64]; /* numbers of driver functions that were asked for */
	CUpti_BuffersCallbackRequestFunc give_buffer;
	CUpti_BuffersCallbackCompleteFunc take_buffer;
	unsigned nr_activities;
	bool is_alone; /* hooks are off */
};

extern struct paper paper;

/* Everything anew; CUPTI of this version. */
void paper_begin(uint32_t version);

/* What the recorder was told since paper_begin(): lines, each with a newline. */
const char *paper_get_lines(void);

/* CUPTI calls back: a function of the driver begins (result NULL) or ends. */
void paper_tell(uint32_t cbid, const void *args, const CUresult *result, uint64_t *data);

#endif

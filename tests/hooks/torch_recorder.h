#ifndef VS_TORCH_RECORDER_H
#define VS_TORCH_RECORDER_H

/* Plays the recorder for the tests of PyTorch's pool, and loads the model of PyTorch. */
#include <stdbool.h>
#include <stdint.h>

#include "model_torch.h"
#include "settings.h"

/* What was said to the recorder, one line each, oldest first; "" if nothing. */
const char *torch_recorder_get(void);
void torch_recorder_clear(void);

/* Values of facts, or NULL; the lines that were printed, all in one. */
const char *torch_recorder_get_fact(const char *key);
const char *torch_recorder_get_printed(void);

extern struct vs_settings torch_recorder_settings;
extern bool torch_recorder_is_off;
extern uint32_t torch_recorder_recording;
extern bool torch_recorder_is_quiet; /* counts, and keeps no lines: for several threads */
extern _Atomic unsigned torch_recorder_nr;

/* The model, loaded as Python loads torch: nothing of it is visible to others. */
struct torch_model {
	const struct model_table *table;
	struct model_heard *heard;
	_Atomic unsigned *nr_heard;
	void (*report_host)(void *address, int64_t size);
};

struct torch_model torch_recorder_load(const char *folder);

#endif

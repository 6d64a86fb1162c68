#ifndef VS_RECORDER_DEFINE_H
#define VS_RECORDER_DEFINE_H

#include "record.h"
#include "thread.h"

/*
 * A definition, into the own ring. False: there is no room (self->is_short); then the event that
 * needs it cannot be kept either, nor needs any other. The own thread, inside the recorder.
 */
bool vs_recorder_define(struct vs_thread_state *self, const struct vs_record *definition);

/* The same for a name that may have been defined already. */
void vs_recorder_define_name(struct vs_thread_state *self, uint32_t number);

#endif

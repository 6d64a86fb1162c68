#ifndef VS_SOURCE_H
#define VS_SOURCE_H

#include "record.h"

/* Where records come from. next: 1 a record, 0 the end, <0 an error. */
struct vs_source {
	int (*next)(void *context, struct vs_record *record);
	int (*rewind)(void *context);
	void *context;
};

#endif

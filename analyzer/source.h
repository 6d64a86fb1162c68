#ifndef VS_SOURCE_H
#define VS_SOURCE_H

#include "reader.h"
#include "record.h"

/* What is known of all records before any is read. */
struct vs_source_extent {
	uint64_t first_ns; /* time of the first event and of the last */
	uint64_t now_ns;
	bool has_steps; /* more than one STEP, PHASE_PUSH */
	bool has_phases;
};

/*
 * Where records come from. next: 1 a record, 0 the end, <0 an error.
 *
 * A trace in a file has three more, others NULL. They also say that next may be called on another
 * thread than rewind, as long as nobody uses the source meanwhile.
 */
struct vs_source {
	int (*next)(void *context, struct vs_record *record);
	int (*rewind)(void *context);
	void *context;
	uint64_t size; /* bytes of the file, 0: there is none */

	/* next for several events of one block, or one definition: how many they are, at most so
	 * many. */
	int (*next_some)(void *context, struct vs_record *records, uint32_t most);

	/* Which block of the file the last record came from. */
	void (*get_block)(void *context, struct vs_reader_block *block);

	/*
	 * Guesses the extent from a few blocks. 1, or 0: no idea. Whoever uses it finds out at the
	 * end whether it was right. Rewind afterwards.
	 */
	int (*guess)(void *context, struct vs_source_extent *extent);
};

#endif

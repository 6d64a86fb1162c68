#ifndef VS_CHECK_GATHER_H
#define VS_CHECK_GATHER_H

#include "analysis.h"
#include "check.h"

struct vs_check_input {
	struct vs_source source;
	/* Whether its last record is of a snapshot: these are in no order. NULL: none is. */
	bool (*is_in_snapshot)(void *context);
};

/*
 * One pass over the records of a source from where it stands: everything in *facts but the state of
 * a reader, which is not touched. 0, an error of the source, -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_check_gather_records(struct vs_check_facts *facts,
					  const struct vs_check_input *input);

#endif

/* Writes a trace of a training with its index, finer than people get it: make_index FILE EVENTS
 * INTERVAL. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "index_writer.h"
#include "long_trace.h"
#include "trace_source.h"

static int make_index(const char *path)
{
	struct vs_window all = {0, UINT64_MAX};
	struct vs_trace_index *index = NULL;
	struct vs_analysis analysis;
	struct vs_source source;
	struct vs_reader *reader;
	int err = vs_reader_open(&reader, path);

	if (err)
		return err;
	source = vs_trace_source_make(reader);
	err = vs_trace_index_open(&index, path, reader);
	if (!err)
		err = vs_analysis_init_indexed(&analysis, &source, &all, index,
					       &(struct vs_wants){0});
	if (!err)
		vs_analysis_fini(&analysis);
	if (!err && !vs_trace_index_get(index))
		err = -VS_ERR_IO;
	vs_trace_index_close(index);
	vs_reader_close(reader);
	return err;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: make_index FILE EVENTS INTERVAL\n");
		return 2;
	}
	if (long_trace_write_finely(argv[1], strtoull(argv[2], NULL, 10),
				    strtoull(argv[3], NULL, 10)))
		return 1;
	vs_index_writer_plan = (struct vs_index_plan){
		.least = 1, .interval = strtoull(argv[3], NULL, 10), .chain = 0};
	return make_index(argv[1]) != 0;
}

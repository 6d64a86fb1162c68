/*
 * usage: bench_holes TRACE
 *
 * Reads a trace with all measures, of which one knows the largest hole after every event, as
 * `vramscope report` does when it reads it for the first time; but writes nothing.
 *
 * Prints "events N" and "read NS", from opening the file to the result.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis.h"
#include "process_watch.h"
#include "trace_source.h"

int main(int argc, char **argv)
{
	static const struct vs_window everything = {0, UINT64_MAX};
	uint64_t start = vs_process_watch_now_ns();
	struct vs_analysis analysis;
	struct vs_source source;
	struct vs_reader *reader;

	if (argc != 2 || vs_reader_open(&reader, argv[1]))
		return 1;
	source = vs_trace_source_make(reader);
	if (vs_analysis_init(&analysis, &source, &everything))
		return 1;
	printf("read %" PRIu64 "\n", vs_process_watch_now_ns() - start);
	printf("events %" PRIu64 "\n", analysis.replay->counters.nr_events);
	printf("worst %.6f\n", vs_measure_fragmentation_get_worst(&analysis.fragmentation,
								  analysis.replay->devices[0])
				       ->share);
	vs_analysis_fini(&analysis);
	vs_reader_close(reader);
	return 0;
}

#include "trace_source.h"

#include "info.h"
#include "trace_open.h"

static int next_record(void *context, struct vs_record *record)
{
	return vs_trace_open_next(context, record);
}

static int next_records(void *context, struct vs_record *records, uint32_t most)
{
	return vs_trace_open_next_some(context, records, most);
}

static int rewind_records(void *context)
{
	return vs_reader_rewind(context);
}

static void get_block(void *context, struct vs_reader_block *block)
{
	vs_reader_get_block(context, block);
}

/* Programs that mark their steps or phases do so up to the end. */
static int guess(void *context, struct vs_source_extent *extent)
{
	struct vs_reader *reader = context;
	struct vs_reader_survey survey;
	uint64_t types;

	/* One that was made smaller while it was written does not begin with its events. */
	if (vs_reader_survey(reader, &survey) <= 0 || vs_reader_get_info(reader, VS_INFO_MAX_SIZE))
		return 0;
	types = vs_reader_seek_types(reader, &survey.last_block);
	*extent = (struct vs_source_extent){
		.first_ns = survey.first_ns,
		.now_ns = survey.last_ns,
		.has_steps = types >> VS_RECORD_STEP & 1,
		.has_phases = types >> VS_RECORD_PHASE_PUSH & 1,
	};
	return types != 0;
}

struct vs_source vs_trace_source_make(struct vs_reader *reader)
{
	struct vs_reader_file file = {0};
	struct vs_source source = {.next = next_record,
				   .rewind = rewind_records,
				   .context = reader,
				   .next_some = next_records,
				   .get_block = get_block,
				   .guess = guess};

	if (!vs_reader_get_file(reader, &file))
		source.size = file.size;
	return source;
}

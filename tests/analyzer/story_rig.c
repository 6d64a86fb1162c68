#include "story_rig.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "trace_open.h"

#define PATH "run.vscope" /* what the story believes its trace is called */

void story_rig_init(struct story_rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	script_init(&rig->script);
	rig->trace.command = "train\n";
	rig->options = (struct vs_options){
		.device = VS_OPTIONS_ANY_DEVICE, .to_ns = UINT64_MAX, .width = 100};
}

/* A reader that has come to the end of a trace without records. */
static void open_reader(struct story_rig *rig)
{
	const struct script none = {0};
	char path[] = P_tmpdir "/story-rig-XXXXXX";
	struct vs_record record;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	script_trace_write(&none, path, &rig->trace);
	assert_int_equal(vs_reader_open(&rig->story.reader, path), 0);
	assert_int_equal(vs_trace_open_next(rig->story.reader, &record), 0);
	vs_reader_get_state(rig->story.reader, &rig->story.state);
	unlink(path);
}

static void open_story(struct story_rig *rig)
{
	struct vs_window window = {rig->options.from_ns, rig->options.to_ns};

	rig->story = (struct vs_story){
		.path = PATH,
		.options = &rig->options,
		.source = rig->script.source,
		.style = {open_memstream(&rig->out, &rig->out_size), rig->options.width,
			  rig->options.ascii, rig->options.color},
	};
	assert_non_null(rig->story.style.file);
	open_reader(rig);
	assert_int_equal(vs_analysis_init(&rig->story.analysis, &rig->story.source, &window), 0);
	assert_int_equal(
		vs_site_names_create(&rig->story.names, &rig->story.analysis.replay->definitions),
		0);
}

void story_rig_open_text(struct story_rig *rig)
{
	open_story(rig);
}

void story_rig_open_json(struct story_rig *rig)
{
	open_story(rig);
	rig->story.json = &rig->json;
	vs_json_init(&rig->json, rig->story.style.file);
	vs_json_begin_object(&rig->json, NULL);
}

void story_rig_look(struct story_rig *rig, struct vs_device_state *state)
{
	assert_int_equal(vs_device_state_init(state, &rig->story.analysis,
					      script_get_device(rig->story.analysis.replay),
					      rig->options.at, rig->options.at_ns),
			 0);
}

const char *story_rig_read(struct story_rig *rig)
{
	while (rig->json.depth)
		vs_json_end(&rig->json);
	fflush(rig->story.style.file);
	return rig->out;
}

void story_rig_close(struct story_rig *rig)
{
	vs_site_names_destroy(rig->story.names);
	vs_analysis_fini(&rig->story.analysis);
	vs_reader_close(rig->story.reader);
	fclose(rig->story.style.file);
	free(rig->out);
	rig->out = NULL;
}

void story_rig_fini(struct story_rig *rig)
{
	script_fini(&rig->script);
}

/* By the C library's own table: ours must not be narrower. */
void story_rig_assert_width(const char *text, size_t width)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL), before;
	mbstate_t state = {0};
	size_t column = 0, size;
	wchar_t c;

	assert_non_null(utf8);
	before = uselocale(utf8);
	for (; *text; text += size) {
		size = mbrtowc(&c, text, MB_LEN_MAX, &state);
		assert_in_range(size, 1, MB_LEN_MAX); /* well-formed */
		if (c == L'\n') {
			column = 0;
			continue;
		}
		assert_true(wcwidth(c) >= 0); /* not a control character */
		column += (size_t)wcwidth(c);
		assert_in_range(column, 0, width);
	}
	uselocale(before);
	freelocale(utf8);
}

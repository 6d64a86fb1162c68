#ifndef VS_STORY_H
#define VS_STORY_H

#include "analysis.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "reader.h"
#include "site_names.h"
#include "text.h"

/*
 * What report, peak, retained, frag and sites have in common: a trace that was opened and analysed,
 * and how to speak of times, devices and sites.
 */
struct vs_story {
	const char *path;
	const struct vs_options *options;
	struct vs_reader *reader;
	struct vs_source source;
	struct vs_trace_index *index; /* NULL: --no-index */
	struct vs_analysis analysis;
	struct vs_site_names *names;
	struct vs_text_style style;
	struct vs_reader_state state; /* after the last record */
	struct vs_json *json;         /* NULL: text */
	void *own;                    /* what the command keeps while it tells of its devices */
	void *context;                /* of vs_story_visit */
};

/* Tells one story, as text or JSON. 0 or a negative error. */
typedef int (*vs_story_teller)(struct vs_story *story);

/*
 * Parses the command line, then tells the story of each trace. Returns the exit status. JSON of one
 * trace is an object; of several an object with the array `traces`. schema: "vramscope.report/0".
 */
int vs_story_run(const struct vs_command *command, int argc, char **argv, const char *schema,
		 vs_story_teller tell);

/* The same with a command line that was read already. */
int vs_story_tell(struct vs_options *options, const char *schema, vs_story_teller tell);

/*
 * The same with one trace, for those who tell more than a list of stories. Text goes to `file`;
 * json: NULL, or where an object is open. Returns the exit status.
 */
int vs_story_visit(const struct vs_options *options, const char *path, FILE *file,
		   struct vs_json *json, vs_story_teller tell, void *context);

/*
 * The frame of most stories: headline or the trace's fields, then each device with its heading or
 * as an object of `devices`.
 */
typedef int (*vs_story_device_teller)(struct vs_story *story,
				      const struct vs_replay_device *device);
VS_MUST_CHECK int vs_story_tell_devices(struct vs_story *story, vs_story_device_teller tell);

/* Rows of a list: --top, or the command's own choice. */
size_t vs_story_get_top(const struct vs_story *story, size_t own);

/*
 * The devices that --device lets through and that were used; with `--at oom` those that ran out of
 * memory, if any did. *i starts at 0; NULL at the end.
 */
const struct vs_replay_device *vs_story_next_device(const struct vs_story *story, size_t *i);

/* The command line of the program, shell-like; or the trace's path. Terminated, cut to size. */
void vs_story_put_command(const struct vs_story *story, char *out, size_t size);

/* The trace's path as one would type it. Terminated, cut to size. */
void vs_story_put_path(const struct vs_story *story, char *out, size_t size);

/*
 * The first line of every text, and what must be known about the trace; of several traces, which
 * one it is.
 */
void vs_story_put_headline(const struct vs_story *story);

/* "GPU 1 NAME", when there are several. */
void vs_story_put_device(const struct vs_story *story, const struct vs_replay_device *device);

/* " at 4m 11s in backward of step 118" */
void vs_story_add_instant(struct vs_text_line *line, const struct vs_instant *instant);

/* The site of an account. Errors end the story. */
VS_MUST_CHECK int vs_story_add_site(struct vs_story *story, struct vs_text_line *line,
				    const struct vs_account *account);

/* Parts of JSON. The fields of a trace, of an instant, and of a site. */
void vs_story_put_json_trace(struct vs_story *story);
void vs_story_put_json_device(struct vs_story *story, const struct vs_replay_device *device);
void vs_story_put_json_instant(struct vs_story *story, const char *key,
			       const struct vs_instant *instant);
VS_MUST_CHECK int vs_story_put_json_site(struct vs_story *story, const struct vs_site *site,
					 uint32_t api);

#endif

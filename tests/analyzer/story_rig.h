#ifndef VS_STORY_RIG_H
#define VS_STORY_RIG_H

/*
 * A story whose records come from a script and whose words can be read: for tests of what reports
 * say. The trace on disk that it has a reader of holds no records, only the command.
 */
#include "device_state.h"
#include "script_trace.h"
#include "story.h"

struct story_rig {
	struct script script;
	struct script_trace trace; /* the command is "train" unless told otherwise */
	struct vs_options options; /* as without any option, 100 columns */
	struct vs_story story;
	struct vs_json json;
	char *out;
	size_t out_size;
};

/* Set up script, trace and options, then open. */
void story_rig_init(struct story_rig *rig);

/* Analyses the script; the story is told as text or as JSON, in an object that is begun. */
void story_rig_open_text(struct story_rig *rig);
void story_rig_open_json(struct story_rig *rig);

/* Opens the device at the instant that the options name; the caller's to fini. */
void story_rig_look(struct story_rig *rig, struct vs_device_state *state);

/* All that was said until now; valid until more is said. Ends what JSON was begun. */
const char *story_rig_read(struct story_rig *rig);

/* Back to before it was opened; and the end. */
void story_rig_close(struct story_rig *rig);
void story_rig_fini(struct story_rig *rig);

/* Each line at most `width` columns, whatever is in it: fails the test that calls it. */
void story_rig_assert_width(const char *text, size_t width);

#endif

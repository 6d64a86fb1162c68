#ifndef VS_PAGE_STORY_H
#define VS_PAGE_STORY_H

/* What a page says of one trace: docs/page-format.md, "The story". */
#include "story.h"

/* Where the page's parts gather: context of the story. */
struct vs_page_parts {
	FILE *file;
	uint32_t nr_traces; /* so far */
};

/*
 * A teller (story.h): the trace's members of the JSON object that is open, and its parts into the
 * file of story->context, which is a struct vs_page_parts.
 */
VS_MUST_CHECK int vs_page_story_tell(struct vs_story *story);

#endif

#ifndef VS_PAGE_TABLES_H
#define VS_PAGE_TABLES_H

/* The tables that the changes of a page refer to: docs/page-format.md, "Tables". */
#include "page_events.h"
#include "story.h"

/* Writes them as a part of the page. events: after its pass; replay: the one it made. */
VS_MUST_CHECK int vs_page_tables_put(struct vs_story *story, const struct vs_page_events *events,
				     const struct vs_replay *replay);

#endif

#ifndef VS_PAGE_FILE_H
#define VS_PAGE_FILE_H

/* Puts a page together: docs/page-format.md. Its fixed text is made of analyzer/page/ by the build.
 */
#include <stdio.h>

#include "error.h"

/* Made by analyzer/page/bundle.py: what stands before the story, between it and the parts, and
 * behind them. */
extern const char vs_page_bundle_head[];
extern const char vs_page_bundle_body[];
extern const char vs_page_bundle_tail[];

/*
 * story: JSON; parts: elements, read from its beginning. Nothing is left behind when it fails:
 * -VS_ERR_IO (see errno).
 */
VS_MUST_CHECK int vs_page_file_write(const char *path, const char *story, size_t story_size,
				     FILE *parts);

/* JSON as the text of an element: without blanks between its tokens, '<' escaped. */
void vs_page_file_put_json(FILE *file, const char *text, size_t size);

#endif

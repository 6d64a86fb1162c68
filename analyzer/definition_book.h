#ifndef VS_DEFINITION_BOOK_H
#define VS_DEFINITION_BOOK_H

#include "definitions.h"
#include "index_directory.h"
#include "reader.h"

/*
 * All definitions of a trace that has an index, read once for all replays that enter by it. Which
 * stacks are one site is known from the index, so their frames need not be looked at, and those of
 * a site are put together only when somebody asks for them: most are never asked for.
 */
struct vs_definition_book;

/* -VS_ERR_CORRUPT: they are not what the directory says; -VS_ERR_IO, -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_definition_book_create(struct vs_definition_book **book,
					    const struct vs_reader *reader,
					    const struct vs_index_directory *directory);
void vs_definition_book_destroy(struct vs_definition_book *book);

/*
 * The first definitions of the trace, into definitions that are new and are gone before the book:
 * as many as a replay has met after so many records.
 */
VS_MUST_CHECK int vs_definition_book_give(const struct vs_definition_book *book,
					  const struct vs_index_directory *directory,
					  uint64_t nr_records, uint64_t nr_definitions,
					  struct vs_definitions *definitions);

/* The frames of a site, which are missing in it. Without memory they stay so. */
void vs_definition_book_read_site(struct vs_definition_book *book, uint32_t site);

#endif

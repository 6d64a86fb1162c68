#ifndef VS_PAGE_OVERVIEW_H
#define VS_PAGE_OVERVIEW_H

/*
 * The first picture of a device: equal stretches of time, of each the most live and reserved bytes
 * and who had the live ones. docs/page-format.md, "The story".
 */
#include "analysis.h"

#define VS_PAGE_OVERVIEW_COLUMNS 512u
#define VS_PAGE_OVERVIEW_SITES   10u                           /* that are told apart */
#define VS_PAGE_OVERVIEW_GROUPS  (VS_PAGE_OVERVIEW_SITES + 1u) /* and all others together */

struct vs_page_column_level {
	uint64_t live;
	uint64_t reserved;
	uint64_t groups[VS_PAGE_OVERVIEW_GROUPS];
};

struct vs_page_overview {
	uint64_t from_ns; /* a little before the first event */
	uint64_t to_ns;   /* behind the last one */
	uint32_t sites[VS_PAGE_OVERVIEW_SITES];
	size_t nr_sites;
	uint64_t charged[VS_PAGE_OVERVIEW_GROUPS]; /* by now, in the middle of an event */
	uint32_t column;                           /* of the latest level */
	struct vs_page_column_level now;           /* after the latest event */
	struct vs_page_column_level columns[VS_PAGE_OVERVIEW_COLUMNS];
};

/* The sites are those with most bytes at the live peak. */
VS_MUST_CHECK int vs_page_overview_init(struct vs_page_overview *overview,
					const struct vs_analysis *analysis,
					const struct vs_replay_device *device);

/* A site has so many bytes more, or less. */
void vs_page_overview_charge(struct vs_page_overview *overview, uint32_t site, uint64_t size,
			     bool is_live);

/* After an event: what the device has from now on. Times never go back. */
void vs_page_overview_add(struct vs_page_overview *overview, uint64_t time_ns, uint64_t live,
			  uint64_t reserved);

/* Up to the end. */
void vs_page_overview_finish(struct vs_page_overview *overview);

#endif

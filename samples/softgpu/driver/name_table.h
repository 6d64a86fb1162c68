#ifndef SG_NAME_TABLE_H
#define SG_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Names numbered in the order they came, found by hash. Names are copied; a copy stays where it is
 * until the table goes. Readers of a table that no longer grows need no lock.
 */
struct sg_name_table {
	char **names;    /* by number */
	uint32_t *slots; /* number + 1, 0: empty; nr_slots is a power of two or 0 */
	uint32_t nr_names;
	uint32_t nr_slots;
	struct sg_name_chunk *chunks; /* where the copies live, newest first */
};

#define SG_NAME_TABLE_NONE UINT32_MAX

/* A zeroed table is an empty one. */
void sg_name_table_fini(struct sg_name_table *table);

/* The number of a name, SG_NAME_TABLE_NONE if it is not there. */
uint32_t sg_name_table_find(const struct sg_name_table *table, const char *name, size_t length);

/* The same, adding it if need be; SG_NAME_TABLE_NONE: out of memory, the table is as it was. */
uint32_t sg_name_table_add(struct sg_name_table *table, const char *name, size_t length);

#endif

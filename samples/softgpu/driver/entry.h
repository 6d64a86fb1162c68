#ifndef SG_ENTRY_H
#define SG_ENTRY_H

enum sg_entry_status {
	SG_ENTRY_FOUND,
	SG_ENTRY_UNKNOWN, /* no function of that name */
	SG_ENTRY_TOO_NEW, /* there is one, but none as old as the version asked for */
};

/*
 * The newest ABI of a function that is not newer than `version`. PyTorch asks for cuMemCreate with
 * 12000 and means that of 10020. With wants_per_thread the variant for the per-thread default
 * stream comes first, where there is one. *function is NULL unless found.
 */
enum sg_entry_status sg_entry_find(const char *name, int version, int driver_version,
				   int wants_per_thread, void **function);

#endif

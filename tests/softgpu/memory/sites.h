#ifndef SG_SITES_H
#define SG_SITES_H

#include "rig.h"

/*
 * Memory of every kind, each with a shadow: what a naive program thinks its bytes are. Tests of
 * copies and fills do everything twice, with CUDA and in the shadow, and compare.
 */
#define SITE_SIZE ((size_t)300 * 1024)

struct sg_site {
	const char *name;
	CUdeviceptr address;
	bool is_cuda; /* device calls take it */
	bool is_host; /* the program can use it itself */
	unsigned char *shadow;
};

enum {
	SITE_DEVICE,
	SITE_OTHER_DEVICE, /* of device 1 */
	SITE_POOL,
	SITE_MAPPED, /* across the end of one physical allocation and the start of another */
	SITE_MANAGED,
	SITE_PINNED,
	SITE_REGISTERED,
	SITE_PLAIN,
	NR_SITES
};

/* Two contexts and all sites, filled with different bytes. Contexts: of device 0, current; of 1. */
void sg_sites_create(struct sg_site sites[NR_SITES], CUcontext contexts[2]);
void sg_sites_destroy(struct sg_site sites[NR_SITES], CUcontext contexts[2]);

/* Fails the test unless all bytes are what the shadow says. */
void sg_sites_compare(const struct sg_site *site);

#endif

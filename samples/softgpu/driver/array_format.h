#ifndef SG_ARRAY_FORMAT_H
#define SG_ARRAY_FORMAT_H

#include "driver.h"

#define SG_MAX_PLANES 3

/*
 * What cuda.h says about the formats of arrays. The unit of a format is what its bytes come in: an
 * element, or a block of 4 x 4 elements where they are compressed. Formats of several planes have
 * no unit: each plane is an array of its own.
 */
struct sg_array_plane {
	CUarray_format format; /* 8 or 16 bits */
	unsigned nr_channels;
	unsigned divide_width; /* the extent of the array by these is that of the plane */
	unsigned divide_height;
};

struct sg_array_format {
	unsigned unit_size; /* bytes; 0: several planes */
	unsigned unit_side; /* elements in a row of the unit */
	unsigned nr_planes; /* 0: not planar */
	struct sg_array_plane planes[SG_MAX_PLANES];
};

/* False if there is no such format, or it cannot have that many channels. Any thread. */
bool sg_array_format_get(CUarray_format format, unsigned nr_channels,
			 struct sg_array_format *description);

#endif

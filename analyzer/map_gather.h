#ifndef VS_MAP_GATHER_H
#define VS_MAP_GATHER_H

#include "device_state.h"
#include "map.h"

/* Fills a map, which is initialised, from a device at an instant. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_map_gather_state(struct vs_map_state *map,
				      const struct vs_device_state *state);

#endif

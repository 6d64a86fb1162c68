#ifndef SG_DRIVER_H
#define SG_DRIVER_H

/*
 * What every file of the driver knows: the CUDA header under its real names, and the state that
 * cuInit makes.
 *
 * An exported function checks in this order, as the real driver does: initialised (cuInit called,
 * no fork since), context where one is needed, arguments; then it does its work. All device work is
 * finished when a call returns: streams keep order by never having anything outstanding.
 */
#define __CUDA_API_VERSION_INTERNAL /* cuda.h then declares all versions and renames none */
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include <stdbool.h>
#include <stdint.h>

#include "card.h"
#include "config.h"

#define SG_API       __attribute__((visibility("default")))
#define SG_MUST_USE  __attribute__((warn_unused_result))
#define SG_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* CUDA_SUCCESS, or why no call can be served: cuInit not called, or this is a child of fork(). */
CUresult sg_init_check(void);

/* The same, and that the ordinal names a visible device. */
CUresult sg_init_check_device(CUdevice device);

/* Number of devices after CUDA_VISIBLE_DEVICES. */
int sg_init_get_nr_devices(void);

/* Index on the card of a visible device: what the card, NVML, UUIDs and PCI ids count by. */
int sg_init_get_index(CUdevice device);

/* The card all devices are on. Valid once sg_init_check() succeeds. */
struct sg_card *sg_init_get_card(void);

/* A generated function calls this: says its name once (SOFTGPU_LOG), answers "not supported". */
CUresult sg_init_refuse_missing(const char *name, _Atomic int *said);

#endif

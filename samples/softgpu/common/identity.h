#ifndef SG_IDENTITY_H
#define SG_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "profile.h"

/*
 * What tells the devices of a card apart, the same in the driver and in NVML. Device numbers are
 * those of the card: CUDA_VISIBLE_DEVICES does not change them.
 */

/* PCI: domain 0, bus as returned, device 0, function 0. */
int sg_identity_get_pci_bus(int device);

/* The PCI device id of a profile with the vendor's: of nvmlPciInfo_t and CUDA's attribute. */
uint32_t sg_identity_get_pci_id(int device_id);

/* The bytes of CUuuid, and of the text "GPU-736f6674-6770-7500-0000-0000000000NN" of NVML. */
void sg_identity_get_uuid(int device, unsigned char uuid[16]);

/*
 * The same of the one MIG device that a partitioned device has ("MIG-736f6674-6770-7500-4d49-..."),
 * and its name: as large as all of the device.
 */
void sg_identity_get_mig_uuid(int device, unsigned char uuid[16]);
void sg_identity_format_mig_name(char *text, size_t size, const struct sg_profile *profile);

/* "GPU-" or "MIG-", the bytes in groups, and a NUL. */
#define SG_IDENTITY_UUID_TEXT 41
void sg_identity_format_uuid(char text[SG_IDENTITY_UUID_TEXT], const char *prefix,
			     const unsigned char uuid[16]);

#endif

#include "identity.h"

#include <stdio.h>
#include <string.h>

int sg_identity_get_pci_bus(int device)
{
	return device + 1; /* bus 0 belongs to the host bridge */
}

/* Whose interface this is; device id 0 is no product of theirs. */
uint32_t sg_identity_get_pci_id(int device_id)
{
	return (uint32_t)device_id << 16 | 0x10de;
}

void sg_identity_get_uuid(int device, unsigned char uuid[16])
{
	memset(uuid, 0, 16);
	memcpy(uuid, "softgpu", 7);
	uuid[15] = (unsigned char)(device + 1); /* never all zero */
}

void sg_identity_get_mig_uuid(int device, unsigned char uuid[16])
{
	sg_identity_get_uuid(device, uuid);
	memcpy(uuid + 8, "MIG", 3);
}

void sg_identity_format_mig_name(char *text, size_t size, const struct sg_profile *profile)
{
	const uint64_t gib = (uint64_t)1 << 30;
	uint64_t memory_size = profile->memory_size + profile->reserved_size;

	snprintf(text, size, "%s MIG 7g.%llugb", profile->name,
		 (unsigned long long)((memory_size + gib - 1) / gib));
}

void sg_identity_format_uuid(char text[SG_IDENTITY_UUID_TEXT], const char *prefix,
			     const unsigned char u[16])
{
	snprintf(text, SG_IDENTITY_UUID_TEXT,
		 "%.4s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix,
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

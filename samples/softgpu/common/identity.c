#include "identity.h"

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

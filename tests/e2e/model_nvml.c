/*
 * An NVML that is of no use: MODEL_NVML=hang, it never returns; refuse, it cannot be initialised;
 * nothing, it knows no device.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

static int is_told(const char *what)
{
	const char *value = getenv("MODEL_NVML");

	return value && !strcmp(value, what);
}

API int nvmlInit_v2(void);
API int nvmlInit_v2(void)
{
	while (is_told("hang"))
		sleep(1);
	return is_told("refuse") ? 9 : 0; /* NVML_ERROR_DRIVER_NOT_LOADED */
}

API int nvmlSystemGetDriverVersion(char *text, unsigned size);
API int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	strncpy(text, "model", size);
	return 0;
}

API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	(void)uuid;
	(void)device;
	return 6; /* NVML_ERROR_NOT_FOUND */
}

API int nvmlDeviceGetMemoryInfo(void *device, void *memory);
API int nvmlDeviceGetMemoryInfo(void *device, void *memory)
{
	(void)device;
	(void)memory;
	return 1;
}

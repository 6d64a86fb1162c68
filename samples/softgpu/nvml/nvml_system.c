#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "nvml_state.h"

/*
 * The first driver of each CUDA release, by the table in NVIDIA's release notes. Softgpu tells the
 * one of the newest release that is not above SOFTGPU_DRIVER_VERSION.
 */
static const struct {
	int cuda;
	const char *driver;
} drivers[] = {
	{13020, "595.45.04"}, {13010, "590.44.01"}, {13000, "580.65.06"}, {12090, "575.51.03"},
	{12080, "570.26"},    {12060, "560.28.03"}, {12050, "555.42.02"}, {12040, "550.54.14"},
	{12030, "545.23.06"}, {12020, "535.54.03"}, {12010, "530.30.02"}, {12000, "525.60.13"},
	{11080, "520.61.05"}, {11070, "515.43.04"}, {11060, "510.39.01"}, {11050, "495.29.05"},
	{11040, "470.42.01"}, {11030, "465.19.01"}, {11020, "460.27.03"}, {11010, "455.23"},
	{11000, "450.51.05"},
};

static const char *get_driver(void)
{
	size_t i = 0;

	while (i + 1 < sizeof(drivers) / sizeof(drivers[0]) &&
	       drivers[i].cuda > sg_config_get()->driver_version)
		i++;
	return drivers[i].driver;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	static const struct {
		nvmlReturn_t code;
		const char *text;
	} errors[] = {
#define SG_NVML_ERROR(code_, text_) {(code_), (text_)},
#include "nvml_errors.inc"
#undef SG_NVML_ERROR
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == result)
			return errors[i].text;
	return "An error that NVML does not know";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	nvmlReturn_t result = sg_nvml_state_check_init();

	if (result != NVML_SUCCESS)
		return result;
	return sg_nvml_state_put_text(version, length, get_driver());
}

/* Needs no initialisation. */
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE];

	snprintf(text, sizeof(text), "%d.%s", sg_config_get()->driver_version / 1000, get_driver());
	return sg_nvml_state_put_text(version, length, text);
}

nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *branchInfo,
				       unsigned int length)
{
	nvmlReturn_t result = sg_nvml_state_check_init();
	char text[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];

	if (result != NVML_SUCCESS)
		return result;
	if (!branchInfo)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (branchInfo->version != nvmlSystemDriverBranchInfo_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	snprintf(text, sizeof(text), "r%.3s_00", get_driver());
	if (length > sizeof(branchInfo->branch))
		length = sizeof(branchInfo->branch);
	return sg_nvml_state_put_text(branchInfo->branch, length, text);
}

/* Neither of these needs an initialisation. */
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *cudaDriverVersion)
{
	if (!cudaDriverVersion)
		return NVML_ERROR_INVALID_ARGUMENT;
	*cudaDriverVersion = sg_config_get()->driver_version;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *cudaDriverVersion)
{
	return nvmlSystemGetCudaDriverVersion(cudaDriverVersion);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	nvmlReturn_t result = sg_nvml_state_check_init();
	int saved = errno;
	char path[32];
	ssize_t n;
	int fd;

	if (result != NVML_SUCCESS)
		return result;
	if (!name || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		result = errno == EACCES ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_FOUND;
		errno = saved;
		return result;
	}
	/* The arguments follow the name behind its terminator; a long name is cut. */
	n = read(fd, name, length - 1);
	close(fd);
	errno = saved;
	if (n <= 0) /* a zombie, or a thread of the kernel */
		return NVML_ERROR_NOT_FOUND;
	name[n] = '\0';
	return NVML_SUCCESS;
}

static nvmlReturn_t answer_none(unsigned int *count)
{
	nvmlReturn_t result = sg_nvml_state_check_init();

	if (result != NVML_SUCCESS)
		return result;
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

/* S-class units, host interface cards and excluded devices: softgpu has none. */
nvmlReturn_t nvmlUnitGetCount(unsigned int *unitCount)
{
	return answer_none(unitCount);
}

nvmlReturn_t nvmlSystemGetHicVersion(unsigned int *hwbcCount, nvmlHwbcEntry_t *hwbcEntries)
{
	(void)hwbcEntries;
	return answer_none(hwbcCount);
}

/* Needs no initialisation, nor does the next. */
nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *deviceCount)
{
	if (!deviceCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*deviceCount = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGetExcludedDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info)
{
	(void)index;
	(void)info;
	return NVML_ERROR_INVALID_ARGUMENT;
}

#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "units.h"

/* ISO C knows no cast from a data pointer to a function's. */
#define TAKE(pointer, handle, name) (*(void **)(void *)&(pointer) = dlsym((handle), (name)))

/* ---- Driver: cuda.h, without depending on it ------------------------------------------------- */

struct driver {
	int (*get_version)(int *version);
	int (*init)(unsigned flags);
	int (*get_count)(int *count);
	int (*get_name)(char *name, int size, int device);
	int (*get_total)(size_t *bytes, int device);
	int (*find)(const char *name, void **function, int version, uint64_t flags, int *status);
};

/* softgpu says its name through its public door; no other driver knows the question. */
static bool is_simulated(const struct driver *driver)
{
	void *function = NULL;
	int status = 0;

	return driver->find && driver->find("softgpuIdentify", &function, 0, 0, &status) == 0 &&
	       function;
}

/* Lines: loaded VERSION SIMULATED INIT COUNT, then for each device: BYTES NAME. */
static void ask_driver(int out, void *unused)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);
	int version = 0, count = 0, error = -1;
	struct driver driver = {0};
	char name[128];
	size_t total;

	(void)unused;
	if (!handle) {
		dprintf(out, "missing %s\n", dlerror());
		return;
	}
	TAKE(driver.get_version, handle, "cuDriverGetVersion");
	TAKE(driver.init, handle, "cuInit");
	TAKE(driver.get_count, handle, "cuDeviceGetCount");
	TAKE(driver.get_name, handle, "cuDeviceGetName");
	TAKE(driver.get_total, handle, "cuDeviceTotalMem_v2");
	TAKE(driver.find, handle, "cuGetProcAddress_v2");
	if (driver.get_version)
		(void)driver.get_version(&version);
	if (driver.init)
		error = driver.init(0);
	if (!error && driver.get_count)
		error = driver.get_count(&count);
	dprintf(out, "loaded %d %d %d %d\n", version, is_simulated(&driver), error, count);
	for (int i = 0; i < count; i++) {
		total = 0;
		if (!driver.get_name || driver.get_name(name, sizeof(name), i))
			strcpy(name, "a device");
		if (driver.get_total)
			(void)driver.get_total(&total, i);
		dprintf(out, "%zu %s\n", total, name);
	}
}

/* "H100 80.0 GiB, ..." of the lines that follow the first. */
static void put_devices(char *out, size_t room, const char *lines)
{
	char size[VS_UNITS_MAX], name[128];
	size_t used = 0;
	uint64_t total;
	int got;

	out[0] = '\0';
	while ((lines = strchr(lines, '\n')) && used < room) {
		lines++;
		if (sscanf(lines, "%" SCNu64 " %127[^\n]", &total, name) != 2)
			break;
		got = snprintf(out + used, room - used, "%s%s %s", used ? ", " : "", name,
			       vs_units_put_bytes(size, total));
		used += got > 0 ? (size_t)got : 0;
	}
}

static void judge_driver(struct vs_doctor *doctor, const char *answer)
{
	static const char instead[] = "without a GPU: vramscope run --softgpu, or vramscope dryrun";
	int version = 0, simulated = 0, error = 0, count = 0;
	char devices[256], text[64];

	if (sscanf(answer, "loaded %d %d %d %d", &version, &simulated, &error, &count) != 4) {
		vs_doctor_add(doctor, VS_FINDING_BAD, "driver", instead,
			      "there is none: libcuda.so.1 cannot be loaded");
		return;
	}
	snprintf(text, sizeof(text), "for CUDA %d.%d", version / 1000, version % 1000 / 10);
	put_devices(devices, sizeof(devices), answer);
	if (error || !count)
		vs_doctor_add(doctor, VS_FINDING_BAD, "driver", instead,
			      "%s, but it finds no device (error %d)", text, error);
	else if (simulated)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "driver", NULL,
			      "simulated by softgpu, %s: %s", text, devices);
	else if (version < 11000)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "driver",
			      "a newer driver: vramscope was tried with CUDA 11 and newer",
			      "%s: %s", text, devices);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "driver", NULL, "%s: %s", text, devices);
}

/* ---- NVML ------------------------------------------------------------------------------------ */

static void ask_nvml(int out, void *unused)
{
	void *handle = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int (*get_version)(char *text, unsigned size) = NULL;
	int (*init)(void) = NULL;
	char version[80] = "";
	int error = -1;

	(void)unused;
	if (handle) {
		TAKE(init, handle, "nvmlInit_v2");
		TAKE(get_version, handle, "nvmlSystemGetDriverVersion");
	}
	if (init)
		error = init();
	if (!error && get_version && get_version(version, sizeof(version)))
		version[0] = '\0';
	dprintf(out, "%s %d %s\n", handle ? "loaded" : "missing", error, version);
}

static void judge_nvml(struct vs_doctor *doctor, bool has_answer, const char *answer)
{
	char version[80] = "of an unknown version";
	int error = -1;

	if (!has_answer)
		vs_doctor_add(
			doctor, VS_FINDING_NOTE, "NVML", "vramscope run --no-meminfo",
			"does not answer: the recorder would wait a quarter of a second for it, once");
	else if (sscanf(answer, "loaded %d %79s", &error, version) < 1)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "NVML",
			      "it comes with the driver (libnvidia-ml.so.1)",
			      "is missing: what contexts and other processes take will not be "
			      "known");
	else if (error)
		vs_doctor_add(doctor, VS_FINDING_NOTE, "NVML", NULL,
			      "cannot be used (error %d): what contexts and other processes take "
			      "will not be known",
			      error);
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "NVML", NULL, "%s", version);
}

/* ---- CUPTI ----------------------------------------------------------------------------------- */

/* The newest first; each major release has its soname, and 11 one for each minor. */
static const char *const cupti_names[] = {
	"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7",
	"libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3",
	"libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so",
};

static void ask_cupti(int out, void *unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(cupti_names) / sizeof(cupti_names[0]); i++) {
		if (!dlopen(cupti_names[i], RTLD_LAZY))
			continue;
		dprintf(out, "%s\n", cupti_names[i]);
		return;
	}
}

static void judge_cupti(struct vs_doctor *doctor, char *answer)
{
	answer[strcspn(answer, "\n")] = '\0';
	if (answer[0])
		vs_doctor_add(doctor, VS_FINDING_GOOD, "CUPTI", NULL, "%s", answer);
	else
		vs_doctor_add(doctor, VS_FINDING_NOTE, "CUPTI",
			      "part of the CUDA toolkit, and of the PyPI packages "
			      "nvidia-cuda-cupti...; its folder belongs into LD_LIBRARY_PATH",
			      "is not in the library path: calls that escape the hooks could not "
			      "be seen");
}

void vs_doctor_gpu_look(struct vs_doctor *doctor)
{
	char answer[4096];
	bool has_answer;

	if (vs_doctor_ask(answer, sizeof(answer), ask_driver, NULL))
		judge_driver(doctor, answer);
	else
		vs_doctor_add(doctor, VS_FINDING_BAD, "driver",
			      "see whether nvidia-smi works, and dmesg",
			      "libcuda.so.1 crashes or hangs when it is initialised");
	has_answer = vs_doctor_ask(answer, sizeof(answer), ask_nvml, NULL);
	judge_nvml(doctor, has_answer, answer);
	if (!vs_doctor_ask(answer, sizeof(answer), ask_cupti, NULL))
		answer[0] = '\0';
	judge_cupti(doctor, answer);
}

#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "call_tool.h"
#include "identity.h"
#include "log.h"
#include "note.h"

/* What cuInit leaves behind. `result` is stored last; until then nobody else reads the rest. */
static struct {
	pthread_once_t once;
	_Atomic int is_initialised; /* cuInit was called and succeeded */
	CUresult result;
	struct sg_card *card;
	int nr_devices;
	int index[SG_MAX_DEVICES]; /* of each visible device on the card */
} state = {.once = PTHREAD_ONCE_INIT};

static _Atomic int is_forked;

static void note_fork(void)
{
	/* As with a real GPU: a child cannot go on with its parent's device. */
	atomic_store(&is_forked, 1);
}

CUresult sg_init_check(void)
{
	if (!atomic_load_explicit(&state.is_initialised, memory_order_acquire) ||
	    atomic_load_explicit(&is_forked, memory_order_relaxed))
		return CUDA_ERROR_NOT_INITIALIZED;
	return CUDA_SUCCESS;
}

CUresult sg_init_check_device(CUdevice device)
{
	CUresult result = sg_init_check();

	if (result == CUDA_SUCCESS && (device < 0 || device >= state.nr_devices))
		result = CUDA_ERROR_INVALID_DEVICE;
	return result;
}

int sg_init_get_nr_devices(void)
{
	return state.nr_devices;
}

int sg_init_get_index(CUdevice device)
{
	return state.index[device];
}

struct sg_card *sg_init_get_card(void)
{
	return state.card;
}

CUresult sg_init_refuse_missing(const char *name, _Atomic int *said)
{
	if (!atomic_exchange(said, 1)) {
		sg_log_part(SG_LOG_MISSING, "%s is not supported", name);
		sg_note_add("missing %s", name);
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_mig_mode(void)
{
	return sg_config_get()->nvml_mode == SG_NVML_MIG;
}

/* A device, or its MIG device, as CUDA_VISIBLE_DEVICES may name it. */
static void format_uuid(char text[SG_IDENTITY_UUID_TEXT], int index, bool is_mig)
{
	unsigned char uuid[16];

	if (is_mig)
		sg_identity_get_mig_uuid(index, uuid);
	else
		sg_identity_get_uuid(index, uuid);
	sg_identity_format_uuid(text, is_mig ? "MIG-" : "GPU-", uuid);
}

/* "GPU-736f6674-..." or "MIG-..." or the start of it: the device of that UUID, or -1. */
static int find_uuid(const char *text, size_t length, int nr, bool is_mig)
{
	int found = -1;

	for (int i = 0; i < nr; i++) {
		char known[SG_IDENTITY_UUID_TEXT];

		format_uuid(known, i, is_mig);
		if (length <= strlen(known) && !strncasecmp(text, known, length)) {
			/* The start of two UUIDs names neither. */
			if (found >= 0)
				return -1;
			found = i;
		}
	}
	return found;
}

/*
 * "MIG-736f6674-...", or as older drivers have it: "MIG-GPU-736f6674-.../0/0", with the numbers of
 * the instances, of which there is one.
 */
static int find_mig(const char *text, size_t length, int nr)
{
	static const char instances[] = "/0/0";

	if (!is_mig_mode())
		return -1;
	if (length < 8 || strncasecmp(text + 4, "GPU-", 4) != 0)
		return find_uuid(text, length, nr, true);
	if (length != 4 + SG_IDENTITY_UUID_TEXT - 1 + strlen(instances) ||
	    strncmp(text + length - strlen(instances), instances, strlen(instances)) != 0)
		return -1;
	return find_uuid(text + 4, length - 4 - strlen(instances), nr, false);
}

static int parse_visible(const char *text, size_t length, int nr)
{
	char *end;
	long number;

	if (length >= 4 && !strncasecmp(text, "GPU-", 4))
		return find_uuid(text, length, nr, false);
	if (length >= 4 && !strncasecmp(text, "MIG-", 4))
		return find_mig(text, length, nr);
	number = strtol(text, &end, 10);
	if (end != text + length || end == text || number < 0 || number >= nr)
		return -1;
	return (int)number;
}

/*
 * CUDA_VISIBLE_DEVICES: a list of numbers and UUIDs; the first that names no device ends it, and
 * one that is named twice leaves none, as with the real driver.
 */
static void choose_devices(int nr)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");

	if (!text) {
		for (int i = 0; i < nr; i++)
			state.index[i] = i;
		state.nr_devices = nr;
		return;
	}
	while (*text && state.nr_devices < SG_MAX_DEVICES) {
		size_t space = strspn(text, " ");
		size_t length;
		int index;

		text += space;
		length = strcspn(text, ", ");
		index = parse_visible(text, length, nr);
		if (index < 0)
			return;
		for (int i = 0; i < state.nr_devices; i++) {
			if (state.index[i] == index) {
				state.nr_devices = 0;
				return;
			}
		}
		state.index[state.nr_devices++] = index;
		text += length;
		text += strspn(text, " ");
		if (*text == ',')
			text++;
	}
}

/* The card, for whoever reads the notes. */
static void note_card(const struct sg_config *config)
{
	const struct sg_profile *card = &config->profile;

	sg_note_add("card cc=%d sms=%d threads=%d memory=%llu context=%llu addresses=%s backing=%s "
		    "devices=%d profile=%s name=%s",
		    card->cc, card->nr_multiprocessors, card->threads_per_multiprocessor,
		    (unsigned long long)card->memory_size, (unsigned long long)card->context_size,
		    card->addresses == SG_ADDRESSES_CHUNKS ? "chunks" : "packed",
		    config->backing == SG_BACKING_ZERO ? "zero" : "exact", config->nr_devices,
		    card->key, card->name);
}

static void initialise(void)
{
	const struct sg_config *config = sg_config_get();

	state.result = CUDA_ERROR_NO_DEVICE;
	if (config->nr_devices == 0)
		return;
	state.card = sg_card_open(config->card, config);
	if (!state.card) {
		state.result = CUDA_ERROR_OPERATING_SYSTEM;
		return;
	}
	choose_devices(sg_card_get_nr_devices(state.card));
	if (state.nr_devices == 0)
		return;
	/* Of several partitions a process gets one, the first, as with the real driver. */
	if (is_mig_mode())
		state.nr_devices = 1;
	if (pthread_atfork(NULL, NULL, note_fork) != 0) {
		state.result = CUDA_ERROR_OUT_OF_MEMORY;
		return;
	}
	note_card(config);
	state.result = CUDA_SUCCESS;
	atomic_store_explicit(&state.is_initialised, 1, memory_order_release);
}

/*
 * CUDA_INJECTION64_PATH: the driver loads the library of a tool at the first cuInit and calls its
 * InitializeInjection. The tool may call us back, cuInit included.
 */
static void inject(void)
{
	static _Atomic int done;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*start)(void);
	void *library;

	if (atomic_exchange(&done, 1) || !path || !*path)
		return;
	library = dlopen(path, RTLD_NOW);
	start = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
	if (start)
		start();
	else
		sg_log_say("CUDA_INJECTION64_PATH=%s cannot be used: %s", path,
			   library ? "no InitializeInjection in it" : dlerror());
}

SG_API CUresult cuInit(unsigned int Flags)
{
	bool is_first;

	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load(&is_forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	inject();
	is_first = !atomic_load(&state.is_initialised);
	pthread_once(&state.once, initialise);
	if (is_first && state.result == CUDA_SUCCESS)
		sg_call_tool_report(SG_CALLS_INITIALISED, NULL, NULL);
	return state.result;
}

SG_API CUresult cuDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = sg_config_get()->driver_version;
	return CUDA_SUCCESS;
}

static const struct {
	int number;
	const char *name;
	const char *text;
} errors[] = {
#define SG_ERROR(number, driver_name, runtime_name, text) {number, driver_name, text},
#include "error_text.def"
#undef SG_ERROR
};

/* Index of the error, or -1 if the driver has none of that number. */
static int find_error(CUresult error)
{
	for (size_t i = 0; i < SG_LENGTH(errors); i++)
		if (errors[i].number == (int)error && errors[i].name)
			return (int)i;
	return -1;
}

SG_API CUresult cuGetErrorName(CUresult error, const char **pStr)
{
	int i = find_error(error);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = i < 0 ? NULL : errors[i].name;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SG_API CUresult cuGetErrorString(CUresult error, const char **pStr)
{
	int i = find_error(error);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = i < 0 ? NULL : errors[i].text;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/*
 * NVIDIA's own runtime and libraries ask for tables that no public header describes, and through
 * them for a proof that the driver is NVIDIA's. softgpu is not, has no such tables and gives no
 * such proof.
 */
SG_API CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	static _Atomic int said;

	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	if (!atomic_exchange(&said, 1))
		sg_log_say(
			"this program carries NVIDIA's own CUDA runtime, which runs only on "
			"NVIDIA's driver; build it with nvcc -cudart shared, or with -cudart none "
			"and libcudart_softgpu.a, to run it here");
	return CUDA_ERROR_NOT_FOUND;
}

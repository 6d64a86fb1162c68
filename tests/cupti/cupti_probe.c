/*
 * What the library makes of a libcupti, up to the point where there is no device: for
 * tests/matrix/cupti_releases.py. VRAMSCOPE_CUPTI_LIBRARY names the file.
 *
 *	library PATH
 *	version NUMBER            if it tells
 *	callback NUMBER NAME      each function of the driver that would be asked for
 *	missing NAME              each that this release does not have
 *	optional NAME             each function of CUPTI that this release does not have
 *	subscribe NUMBER NAME     what cuptiSubscribe answered
 */
#include <stdio.h>
#include <string.h>

#include "callback_numbers.h"
#include "callbacks.h"
#include "told_calls.h"

static const char *const functions[] = {
#define VS_HOOK(name, abi, symbol) #symbol,
#include "cuda_api.def"
};

#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static struct vs_cupti_library library;

/* The name a library has for a number, or the headers. */
static const char *get_name(uint32_t cbid)
{
	static const struct {
		const char *name;
		uint32_t cbid;
	} table[] = {
#define VS_HOOK(name, abi, symbol) {#symbol, CUPTI_DRIVER_TRACE_CBID_##symbol},
#include "cuda_api.def"
		{"cuMemHostAlloc_v2", CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2},
	};
	const char *name = NULL;

	if (library.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) == CUPTI_SUCCESS)
		return name;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].cbid == cbid)
			return table[i].name;
	return "unknown";
}

static void put_callbacks(void)
{
	bool is_found[NR_FUNCTIONS] = {false};

	for (uint32_t cbid = 1; cbid < VS_CALLBACKS_MAX; cbid++) {
		const char *name;

		if (vs_callbacks_get_function(cbid) == VS_TOLD_CALLS_NONE)
			continue;
		name = get_name(cbid);
		printf("callback %u %s\n", cbid, name);
		for (size_t i = 0; i < NR_FUNCTIONS; i++)
			if (!strcmp(functions[i], name))
				is_found[i] = true;
	}
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		if (!is_found[i] && vs_told_calls_find(functions[i]) != VS_TOLD_CALLS_NONE)
			printf("missing %s\n", functions[i]);
}

static void put_optional(void)
{
#define VS_CUPTI(member, symbol)
#define VS_CUPTI_OPTIONAL(member, symbol) \
	if (!library.member)              \
		printf("optional %s\n", #symbol);
#include "cupti_api.def"
}

int main(void)
{
	CUpti_SubscriberHandle subscriber = NULL;
	const char *text = NULL;
	uint32_t version = 0;
	CUptiResult result;
	char why[256];

	if (!vs_cupti_library_open(&library, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	printf("library %s\n", library.path);
	if (library.get_version(&version) == CUPTI_SUCCESS)
		printf("version %u\n", version);
	printf("learnt %u\n", vs_callbacks_learn(&library));
	put_callbacks();
	put_optional();
	fflush(stdout);
	result = library.subscribe(&subscriber, vs_callbacks_call, &library);
	if (library.get_result_text(result, &text) != CUPTI_SUCCESS || !text)
		text = "unknown";
	printf("subscribe %d %s\n", (int)result, text);
	return 0;
}

/*
 * Marks phases by NVTX, from its real header, and allocates in them. What NVTX returns is printed.
 *
 *	e2e_nvtx MODE [ARGUMENT]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#define MIB ((size_t)1 << 20)

static void *take(size_t size)
{
	void *memory = NULL;

	if (cudaMalloc(&memory, size) != cudaSuccess)
		exit(3);
	return memory;
}

static nvtxEventAttributes_t make_event(void)
{
	nvtxEventAttributes_t event;

	memset(&event, 0, sizeof(event));
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	return event;
}

static nvtxEventAttributes_t make_ascii(const char *text)
{
	nvtxEventAttributes_t event = make_event();

	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = text;
	return event;
}

static void mark_in_all_ways(void)
{
	nvtxEventAttributes_t event = make_ascii("epoch 2");

	nvtxMarkA("epoch 0");
	cudaFree(take(MIB));
	nvtxMarkW(L"epoch 1");
	cudaFree(take(2 * MIB));
	nvtxMarkEx(&event);
	cudaFree(take(3 * MIB));
}

/* Phases of one thread: all ways to name them, levels, and too many pops. */
static void run_stack(void)
{
	nvtxEventAttributes_t event = make_ascii("by event"), silent = make_event();
	void *kept;

	nvtxInitialize(NULL);
	printf("push %d", nvtxRangePushA("outer"));
	printf(" %d", nvtxRangePushW(L"gr\u00fc\u00dfe \u4f60"));
	cudaFree(take(MIB));
	printf(" pop %d", nvtxRangePop());
	printf(" push %d", nvtxRangePushEx(&event));
	kept = take(4 * MIB);
	printf(" pop %d", nvtxRangePop());
	nvtxRangePushEx(&silent);
	nvtxRangePop();
	printf(" pop %d", nvtxRangePop());
	printf(" none %s\n", nvtxRangePop() < 0 ? "negative" : "not negative");
	mark_in_all_ways();
	cudaFree(kept);
}

/* A domain has a stack of its own, here across that of the default one. */
static void run_domains(void)
{
	nvtxDomainHandle_t first = nvtxDomainCreateA("first");
	nvtxDomainHandle_t second = nvtxDomainCreateW(L"second");
	nvtxEventAttributes_t event = make_event(), plain = make_ascii("plain");

	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = nvtxDomainRegisterStringA(first, "registered");
	printf("push %d", nvtxDomainRangePushEx(first, &event));
	printf(" %d", nvtxRangePushA("default"));
	printf(" %d", nvtxDomainRangePushEx(first, &event));
	cudaFree(take(MIB));
	printf(" pop %d", nvtxRangePop()); /* below the domain's second one */
	cudaFree(take(2 * MIB));
	printf(" %d", nvtxDomainRangePop(first));
	printf(" %d\n", nvtxDomainRangePop(first));
	event.message.registered = nvtxDomainRegisterStringW(second, L"w\u00efde");
	nvtxDomainRangePushEx(second, &event);
	cudaFree(take(MIB));
	nvtxDomainRangePop(second);
	nvtxDomainRangeEnd(second, nvtxDomainRangeStartEx(second, &plain));
	nvtxDomainMarkEx(second, &plain);
	nvtxDomainDestroy(second);
	nvtxDomainDestroy(first);
}

static void *end_range(void *id)
{
	cudaFree(take(8 * MIB)); /* of a thread without phases, while main has one open */
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

/* A range that ends elsewhere, and memory that a helper takes. */
static void run_threads(void)
{
	nvtxRangeId_t early = nvtxRangeStartA("early"), id;
	pthread_t thread;

	nvtxRangePushA("backward");
	cudaFree(take(MIB));
	id = nvtxRangeStartA("across threads");
	if (pthread_create(&thread, NULL, end_range, &id) != 0)
		exit(3);
	pthread_join(thread, NULL);
	nvtxRangePop();
	nvtxRangeEnd(early);
	nvtxRangeEnd(12345678); /* nobody's */
}

static void run_deep(void)
{
	int i;

	for (i = 0; i < 200; i++)
		if (nvtxRangePushA(i % 2 ? "odd" : "even") != i)
			puts("wrong level");
	cudaFree(take(MIB));
	while (i-- > 0)
		if (nvtxRangePop() != i)
			puts("wrong level");
	nvtxRangePushA("after");
	cudaFree(take(2 * MIB));
	nvtxRangePop();
}

static void run_many(void)
{
	char name[32];
	int i;

	cudaFree(take(MIB));
	for (i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "name number %d of many", i);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	nvtxRangePushA("aten::mul, seq = 7, op_id = 8");
	cudaFree(take(MIB));
	nvtxRangePop();
}

/* Two libraries, each with its own instance of NVTX, around this one's. */
static void run_plugins(const char *folder)
{
	static const char *const names[] = {"e2e_nvtx_plugin_a", "e2e_nvtx_plugin_b"};
	void (*visit)(void (*inside)(void));
	char path[4096];
	size_t i;

	nvtxRangePushA("main");
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s.so", folder, names[i]);
		*(void **)&visit = dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), "plugin_visit");
		if (!visit)
			exit(3);
		visit(mark_in_all_ways);
	}
	nvtxRangePop();
}

/* No CUDA at all. */
static void run_quiet(void)
{
	printf("push %d", nvtxRangePushA("nothing"));
	printf(" pop %d\n", nvtxRangePop());
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "own tool")) {
		setenv("NVTX_INJECTION64_PATH", argv[2], 1);
		mode = "stack";
	}
	if (!strcmp(mode, "stack"))
		run_stack();
	else if (!strcmp(mode, "domains"))
		run_domains();
	else if (!strcmp(mode, "threads"))
		run_threads();
	else if (!strcmp(mode, "deep"))
		run_deep();
	else if (!strcmp(mode, "many"))
		run_many();
	else if (!strcmp(mode, "plugins"))
		run_plugins(argv[2]);
	else if (!strcmp(mode, "quiet"))
		run_quiet();
	else
		return 2;
	return 0;
}

/* Another tool for NVTX: counts pushes and pops, and says so when the program ends. */
#include <stdio.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

static int nr_pushes, nr_pops;

static int count_push(const char *message)
{
	(void)message;
	return nr_pushes++;
}

static int count_pop(void)
{
	return ++nr_pops;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned int size;

	if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
		return 0;
	*table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)count_push;
	*table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)count_pop;
	return 1;
}

__attribute__((destructor)) static void tell(void)
{
	printf("other tool: %d pushes, %d pops\n", nr_pushes, nr_pops);
	fflush(stdout);
}

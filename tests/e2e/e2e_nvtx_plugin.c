/* A library with an instance of NVTX of its own. */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) void plugin_visit(void (*inside)(void));

void plugin_visit(void (*inside)(void))
{
	nvtxRangePushA(PLUGIN_NAME);
	inside();
	nvtxRangePop();
}

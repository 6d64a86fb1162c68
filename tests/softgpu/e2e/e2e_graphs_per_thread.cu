/* The same program compiled for per-thread default streams, which can capture. */
#include "e2e_graphs.cu"

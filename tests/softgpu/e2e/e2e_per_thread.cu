/* The same program compiled for per-thread default streams, which has other names for many calls. */
#include "e2e_streams.cu"

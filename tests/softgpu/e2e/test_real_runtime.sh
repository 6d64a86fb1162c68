#!/usr/bin/env bash
# NVIDIA's own runtime on our driver, without the audit library: it finds no table to be had, and
# ends with a clean error at its first call. No further than that.
# shellcheck source=e2e_cases.sh
source "${BASH_SOURCE[0]%/*}/e2e_cases.sh"
make_only_driver

# refused PROGRAM: runs it; it must end by itself, with error 500 and one line that helps.
refused() {
	LD_LIBRARY_PATH=$only_driver run "$1"
	[[ $status == 0 ]] || fail "it did not end by itself: status $status"
	[[ $out == *"cudaFree 500"* ]] || fail "expected cudaFree to end with 500"
	[[ $out == *"cudaMalloc 500"*"cudaGetDeviceCount 500"* ]] || fail "and every later call"
	[[ $(grep -c '^softgpu: ' <<<"$err") == 1 ]] || fail "expected one line"
	[[ $err == *"NVIDIA's own CUDA runtime"*"-cudart shared"*"-cudart none"*"libcudart_softgpu.a"* ]] ||
		fail "expected a line that says how to rebuild"
}

test_shared_runtime_ends_with_symbol_not_found() {
	refused "$PROBE_REAL"
	grep -q "mapped $(realpath "$REAL_CUDART_DIR")/libcudart.so.13" <<<"$out" ||
		fail "this was not NVIDIA's runtime"
}

test_static_runtime_ends_with_symbol_not_found() {
	refused "$PROBE_REAL_STATIC"
	[[ $out != *libcudart* ]] || fail "this was not the static runtime"
}

test_line_comes_from_our_driver_when_nvidias_runtime_asks_for_a_table() {
	LD_LIBRARY_PATH=$only_driver run "$PROBE_REAL"
	[[ -n $err ]] || fail "expected a line"
	LD_LIBRARY_PATH=$STANDINS run "$PROBE_OURS"
	[[ $out == *"cudaFree 0"* && -z $err ]] || fail "our runtime never asks for one"
}

run_cases

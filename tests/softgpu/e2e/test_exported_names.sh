#!/usr/bin/env bash
# Every name of the real libraries is exported by ours; what is not written says so.
# shellcheck source=e2e_cases.sh
source "${BASH_SOURCE[0]%/*}/e2e_cases.sh"

test_driver_exports_every_name_of_the_stub_library() {
	local missing

	if [[ ! -e $REAL_CUDART_DIR/stubs/libcuda.so ]]; then
		echo "  left out: no stub libcuda.so here to compare with"
		exit 0
	fi
	exported "$REAL_CUDART_DIR/stubs/libcuda.so" >"$work/real"
	exported "$STANDINS/libcuda.so.1" >"$work/ours"
	(($(wc -l <"$work/real") > 400)) || fail "the stub library has too few names"
	missing=$(comm -23 "$work/real" "$work/ours")
	[[ -z $missing ]] || fail "not exported:"$'\n'"$missing"
}

test_runtime_exports_every_name_of_nvidias_in_its_version() {
	local missing

	if [[ ! -e $REAL_CUDART_DIR/libcudart.so.13 ]]; then
		echo "  left out: NVIDIA's libcudart.so.13 is not here to compare with"
		exit 0
	fi
	exported "$REAL_CUDART_DIR/libcudart.so.13" >"$work/real"
	exported "$STANDINS/libcudart.so.13" >"$work/ours"
	(($(wc -l <"$work/real") > 300)) || fail "NVIDIA's runtime has too few names"
	grep -q '^cudaMalloc@@libcudart.so.13$' "$work/real" || fail "nm shows no versions"
	missing=$(comm -23 "$work/real" "$work/ours")
	[[ -z $missing ]] || fail "not exported:"$'\n'"$missing"
}

test_every_symbol_of_the_runtime_has_the_version_of_nvidias() {
	out=$(exported "$STANDINS/libcudart.so.13" | grep -v '@@libcudart.so.13$')
	[[ -z $out ]] || fail "without the version libcudart.so.13"
}

test_nothing_but_api_names_is_exported() {
	out=$(exported "$STANDINS/libcuda.so.1" | grep -vE '^cu[A-Z]|^softgpuIdentify$')
	[[ -z $out ]] || fail "exported by the driver"
	out=$(exported "$STANDINS/libcudart.so.13" | grep -vE '^(__)?cuda[A-Z]')
	[[ -z $out ]] || fail "exported by the runtime"
	out=$(exported "$STANDINS/libnvidia-ml.so.1" | grep -vE '^nvml[A-Z]')
	[[ -z $out ]] || fail "exported by NVML"
}

test_unwritten_driver_functions_are_not_supported_and_silent() {
	refuses libcuda.so.1 801
	[[ -z $err ]] || fail "expected silence"
}

test_unwritten_driver_functions_name_themselves_once_with_a_log() {
	export SOFTGPU_LOG=1
	refuses libcuda.so.1 801
	said_once
}

test_unwritten_runtime_functions_are_not_supported_and_silent() {
	refuses libcudart.so.13 801
	[[ -z $err ]] || fail "expected silence"
}

test_unwritten_runtime_functions_name_themselves_once_with_a_log() {
	export SOFTGPU_LOG=1
	refuses libcudart.so.13 801
	said_once
}

test_unwritten_nvml_functions_are_not_supported_and_silent() {
	refuses libnvidia-ml.so.1 3 nvmlInit_v2
	[[ -z $err ]] || fail "expected silence"
}

test_unwritten_nvml_functions_name_themselves_once_with_a_log() {
	export SOFTGPU_LOG=1
	refuses libnvidia-ml.so.1 3 nvmlInit_v2
	said_once
}

run_cases

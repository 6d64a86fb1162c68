#!/usr/bin/env bash
# The runtime reaches its driver as NVIDIA's does: what it asks for, and by which doors.
# shellcheck source=e2e_cases.sh
source "${BASH_SOURCE[0]%/*}/e2e_cases.sh"
make_only_driver

need_real() {
	[[ -n $PROBE_REAL ]] && return
	echo "  left out: NVIDIA's runtime is not here to compare with"
	exit 0
}

need_observer() {
	[[ -n $DL_OBSERVER_LIBRARY ]] && return
	echo "  left out: a sanitizer wants to be preloaded before any observer"
	exit 0
}

test_memory_functions_are_asked_for_as_by_nvidias_runtime() {
	local missing

	need_real
	lookups "$PROBE_REAL" "$only_driver" >"$work/real"
	lookups "$PROBE_OURS" "$STANDINS" >"$work/ours"
	(($(wc -l <"$work/real") > 100)) || fail "NVIDIA's runtime asked for too little"
	missing=$(comm -23 "$work/real" "$work/ours")
	[[ -z $missing ]] || fail "ours does not ask for:"$'\n'"$missing"
}

test_no_other_version_of_a_memory_function_is_asked_for() {
	local extra

	need_real
	lookups "$PROBE_REAL" "$only_driver" >"$work/real"
	lookups "$PROBE_OURS" "$STANDINS" >"$work/ours"
	extra=$(comm -13 "$work/real" "$work/ours" | while read -r name rest; do
		! grep -q "^$name " "$work/real" || echo "$name $rest"
	done)
	[[ -z $extra ]] || fail "NVIDIA's runtime asks for other versions than:"$'\n'"$extra"
}

test_static_runtime_asks_the_same_as_the_shared_one() {
	lookups "$PROBE_OURS" "$STANDINS" >"$work/shared"
	lookups "$PROBE_OURS_STATIC" "$only_driver" >"$work/static"
	cmp -s "$work/shared" "$work/static" || fail "they differ"
	(($(wc -l <"$work/shared") > 100)) || fail "too few"
}

two_doors=$'dlopen libcuda.so.1\ndlsym cuGetProcAddress_v2'

test_shared_runtime_opens_one_library_and_asks_for_one_symbol() {
	need_observer
	out=$(doors "$PROBE_OURS" "$STANDINS" libcudart.so.13)
	[[ $out == "$two_doors" ]] || fail "expected: $two_doors"
}

test_static_runtime_opens_one_library_and_asks_for_one_symbol() {
	need_observer
	out=$(doors "$PROBE_OURS_STATIC" "$only_driver" "$(basename "$PROBE_OURS_STATIC")")
	[[ $out == "$two_doors" ]] || fail "expected: $two_doors"
}

test_observer_sees_the_same_doors_with_nvidias_runtime() {
	need_observer
	need_real
	out=$(doors "$PROBE_REAL" "$only_driver" libcudart.so.13 2>/dev/null)
	grep -q '^dlopen libcuda.so.1$' <<<"$out" || fail "no dlopen seen"
	grep -q '^dlsym cuGetProcAddress_v2$' <<<"$out" || fail "no dlsym seen"
}

test_strange_driver_is_refused() {
	LD_LIBRARY_PATH=$STRANGE_DRIVER_DIR:$STANDINS run "$PROBE_OURS"
	[[ $status == 0 ]] || fail "status $status"
	[[ $out == *"cudaFree 35"*"cudaMalloc 35"*"cudaGetDeviceCount 35"* ]] ||
		fail "expected cudaErrorInsufficientDriver (35) from each call"
	[[ $err == "softgpu: the softgpu runtime works with the softgpu driver only"* ]] ||
		fail "expected a line that says why"
	[[ $(wc -l <<<"$err") == 1 ]] || fail "expected one line"
}

test_strange_driver_is_asked_for_its_name_and_nothing_else() {
	STRANGE_DRIVER=1 LD_LIBRARY_PATH=$STRANGE_DRIVER_DIR:$STANDINS run "$PROBE_OURS"
	[[ $(grep '^strange' <<<"$err") == "strange: asked for softgpuIdentify" ]] ||
		fail "expected one question"
}

test_missing_driver_is_an_insufficient_one() {
	ln -sf "$STANDINS/libcudart.so.13" "$work/libcudart.so.13"
	LD_LIBRARY_PATH=$work run "$PROBE_OURS"
	if [[ $out == *"/libcuda.so.1"* ]]; then
		echo "  left out: this machine has a driver of its own"
		exit 0
	fi
	[[ $out == *"cudaFree 35"*"cudaGetDeviceCount 35"* ]] || fail "expected 35"
}

run_cases

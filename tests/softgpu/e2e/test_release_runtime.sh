#!/usr/bin/env bash
# A runtime of one release beside NVIDIA's of that release: names, versions, what it asks its driver
# for and by which doors. SONAME and NAMES are the release's; PROBE_OURS and PROBE_REAL are linked with
# the one and the other.
# shellcheck source=e2e_cases.sh
source "${BASH_SOURCE[0]%/*}/e2e_cases.sh"
make_only_driver

need_real() {
	[[ -n $PROBE_REAL ]] && return
	echo "  left out: NVIDIA's $SONAME is not here to compare with"
	exit 0
}

# names FILE: the names in it, in the version of this release.
names() {
	sed "s/\$/@@$SONAME/" "$1" | sort
}

test_library_has_the_name_that_programs_ask_for() {
	out=$(readelf -d "$STANDINS/$SONAME" | grep SONAME)
	[[ $out == *"[$SONAME]" ]] || fail "expected the soname $SONAME"
}

test_runtime_exports_what_is_listed_and_nothing_else() {
	(($(wc -l <"$NAMES") > 350)) || fail "too few names in the list"
	names "$NAMES" >"$work/listed"
	exported "$STANDINS/$SONAME" >"$work/ours"
	out=$(diff "$work/listed" "$work/ours") || fail "listed (<), exported (>)"
}

# The list of 13 is that of its newest; a program may have been linked with any.
test_list_has_the_names_of_nvidias_runtime() {
	need_real
	names "$NAMES" >"$work/listed"
	exported "$REAL_LIBRARY" >"$work/real"
	(($(wc -l <"$work/real") > 350)) || fail "NVIDIA's runtime has too few names"
	out=$(comm -23 "$work/real" "$work/listed")
	[[ -z $out ]] || fail "not in the list"
	((RELEASE < 13)) || exit 0
	out=$(comm -13 "$work/real" "$work/listed")
	[[ -z $out ]] || fail "in the list, but not NVIDIA's"
}

test_unwritten_functions_are_not_supported_and_silent() {
	refuses "$SONAME" 801
	[[ -z $err ]] || fail "expected silence"
}

test_program_runs_on_our_runtime() {
	LD_LIBRARY_PATH=$STANDINS run "$PROBE_OURS"
	[[ $out == *"cudaFree 0"*"cudaMalloc 0"*"cudaGetDeviceCount 0"* ]] || fail "calls failed"
	[[ $out == *"cudaRuntimeGetVersion 0 $RELEASE"* ]] || fail "expected version $RELEASE"
	[[ $out == *"mapped $(realpath "$STANDINS")/$SONAME"* ]] || fail "on another library"
	[[ -z $err ]] || fail "expected silence"
}

test_memory_functions_are_asked_for_as_by_nvidias_runtime() {
	need_real
	lookups "$PROBE_REAL" "$only_driver" >"$work/real"
	lookups "$PROBE_OURS" "$STANDINS" >"$work/ours"
	(($(wc -l <"$work/real") > 100)) || fail "NVIDIA's runtime asked for too little"
	out=$(diff "$work/real" "$work/ours") || fail "NVIDIA's (<) and ours (>) differ"
}

test_doors_are_those_of_nvidias_runtime() {
	local door=cuGetProcAddress_v2

	((RELEASE >= 12)) || door=cuGetProcAddress
	[[ -n $DL_OBSERVER_LIBRARY ]] || {
		echo "  left out: a sanitizer wants to be preloaded before any observer"
		exit 0
	}
	out=$(doors "$PROBE_OURS" "$STANDINS" "$SONAME")
	[[ $out == $'dlopen libcuda.so.1\ndlsym '$door ]] || fail "expected $door"
	need_real
	out=$(doors "$PROBE_REAL" "$only_driver" "$SONAME" 2>/dev/null | grep -E '^dlopen libcuda|cu[A-Z]')
	[[ $out == $'dlopen libcuda.so.1\ndlsym '$door ]] || fail "NVIDIA's asks otherwise"
}

test_nvidias_runtime_ends_with_a_clean_error_on_our_driver() {
	need_real
	LD_LIBRARY_PATH=$only_driver run "$PROBE_REAL"
	[[ $status == 0 ]] || fail "it did not end by itself: status $status"
	[[ $out == *"mapped $(realpath "$REAL_LIBRARY")"* ]] || fail "this was not NVIDIA's runtime"
	[[ $out == *"cudaFree 500"*"cudaMalloc 500"*"cudaGetDeviceCount 500"* ]] ||
		fail "expected cudaErrorSymbolNotFound (500) from each call"
	[[ $(grep -c '^softgpu: ' <<<"$err") == 1 && $err == *"NVIDIA's own CUDA runtime"* ]] ||
		fail "expected one line that says why"
}

test_missing_driver_is_an_insufficient_one() {
	ln -sf "$STANDINS/$SONAME" "$work/$SONAME"
	LD_LIBRARY_PATH=$work run "$PROBE_OURS"
	if [[ $out == *"/libcuda.so.1"* ]]; then
		echo "  left out: this machine has a driver of its own"
		exit 0
	fi
	[[ $out == *"cudaFree 35"*"cudaGetDeviceCount 35"* ]] || fail "expected 35"
}

test_driver_of_an_older_release_is_an_insufficient_one() {
	((RELEASE > 11)) || {
		echo "  left out: no driver of ours is older than 11"
		exit 0
	}
	export SOFTGPU_DRIVER_VERSION=$(((RELEASE - 1) * 1000 + 20))

	LD_LIBRARY_PATH=$STANDINS run "$PROBE_OURS"
	[[ $out == *"cudaFree 35"*"cudaGetDeviceCount 35"* ]] || fail "expected 35"
}

run_cases

#!/usr/bin/env bash
# The stand-ins of this build, not fakes: each one loads under the launcher and is what a program
# gets that asks for the library of a toolkit. STANDINS is their folder.
# shellcheck source=audit_cases.sh
source "${BASH_SOURCE[0]%/*}/audit_cases.sh"

STANDINS=$(realpath "${STANDINS:?}")
export SOFTGPU_LIBDIR=$STANDINS
for file in libcuda.so.1 libcudart.so.13; do
	[[ -e $STANDINS/$file ]] || {
		echo "$file is not built"
		exit 77
	}
done

test_each_standin_loads_by_its_name_and_in_place_of_any_path() {
	local file name nr_loaded=0

	for file in "$STANDINS"/lib*.so.*; do
		name=${file##*/}
		[[ $name != libnvToolsExt.so.1 ]] || continue # a spare, see below
		load "$name" "/nowhere/$name"
		expect_out "$name: $file untagged
/nowhere/$name: $file untagged"
		expect_err ""
		nr_loaded=$((nr_loaded + 1))
	done
	((nr_loaded >= 2)) || fail "only $nr_loaded stand-ins"
}

# By what path is the loader's affair: it believes to have found it in a folder of its own.
test_spare_loads_where_there_is_nothing_else() {
	ldconfig -p 2>/dev/null | grep -q libnvToolsExt && return
	load libnvToolsExt.so.1 /nowhere/libnvToolsExt.so.1
	[[ $out == "libnvToolsExt.so.1: "*" untagged
/nowhere/libnvToolsExt.so.1: not loaded" ]] || fail "expected the spare"
	expect_err ""
}

test_runtime_of_a_toolkit_is_replaced() {
	local real=${REAL_LIBRARIES:-/nowhere}/libcudart.so.13

	load "$real"
	expect_out "$real: $STANDINS/libcudart.so.13 untagged"
	expect_err ""
}

# Whatever file it is in, also one without a version: the soname inside counts, and each release has
# a stand-in of its own.
test_runtime_of_each_release_is_replaced_by_that_release() {
	local real soname hashed plain=$work/libcudart.so nr_loaded=0

	for real in $REAL_RUNTIMES; do
		soname=${real##*/}
		[[ -e $STANDINS/$soname ]] || continue
		hashed=$work/libcudart-0a1b2c3d.so.${soname#*.so.}
		cp "$real" "$hashed"
		cp "$real" "$plain"
		load "$soname" "$real" "$hashed" "$plain"
		expect_out "$soname: $STANDINS/$soname untagged
$real: $STANDINS/$soname untagged
$hashed: $STANDINS/$soname untagged
$plain: $STANDINS/$soname untagged"
		expect_err ""
		nr_loaded=$((nr_loaded + 1))
	done
	((nr_loaded > 0)) || echo "  left out: no runtime of NVIDIA's here"
}

# Of what has no stand-in nothing is loaded, next to those that have one.
test_mathematics_libraries_of_a_toolkit_are_replaced_or_refused() {
	local real soname nr_loaded=0

	for real in "${REAL_LIBRARIES:-/nowhere}"/lib{cublas,cublasLt,cudnn,cufft,cusolver,cusparse,nccl,nvrtc}.so.*; do
		soname=$(objdump -p "$real" 2>/dev/null | sed -n 's/^ *SONAME *//p')
		[[ -n $soname && -e $STANDINS/$soname ]] || continue
		load "$real"
		expect_out "$real: $STANDINS/$soname untagged"
		expect_err ""
		nr_loaded=$((nr_loaded + 1))
	done
	((nr_loaded > 0)) || echo "  left out: no library of NVIDIA's here"
	for real in "${REAL_LIBRARIES:-/nowhere}"/lib{nvblas,cufftw}.so; do
		[[ -e $real ]] || continue
		load "$real"
		expect_out "$real: not loaded"
		expect_err_with "softgpu: refused $real: NVIDIA's own"
	done
}

run_cases

#!/usr/bin/env bash
# What programs get when they ask for CUDA libraries under the launcher.
# shellcheck source=audit_cases.sh
source "${BASH_SOURCE[0]%/*}/audit_cases.sh"

test_without_launcher_the_foreign_library_is_loaded() {
	# Proves that the other cases could fail.
	out=$("$FIXTURES/audit_load" "$foreign/libcudart.so.13")
	expect_out "FOREIGN CODE RAN
$foreign/libcudart.so.13: $foreign/libcudart.so.13 foreign
FOREIGN FILE MAPPED"
}

test_absolute_path_gives_the_standin() {
	load "$foreign/libcudart.so.13"
	expect_out "$foreign/libcudart.so.13: $standins/libcudart.so.13 standin"
	expect_err ""
}

test_plain_name_gives_the_standin() {
	LD_LIBRARY_PATH=$foreign load libcudart.so.13 libcuda.so.1
	expect_out "libcudart.so.13: $standins/libcudart.so.13 standin
libcuda.so.1: $standins/libcuda.so.1 standin"
	expect_err ""
}

test_name_without_version_gives_the_newest_standin() {
	load libcuda.so libcudart.so /nowhere/libcuda.so
	expect_out "libcuda.so: $standins/libcuda.so.1 standin
libcudart.so: $standins/libcudart.so.13 standin
/nowhere/libcuda.so: $standins/libcuda.so.1 standin"
}

test_file_without_version_gives_the_standin_of_its_soname() {
	cp "$foreign/libcudart.so.12" "$foreign/libcudart.so"
	load "$foreign/libcudart.so"
	expect_out "$foreign/libcudart.so: $standins/libcudart.so.12 standin12"
	rm "$foreign/libcudart.so"
}

test_longer_version_gives_the_standin() {
	load libcudart.so.13.0.96 "$foreign/libcudart.so.12.8.90"
	expect_out "libcudart.so.13.0.96: $standins/libcudart.so.13 standin
$foreign/libcudart.so.12.8.90: $standins/libcudart.so.12 standin12"
}

# A name that is none of NVIDIA's: the program's own goes before ours.
test_spare_is_used_only_if_there_is_nothing_else() {
	cp "$standins/libcuda.so.1" "$standins/libspare.so.1"
	load libspare.so.1
	[[ $out == "libspare.so.1: "*" standin" ]] || fail "expected the spare"
	expect_err ""
	mkdir "$work/own"
	cp "$work/libharmless.so" "$work/own/libspare.so.1"
	LD_LIBRARY_PATH=$work/own load libspare.so.1
	expect_out "libspare.so.1: $work/own/libspare.so.1 harmless"
	load "$work/own/libspare.so.1"
	expect_out "$work/own/libspare.so.1: $work/own/libspare.so.1 harmless"
	rm -r "$standins/libspare.so.1" "$work/own"
}

test_hashed_name_gives_the_standin() {
	load libcudart-d0da41ae.so.13
	expect_out "libcudart-d0da41ae.so.13: $standins/libcudart.so.13 standin"
}

test_rpath_gives_the_standin() {
	softgpu "$FIXTURES/audit_linked"
	expect_out standin
	out=$("$FIXTURES/audit_linked")
	expect_out "FOREIGN CODE RAN
foreign"
}

test_bundled_library_with_a_standin_is_replaced_by_soname() {
	load "$foreign/libstrange.so"
	expect_out "$foreign/libstrange.so: $standins/libcudart.so.13 standin"
	expect_err ""
}

test_bundled_library_found_in_a_folder_is_replaced_by_soname() {
	LD_LIBRARY_PATH=$foreign load libstrange.so
	# The loader keeps the path it searched as the object's name; the code is the stand-in's.
	expect_out "libstrange.so: $foreign/libstrange.so standin"
	expect_err ""
}

test_foreign_library_is_refused_with_one_line() {
	load "$foreign/libcublas.so.13" "$foreign/libcublas.so.13"
	expect_out "$foreign/libcublas.so.13: not loaded
$foreign/libcublas.so.13: not loaded"
	expect_err "$(refusal "$foreign/libcublas.so.13" libcublas.so.13)"
	expect_status 0
}

test_foreign_library_in_the_search_path_is_refused() {
	LD_LIBRARY_PATH=$foreign load libcublas.so.13
	expect_out "libcublas.so.13: not loaded"
	# The search goes on: a toolkit may be installed, and gets a line of its own.
	expect_err_with "$(refusal "$foreign/libcublas.so.13" libcublas.so.13)"
}

test_foreign_library_under_a_hashed_name_is_refused() {
	load "$foreign/libcusparseLt-294d6944.so.0"
	expect_out "$foreign/libcusparseLt-294d6944.so.0: not loaded"
	expect_err "$(refusal "$foreign/libcusparseLt-294d6944.so.0" libcusparseLt.so.0)"
}

test_foreign_library_under_a_harmless_name_is_refused() {
	load "$foreign/libodd.so"
	expect_out "$foreign/libodd.so: not loaded"
	expect_err "$(refusal "$foreign/libodd.so" libcudnn.so.9)"
}

test_symbolic_link_to_a_foreign_library_is_refused() {
	load "$foreign/libalias.so"
	expect_out "$foreign/libalias.so: not loaded"
	expect_err "$(refusal "$foreign/libalias.so" libcublas.so.13)"
}

test_foreign_name_counts_without_a_soname() {
	cp "$work/libharmless.so" "$foreign/libcufft.so.12"
	load "$foreign/libcufft.so.12"
	expect_out "$foreign/libcufft.so.12: not loaded"
	expect_err "$(refusal "$foreign/libcufft.so.12" libcufft.so.12)"
	rm "$foreign/libcufft.so.12"
}

test_origin_in_a_name_is_seen_through() {
	cp "$FIXTURES/audit_load" "$foreign/audit_load"
	# The loader expands it, not the shell.
	# shellcheck disable=SC2016
	softgpu "$foreign/audit_load" '$ORIGIN/libodd.so' '${ORIGIN}/libstrange.so'
	rm "$foreign/audit_load"
	[[ $out == *"/libodd.so: not loaded"* ]] || fail "libodd.so was not refused"
	[[ $out == *"libstrange.so: $standins/libcudart.so.13 standin"* ]] ||
		fail "libstrange.so was not replaced"
	expect_err "$(refusal "$foreign/libodd.so" libcudnn.so.9)"
}

test_dlmopen_is_reported_where_it_cannot_be_refused() {
	# For the first library of a new namespace glibc asks no audit library where to search.
	load --space "$foreign/libodd.so"
	expect_err_with "softgpu: $foreign/libodd.so is NVIDIA's own libcudnn.so.9 and was loaded all the same"
}

test_other_libraries_are_left_alone() {
	load "$work/libharmless.so" "$work/libcudafoo.so.1" libm.so.6 /nowhere/libharmless.so
	[[ $out == "$work/libharmless.so: $work/libharmless.so harmless
$work/libcudafoo.so.1: $work/libcudafoo.so.1 harmless
libm.so.6: /"*"/libm.so.6 untagged
/nowhere/libharmless.so: not loaded" ]] || fail "something was changed"
	expect_err ""
}

test_missing_library_is_missing_without_a_word() {
	load libcublas.so.999 /nowhere/libcublas.so.13
	expect_out "libcublas.so.999: not loaded
/nowhere/libcublas.so.13: not loaded"
	expect_err ""
}

test_standin_by_another_path_is_ours() {
	ln -s "$standins/libcuda.so.1" "$work/liblink.so"
	load "$work/liblink.so"
	expect_out "$work/liblink.so: $work/liblink.so standin"
	expect_err ""
}

test_garbage_does_no_harm() {
	head -c 4096 /dev/urandom >"$work/libgarbage.so"
	head -c 100 "$foreign/libcublas.so.13" >"$work/libcut.so"
	load "$work/libgarbage.so" "$work/libcut.so" "$work"
	expect_out "$work/libgarbage.so: not loaded
$work/libcut.so: not loaded
$work: not loaded"
	expect_err ""
}

test_threads_get_the_same_answers() {
	load --threads "$foreign/libcudart.so.13" "$foreign/libcublas.so.13" "$work/libharmless.so" \
		"$foreign/libodd.so" libcuda.so
	[[ $out == *same ]] || fail "answers changed"
	# Two refused paths, two lines, however often they were asked for.
	[[ $(wc -l <<<"$err") == 2 ]] || fail "expected two lines on stderr"
}

# By env: the variable is for the program, not for the shell that the launcher is.
preload() {
	softgpu env LD_PRELOAD="$1" "$FIXTURES/audit_load" --global
}

test_preloaded_library_works() {
	preload "$work/libharmless.so"
	expect_out harmless
	expect_err ""
}

test_preloaded_foreign_library_is_replaced_or_refused() {
	preload "$foreign/libcudart.so.13"
	expect_out standin
	expect_err ""
	preload "$foreign/libodd.so"
	expect_out nobody
	expect_err_with "$(refusal "$foreign/libodd.so" libcudnn.so.9)"
}

test_other_audit_library_goes_on_working() {
	LD_AUDIT=$FIXTURES/libaudit_other.so load "$foreign/libcudart.so.13"
	expect_out "$foreign/libcudart.so.13: $standins/libcudart.so.13 standin"
	expect_err_with "other audit library is here"
}

test_foreign_library_mapped_behind_our_back_is_reported() {
	OTHER_AUDIT_ANSWER=$foreign/libodd.so LD_AUDIT=$FIXTURES/libaudit_other.so load libharmless.so
	[[ $out == *"FOREIGN CODE RAN"* ]] || fail "the other audit library did not have its way"
	expect_err_with "softgpu: $foreign/libodd.so is NVIDIA's own libcudnn.so.9 and was loaded all the same"
}

test_audit_library_finds_its_own_folder() {
	unset SOFTGPU_LIBDIR
	out=$(LD_AUDIT=$standins/libsoftgpu-audit.so "$FIXTURES/audit_load" libcuda.so)
	expect_out "libcuda.so: $standins/libcuda.so.1 standin"
}

test_missing_folder_is_reported_and_nothing_foreign_loaded() {
	out=$(SOFTGPU_LIBDIR=/nowhere LD_AUDIT=$standins/libsoftgpu-audit.so \
		"$FIXTURES/audit_load" "$foreign/libcudart.so.13" 2>"$work/stderr")
	err=$(<"$work/stderr")
	expect_out "$foreign/libcudart.so.13: not loaded"
	expect_err_with "softgpu: the folder of the stand-ins cannot be found"
	expect_err_with "$(refusal "$foreign/libcudart.so.13" libcudart.so.13)"
}

test_audit_library_needs_nothing_but_libc() {
	out=$(objdump -p "$AUDIT_LIBRARY" | sed -n 's/^ *NEEDED *//p')
	expect_out libc.so.6
}

test_real_libraries_of_a_toolkit_are_refused() {
	local file name refused=0

	for file in "${REAL_LIBRARIES:-/nowhere}"/lib{cublas,cublasLt,cudnn,cufft,nvrtc,nccl,cusparse}.so; do
		[[ -e $file ]] || continue
		name=${file##*/}
		load "$file"
		expect_out "$file: not loaded"
		expect_err_with "softgpu: refused $file: NVIDIA's own $name."
		refused=$((refused + 1))
	done
	echo "  $refused real libraries refused"
}

run_cases

#!/usr/bin/env bash
# `vramscope run --softgpu` and softgpu-run give a command the same environment.
#
# Expects also: LAUNCHER (softgpu-run), STANDINS (a folder with the stand-ins).
# shellcheck source=cli_cases.sh
source "${BASH_SOURCE[0]%/*}/cli_cases.sh"
: "${LAUNCHER:?}" "${STANDINS:?}"
export SOFTGPU_LIBDIR=$STANDINS

# The command's environment: what both set, with the one name that is always another.
show='env -0 | sort -z | tr "\0" "\n" | grep -Ev "^(_|LD_PRELOAD|SHLVL|TF_BFC_MEMORY_DUMP|VRAMSCOPE_.*)=" |
	sed -E "s/^(SOFTGPU_CARD=run)\.[0-9]+\.[0-9]+$/\1.PID.TIME/"'

# same_as OPTIONS-OF-SOFTGPU-RUN... -- OPTIONS-OF-RUN... -- COMMAND...
same_as() {
	local ours=() theirs=() expected

	while [[ $1 != -- ]]; do
		theirs+=("$1")
		shift
	done
	shift
	while [[ $1 != -- ]]; do
		ours+=("$1")
		shift
	done
	shift
	expected=$("$LAUNCHER" "${theirs[@]}" -- "$@")
	run "${ours[@]}" -- "$@"
	expect_out "$expected"
	expect_status 0
	[[ $out == *LD_AUDIT=* && $out == *SOFTGPU_CARD=* && $out == *GLIBC_TUNABLES=* &&
		$out == *TRITON_LIBCUDA_PATH=* ]] ||
		fail "the simulated GPU is not there"
}

test_plain() {
	same_as -- --softgpu -- bash -c "$show"
}

test_memory() {
	same_as -m 24G -- --softgpu=24G -- bash -c "$show"
	same_as -m 1.5GiB -- --softgpu=1.5GiB -- bash -c "$show"
	SOFTGPU_MEMORY=3G same_as -- --softgpu -- bash -c "$show"
	SOFTGPU_MEMORY=3G same_as -m 4096M -- --softgpu=4096M -- bash -c "$show"
}

test_profiles() {
	local card

	for card in rtx4090 rtx4090x2 h100-80gx8 b200,memory=4G a100-40gx3,cc=8.6,sms=98,shared-per-sm=64K \
		softgpu,addresses=packed,ecc=0,pci-id=0x2330; do
		same_as -p "$card" -- --softgpu="$card" -- bash -c "$show"
	done
	SOFTGPU_MEMORY=3G same_as -p t4 -- --softgpu=t4 -- bash -c "$show"
	SOFTGPU_PROFILE=t4 same_as -- --softgpu -- bash -c "$show"
}

test_same_cards_are_refused() {
	local card theirs

	for card in rtx5090 x2 t4x t4x17 t4x99999999999 t4, t4,, t4,x=1 t4,cc t4,cc= t4,cc=29 t4,cc=9.0 t4,cc=9.00 \
		t4,sms=0x10 t4,sms=0 t4,sms=0x t4,memory=1M t4,memory=2M t4,l2=2G t4,addresses=up t4,name= T4 \
		softgpu,memory=99999999999T; do
		"$LAUNCHER" -p "$card" true 2>/dev/null
		theirs=$?
		run --softgpu="$card" true
		[[ $status == "$theirs" ]] ||
			fail "'$card': softgpu-run ends with $theirs, run with $status"
	done
}

test_variables_of_the_user() {
	SOFTGPU_CARD=mine SOFTGPU_DEVICES=2 same_as -- --softgpu -- bash -c "$show"
	LD_AUDIT=/some/other.so same_as -- --softgpu -- bash -c "$show" 2>/dev/null
	LD_AUDIT=$STANDINS/libsoftgpu-audit.so same_as -- --softgpu -- bash -c "$show"
	GLIBC_TUNABLES=glibc.malloc.check=0 same_as -- --softgpu -- bash -c "$show"
	GLIBC_TUNABLES=glibc.rtld.optional_static_tls=99999 same_as -- --softgpu -- bash -c "$show"
	GLIBC_TUNABLES=glibc.malloc.check=0:glibc.rtld.optional_static_tls=99999 \
		same_as -- --softgpu -- bash -c "$show"
}

test_stand_ins_elsewhere() {
	cp "$STANDINS"/lib{softgpu-audit.so,cuda.so.1} .
	SOFTGPU_LIBDIR=. same_as -- --softgpu -- bash -c "$show"
}

# A program that carries ThreadSanitizer gets the larger reserve.
test_thread_sanitizer() {
	{
		cat "$(type -P bash)"
		printf '\0__tsan_init\0'
	} >tsan
	chmod +x tsan
	same_as -- --softgpu -- ./tsan -c "$show"
	[[ $out == *optional_static_tls=4194304* ]] || fail "the reserve is small"
	printf '#!/bin/bash\n# libtsan.so\n%s\n' "$show" >script
	chmod +x script
	same_as -- --softgpu -- ./script
	[[ $out == *optional_static_tls=65536* ]] || fail "the reserve is large"
}

test_each_run_has_a_card_of_its_own() {
	local first

	run --softgpu sh -c 'echo $SOFTGPU_CARD'
	first=$out
	run --softgpu sh -c 'echo $SOFTGPU_CARD'
	[[ $out =~ ^run\.[0-9]+\.[0-9]+$ && $out != "$first" ]] || fail "the card is $first"
}

# Not before the command is known to be there, and not for more than they are.
test_same_sizes_are_refused() {
	local size theirs

	for size in 1M 2097151 0 '' x 8X 8GG -1 1e3 9999999999G 0x10 ' 8G' 2M 2097152 8gib 1.9999M 2.T 512GB; do
		"$LAUNCHER" -m "$size" true 2>/dev/null
		theirs=$?
		run --softgpu="$size" true
		# Empty is "as it is" for us.
		[[ -n $size ]] || continue
		[[ $status == "$theirs" ]] || fail "'$size': softgpu-run ends with $theirs, run with $status"
	done
}

run_cases

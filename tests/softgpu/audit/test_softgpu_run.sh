#!/usr/bin/env bash
# The launcher: what it passes on, what it adds, and how it says no.
# shellcheck source=audit_cases.sh
source "${BASH_SOURCE[0]%/*}/audit_cases.sh"

# value NAME: of that variable in the environment that env printed to $out.
value() {
	sed -n "s/^$1=//p" <<<"$out"
}

expect_value() {
	[[ $(value "$1") == "$2" ]] || fail "expected $1=$2, got '$(value "$1")'"
}

expect_usage_error() {
	expect_status 2
	expect_out ""
	expect_err_with "$1"
}

test_exit_status_is_the_commands() {
	softgpu sh -c 'exit 37'
	expect_status 37
	softgpu true
	expect_status 0
}

test_stdin_and_stdout_and_stderr_pass_through() {
	softgpu sh -c 'cat; echo on stderr >&2' <<<"on stdin"
	expect_out "on stdin"
	expect_err "on stderr"
}

test_arguments_pass_through_untouched() {
	softgpu printf '<%s>' "a b" '' '*' -m --help --
	expect_out '<a b><><*><-m><--help><-->'
	softgpu -m 1G -- printf '<%s>' --memory=2G
	expect_out '<--memory=2G>'
}

test_command_is_the_very_process_so_signals_arrive() {
	local pid

	mkfifo "$work/in" "$work/ready"
	"$LAUNCHER" sh -c 'echo ready; exec cat' <"$work/in" >"$work/ready" &
	pid=$!
	exec 9>"$work/in"
	read -r out <"$work/ready"
	expect_out ready
	kill -TERM $pid
	wait $pid
	status=$?
	exec 9>&-
	expect_status 143
	softgpu sh -c 'kill -KILL $$'
	expect_status 137
}

test_process_id_stays() {
	local pid

	"$LAUNCHER" sh -c 'echo $$' >"$work/pid" &
	pid=$!
	wait $pid
	out=$(<"$work/pid")
	expect_out "$pid"
}

test_options_become_variables() {
	softgpu -m 8G -n 2 --cc 90 --backing zero --card mine --context 300M --log=lookups env
	expect_value SOFTGPU_MEMORY 8G
	expect_value SOFTGPU_DEVICES 2
	expect_value SOFTGPU_CC 90
	expect_value SOFTGPU_BACKING zero
	expect_value SOFTGPU_CARD mine
	expect_value SOFTGPU_CONTEXT 300M
	expect_value SOFTGPU_LOG lookups
}

test_options_can_be_written_in_several_ways() {
	softgpu -m8G -n2 --cc=9.0 --backing=auto --log env
	expect_value SOFTGPU_MEMORY 8G
	expect_value SOFTGPU_DEVICES 2
	expect_value SOFTGPU_CC 90
	expect_value SOFTGPU_BACKING auto
	expect_value SOFTGPU_LOG 1
	softgpu --memory=80GiB --devices 0 --cc 12.0 env
	expect_value SOFTGPU_MEMORY 80GiB
	expect_value SOFTGPU_DEVICES 0
	expect_value SOFTGPU_CC 120
}

test_variables_of_the_user_arrive() {
	SOFTGPU_MEMORY=3G SOFTGPU_PROFILE=some MINE='a  b' softgpu env
	expect_value SOFTGPU_MEMORY 3G
	expect_value SOFTGPU_PROFILE some
	expect_value MINE 'a  b'
	[[ -z $(value SOFTGPU_DEVICES)$(value SOFTGPU_BACKING)$(value SOFTGPU_LOG) ]] ||
		fail "something was made up"
	SOFTGPU_MEMORY=3G softgpu --memory 4G env
	expect_value SOFTGPU_MEMORY 4G
}

test_each_run_has_a_card_of_its_own() {
	local first second

	softgpu env
	first=$(value SOFTGPU_CARD)
	softgpu env
	second=$(value SOFTGPU_CARD)
	[[ $first =~ ^run\.[0-9]+\.[0-9]+$ ]] || fail "unexpected card name '$first'"
	[[ $first != "$second" ]] || fail "two runs share the card $first"
}

test_card_that_was_named_is_kept() {
	SOFTGPU_CARD=shared softgpu env
	expect_value SOFTGPU_CARD shared
	SOFTGPU_CARD=shared softgpu --card other env
	expect_value SOFTGPU_CARD other
}

test_run_in_a_run_shares_its_card_and_audits_once() {
	softgpu "$LAUNCHER" env
	expect_value LD_AUDIT "$standins/libsoftgpu-audit.so"
	expect_value GLIBC_TUNABLES glibc.rtld.optional_static_tls=65536
	softgpu --card outer "$LAUNCHER" env
	expect_value SOFTGPU_CARD outer
}

test_audit_library_of_the_user_is_kept() {
	LD_AUDIT=$FIXTURES/libaudit_other.so softgpu env
	expect_value LD_AUDIT "$standins/libsoftgpu-audit.so:$FIXTURES/libaudit_other.so"
}

test_tunables_of_the_user_are_kept() {
	GLIBC_TUNABLES=glibc.malloc.check=0:glibc.malloc.arena_max=2 softgpu env
	expect_value GLIBC_TUNABLES \
		glibc.malloc.check=0:glibc.malloc.arena_max=2:glibc.rtld.optional_static_tls=65536
	GLIBC_TUNABLES=glibc.malloc.check=0:glibc.rtld.optional_static_tls=8192 softgpu env
	expect_value GLIBC_TUNABLES glibc.malloc.check=0:glibc.rtld.optional_static_tls=8192
}

test_profile_becomes_variables() {
	softgpu -p rtx4090 env
	expect_value SOFTGPU_PROFILE rtx4090
	expect_value SOFTGPU_DEVICES ''
	softgpu --profile=rtx4090x2,memory=20G,threads-per-sm=1024,cc=8.6 env
	expect_value SOFTGPU_PROFILE rtx4090
	expect_value SOFTGPU_DEVICES 2
	expect_value SOFTGPU_MEMORY 20G
	expect_value SOFTGPU_THREADS_PER_SM 1024
	expect_value SOFTGPU_CC 86
	softgpu -ph200 -n 3 env
	expect_value SOFTGPU_PROFILE h200
	expect_value SOFTGPU_DEVICES 3
}

test_wrong_profiles_are_usage_errors_with_the_right_ones() {
	softgpu -p rtx5090 true
	expect_usage_error "'rtx5090' is none of the profiles softgpu, t4, "
	softgpu -p t4,size=1 true
	expect_usage_error "'size=1' is no FIELD=VALUE of these fields: addresses, blocks-per-sm, "
	softgpu -p t4,sms=none true
	expect_usage_error "sms: 'none' is not a number from 1 to 1024"
	softgpu -p t4,addresses=up true
	expect_usage_error "addresses: 'up' is none of chunks, packed"
	softgpu -p t4x17 true
	expect_usage_error "'17' is not a number from 0 to 16"
	softgpu --nvml docker true
	expect_usage_error "'docker' is neither normal, container, mig nor wsl"
}

test_nvml_becomes_a_variable() {
	softgpu --nvml wsl env
	expect_value SOFTGPU_NVML wsl
}

test_list_tells_profiles_and_fields() {
	softgpu --list
	expect_status 0
	[[ $out == *"h100-80g    NVIDIA H100 80GB HBM3"* ]] || fail "no h100-80g"
	[[ $out == *"shared-optin      SOFTGPU_SHARED_OPTIN"* ]] || fail "no shared-optin"
	rm "$SOFTGPU_LIBDIR/profiles.txt"
	softgpu --list
	expect_status 1
	expect_err_with "there is no $SOFTGPU_LIBDIR/profiles.txt"
	cp "$STANDINS/profiles.txt" "$SOFTGPU_LIBDIR"
}

test_wrong_values_are_usage_errors() {
	local size

	for size in '' x -1 8X 8GG 1e9 G .5G 8G8 0 1M 99999999T 600000T 99999999999999999999; do
		softgpu --memory "$size" true
		expect_usage_error "softgpu-run: --memory: '$size' is"
	done
	softgpu -n 17 true
	expect_usage_error "-n: '17' is not a number from 0 to 16"
	softgpu --devices=two true
	expect_usage_error "--devices: 'two' is not a number"
	softgpu --cc 9 true
	expect_usage_error "--cc: '9' is not"
	softgpu --backing half true
	expect_usage_error "--backing: 'half' is neither"
	softgpu --card a/b true
	expect_usage_error "--card: 'a/b' is not a name"
	softgpu --context big true
	expect_usage_error "--context: 'big' is not a size"
}

test_good_sizes_are_taken() {
	local size

	for size in 8G 8g 512M 2048k 80GiB 80GB 80Gib 1.5G 0.5T 4194304 4194304B 2M 1.9999999G 08G; do
		softgpu --memory "$size" true
		expect_status 0
		expect_err ""
	done
	softgpu --context 0 true
	expect_status 0
}

test_wrong_usage_is_said() {
	softgpu
	expect_usage_error "usage: softgpu-run"
	softgpu -m 8G
	expect_usage_error "usage: softgpu-run"
	softgpu -m
	expect_usage_error "-m needs a value"
	softgpu --wrong true
	expect_usage_error "--wrong: unknown option"
}

test_help_goes_to_stdout() {
	softgpu --help
	expect_status 0
	[[ $out == "usage: softgpu-run"* ]] || fail "no usage"
	expect_err ""
}

test_command_that_does_not_exist_is_127() {
	softgpu no-such-command-anywhere
	expect_status 127
	expect_err "softgpu-run: no-such-command-anywhere: command not found"
	softgpu /nowhere/command
	expect_status 127
	expect_err "softgpu-run: /nowhere/command: no such file"
}

test_command_that_cannot_be_executed_is_126() {
	echo "#!/bin/sh" >"$work/script"
	softgpu "$work/script"
	expect_status 126
	expect_err "softgpu-run: $work/script: not executable"
	softgpu "$work"
	expect_status 126
	expect_err "softgpu-run: $work: is a folder"
}

test_missing_standins_are_said() {
	mkdir "$work/empty"
	SOFTGPU_LIBDIR=$work/empty softgpu true
	expect_status 1
	expect_err_with "the stand-ins are not built, there is no $work/empty/libsoftgpu-audit.so: run ./dev build"
}

test_installed_launcher_finds_what_lies_beside_it() {
	unset SOFTGPU_LIBDIR
	mkdir -p "$work/prefix/bin" "$work/prefix/lib/vramscope"
	cp "$LAUNCHER" "$work/prefix/bin"
	cp -r "$standins" "$work/prefix/lib/vramscope/softgpu"
	LAUNCHER=$work/prefix/bin/softgpu-run load libcuda.so
	expect_out "libcuda.so: $work/prefix/lib/vramscope/softgpu/libcuda.so.1 standin"
	ln -s prefix/bin/softgpu-run "$work/link"
	LAUNCHER=$work/link load libcuda.so
	expect_out "libcuda.so: $work/prefix/lib/vramscope/softgpu/libcuda.so.1 standin"
	cd "$work/prefix/bin" || fail "no such folder"
	LAUNCHER=./softgpu-run load libcuda.so
	expect_out "libcuda.so: $work/prefix/lib/vramscope/softgpu/libcuda.so.1 standin"
}

test_launcher_in_the_source_tree_finds_the_stage() {
	unset SOFTGPU_LIBDIR
	mkdir -p "$work/tree/samples/softgpu" "$work/tree/build/stage/lib/vramscope"
	cp "$LAUNCHER" "$work/tree/samples/softgpu"
	cp -r "$standins" "$work/tree/build/stage/lib/vramscope/softgpu"
	LAUNCHER=$work/tree/samples/softgpu/softgpu-run load libcuda.so
	expect_out "libcuda.so: $work/tree/build/stage/lib/vramscope/softgpu/libcuda.so.1 standin"
}

test_relative_folder_of_standins_survives_a_change_of_folder() {
	cd "$work" || fail "no such folder"
	SOFTGPU_LIBDIR=standins softgpu sh -c "cd / && $FIXTURES/audit_load libcuda.so"
	expect_out "libcuda.so: $standins/libcuda.so.1 standin"
}

test_thread_sanitizer_program_starts() {
	if ! "$FIXTURES/audit_tsan" >/dev/null 2>&1; then
		echo "  left out: ThreadSanitizer programs do not run here at all"
		return
	fi
	softgpu "$FIXTURES/audit_tsan"
	expect_out "counted 4"
	expect_status 0
}

test_thread_with_a_small_stack_starts() {
	softgpu "$FIXTURES/audit_small_stack"
	expect_out "thread ran"
	expect_status 0
}

run_cases

# For the scripts beside it: a folder to work in and a way to say what is expected. A case is a
# function test_...; run_cases runs each in a subshell, in an empty folder.
#
# Expects in the environment: VRAMSCOPE (the program), FIXTURES (built programs, the stub).
# shellcheck shell=bash
set -u
: "${VRAMSCOPE:?}" "${FIXTURES:?}"

unset LD_AUDIT LD_PRELOAD LD_LIBRARY_PATH GLIBC_TUNABLES STUB_ALLOCS
unset "${!SOFTGPU_@}" "${!VRAMSCOPE_@}"
export VRAMSCOPE_LIBDIR=$FIXTURES/stub
export LC_ALL=C

work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

nothing_seen="vramscope: no CUDA call was seen, so nothing was recorded"

# run ARGUMENT...: vramscope run; output in $out, stderr in $err, exit status in $status.
run() {
	out=$("$VRAMSCOPE" run "$@" 2>"$work/stderr") && status=0 || status=$?
	err=$(<"$work/stderr")
}

fail() {
	printf '  line %s: %s\n' "${BASH_LINENO[1]}" "$1"
	[[ -z ${out:-} ]] || printf '  stdout: %s\n' "$out"
	[[ -z ${err:-} ]] || printf '  stderr: %s\n' "$err"
	exit 1
}

expect_out() {
	[[ $out == "$1" ]] || fail "expected on stdout: $1"
}

expect_err() {
	[[ $err == "$1" ]] || fail "expected on stderr: $1"
}

expect_status() {
	[[ $status == "$1" ]] || fail "expected exit status $1, got $status"
}

run_cases() {
	local name failed=0 ran=0

	while read -r _ _ name; do
		[[ $name == test_* ]] || continue
		ran=$((ran + 1))
		rm -rf "$work/here"
		mkdir "$work/here"
		if (cd "$work/here" && "$name"); then
			echo "ok      $name"
		else
			echo "FAILED  $name"
			failed=$((failed + 1))
		fi
	done < <(declare -F)
	echo "$ran cases, $failed failed"
	[[ $ran -gt 0 && $failed == 0 ]]
}

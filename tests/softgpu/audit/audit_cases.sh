# For the scripts beside it: a folder of stand-ins, a folder of libraries that must never be loaded,
# and a way to say what is expected. A case is a function test_...; run_cases runs all of them.
#
# Expects in the environment: LAUNCHER, AUDIT_LIBRARY, FIXTURES (built libraries
# and programs).
# shellcheck shell=bash
set -eu # for this file; a case decides for itself what a failure is

unset LD_AUDIT LD_PRELOAD LD_LIBRARY_PATH GLIBC_TUNABLES
unset "${!SOFTGPU_@}"
: "${LAUNCHER:?}" "${AUDIT_LIBRARY:?}" "${FIXTURES:?}"

work=$(realpath "$(mktemp -d)") # paths are compared with what the loader says
trap 'rm -rf "$work"' EXIT
standins=$work/standins
foreign=$work/foreign
mkdir "$standins" "$foreign"
cp "$AUDIT_LIBRARY" "$standins/libsoftgpu-audit.so"
cp "$FIXTURES"/standins/*/lib*.so.* "$standins"
[[ -z ${STANDINS:-} ]] || cp "$STANDINS/profiles.txt" "$standins"
cp "$FIXTURES"/foreign/*/lib*.so.* "$foreign"
cp "$FIXTURES"/harmless/*/lib*.so* "$work"
cp "$foreign/libcudnn.so.9" "$foreign/libodd.so"
cp "$foreign/libcudart.so.13" "$foreign/libstrange.so"
cp "$foreign/libcudart.so.12" "$foreign/libcudart.so.12.8.90"
ln -s libcublas.so.13 "$foreign/libalias.so"
export SOFTGPU_LIBDIR=$standins
set +e

# softgpu ARGUMENT...: runs the launcher; output in $out, stderr in $err, exit status in $status.
softgpu() {
	out=$("$LAUNCHER" "$@" 2>"$work/stderr") && status=0 || status=$?
	err=$(<"$work/stderr")
}

load() {
	softgpu "$FIXTURES/audit_load" "$@"
}

# Failures go to a file: cases run in subshells, so that none sees the variables of another.
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

expect_err_with() {
	[[ $err == *"$1"* ]] || fail "expected among stderr: $1"
}

expect_status() {
	[[ $status == "$1" ]] || fail "expected exit status $1, got $status"
}

# refusal PATH LIBRARY: the line that says so.
refusal() {
	echo "softgpu: refused $1: NVIDIA's own $2, and softgpu has no stand-in for it"
}

run_cases() {
	local name failed=0 ran=0

	while read -r _ _ name; do
		[[ $name == test_* ]] || continue
		ran=$((ran + 1))
		if ("$name"); then
			echo "ok      $name"
		else
			echo "FAILED  $name"
			failed=$((failed + 1))
		fi
	done < <(declare -F)
	echo "$ran cases, $failed failed"
	((ran > 0 && failed == 0))
}

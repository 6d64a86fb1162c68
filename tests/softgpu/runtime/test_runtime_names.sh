#!/usr/bin/env bash
# Every name NVIDIA's runtime exports is exported by ours, with its version, by the library and by
# the archive; and nothing of ours but such names.
set -euo pipefail
export LC_ALL=C # one order for sort and comm

exported() { # the CUDA names a shared library exports, with their versions
	"$NM" -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@@/@/' | grep -E '^(__)?cuda' | sort
}

fail() {
	echo "$1" >&2
	exit 1
}

ours=$(exported "$RUNTIME")
archive=$("$NM" --defined-only "$ARCHIVE" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' | sort)

[[ $(wc -l <<<"$ours") -gt 300 ]] || fail "the library exports next to nothing"
unversioned=$(grep -v '@libcudart\.so\.13$' <<<"$ours" || true)
[[ -z $unversioned ]] || fail "without the version libcudart.so.13: $unversioned"
leaked=$(grep -vE '^(__)?cuda' <<<"$archive" || true)
[[ -z $leaked ]] || fail "internals of the archive that could meet a program's: $leaked"
differing=$(comm -3 <(sed 's/@.*//' <<<"$ours" | sort) - <<<"$archive")
[[ -z $differing ]] || fail "in the library or in the archive, but not in both: $differing"

real=$REAL_LIBRARIES/libcudart.so.13
if [[ -z $REAL_LIBRARIES || ! -e $real ]]; then
	echo "no libcudart.so.13 of NVIDIA's to compare with"
	exit 77
fi
missing=$(comm -23 <(exported "$real") - <<<"$ours")
[[ -z $missing ]] || fail "exported by NVIDIA's runtime, not by ours: $missing"

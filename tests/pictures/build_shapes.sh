#!/bin/sh
# build_shapes.sh SOURCES OUT CC [CXX [CLANG]]: the programs that test_symbols looks at. They are
# never sanitized: their addresses and their inlining are what is tested.
set -eu
from=$1 out=$2 cc=$3 cxx=${4:-} clang=${5:-}
cflags="-D_GNU_SOURCE -O2 -Wl,--build-id"

rm -rf "$out"
mkdir -p "$out"
cd "$out" # no compiler writes its .dwo files elsewhere
make_c() { # NAME FLAGS...: compiler in $with
	name=$1
	shift
	# shellcheck disable=SC2086
	$with $cflags "$@" "$from/shapes_program.c" "$from/shapes_probe.c" -o "$name"
}

with=$cc
make_c pie -g -fPIE -pie
make_c fixed -g -fno-pie -no-pie
make_c dwarf4 -g -gdwarf-4
make_c split -g -gsplit-dwarf
make_c compressed -g -gz
make_c nothing -s
make_c table -g0
make_c noid -g -Wl,--build-id=none
make_c longid -g -Wl,--build-id=0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627
if [ -n "$clang" ]; then
	with=$clang
	make_c clang -g
fi

# Stripped, its debug information in a folder by build-id.
cp pie separate
id=$(readelf -n separate | sed -n 's/.*Build ID: //p')
folder=debug/$(echo "$id" | cut -c1-2)
mkdir -p "$folder"
objcopy --only-keep-debug separate "$folder/$(echo "$id" | cut -c3-).debug"
strip separate

# Runs as it was, then becomes another file.
cp fixed changed

$cc $cflags -g -fPIC -shared "$from/shapes_library.c" "$from/shapes_probe.c" -o libshapes.so
$cc $cflags -g -DWITH_LIBRARY "$from/shapes_program.c" libshapes.so -Wl,-rpath,"\$ORIGIN" -o library
$cc $cflags -s -fPIC -shared "$from/shapes_library.c" "$from/shapes_probe.c" \
	-Wl,-soname,libbare.so -o libbare.so
$cc $cflags -g -DWITH_LIBRARY "$from/shapes_program.c" libbare.so -Wl,-rpath,"\$ORIGIN" -o bare

if [ -n "$cxx" ]; then
	$cc -D_GNU_SOURCE -O2 -c "$from/shapes_probe.c" -o probe.o
	$cxx -g -O2 "$from/shapes_classes.cc" probe.o -Wl,--build-id -o classes
	$cxx -O2 "$from/shapes_classes.cc" probe.o -Wl,--build-id -o classes_table
fi
touch done

# What the scripts run-NAME share, which build and run a unit test of code for the
# server, NAME or a part of it being the test's name.  No server runs.  To be sourced
# with the script's arguments; it sets variables and functions.
#
# usage: run-NAME PG_SRC PG_CONFIG BUILD_DIR
#        PG_SRC     the pristine source tree
#        PG_CONFIG  that of a patched server from scripts/build-postgresql

[ $# -eq 3 ] || { echo "usage: ${0##*/} PG_SRC PG_CONFIG BUILD_DIR" >&2; exit 2; }
unset CDPATH
name=${0##*/run-} stock=$1 pg_config=$2 build=$3
top=$(cd "$(dirname "$0")/../.." && pwd)
# where build-postgresql has the source of what it has installed
patched=$(cd "$(dirname "$(realpath "$pg_config")")/../.." && pwd)/src
include=$("$pg_config" --includedir-server)
mkdir -p "$build"

# For a test of the extension, which is linked with what it needs and no more.
sanitize=(-fsanitize=address,undefined -fno-sanitize-recover=all)
flags=(-std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare
	-Wno-missing-field-initializers -ffunction-sections -fdata-sections -Wl,--gc-sections
	-I"$top/pg-patch/redoahead" -I"$top/userspace" -I"$top/tests/unit" -I"$include")

# Run a test of the server plain, under sanitizers, and on emulated CPUs where the tools
# for that are: 64-bit ARM, and s390x, which is big-endian; the slow ones with a third of
# the pages.  The script's make_program NAME OPTION... makes a program.
run_everywhere() {			# PAGES WHAT-NEON-DOES WHAT-BIG-ENDIAN-MACHINES-DO
	local status=0
	make_program plain
	"$build/plain" plain "$1" || status=1
	make_program sanitized -O1 "${sanitize[@]}"
	"$build/sanitized" sanitized $(($1 / 3)) || status=1
	run_emulated aarch64 arm64 "64-bit ARM" "$2" $(($1 / 3)) || status=1
	run_emulated s390x s390x s390x "$3" $(($1 / 3)) -DWORDS_BIGENDIAN || status=1
	return "$status"
}

run_emulated() {			# CPU DEBIAN'S-NAME NAME WHAT PAGES OPTION...
	local cpu=$1 debian=$2 name=$3 what=$4 pages=$5 missing=
	shift 5
	command -v "qemu-$cpu" >/dev/null || missing="qemu-$cpu is missing; install qemu-user"
	command -v "$cpu-linux-gnu-gcc" >/dev/null ||
		missing="$cpu-linux-gnu-gcc is missing; install gcc-$cpu-linux-gnu and libc6-dev-$debian-cross"
	if [ -n "$missing" ]; then
		echo "ok - $name: $what # skip $missing"
		echo 1..1
		return
	fi
	CC=$cpu-linux-gnu-gcc make_program "$debian" -static "$@"
	"qemu-$cpu" "$build/$debian" "$name" "$pages"
}

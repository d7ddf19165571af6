# What tests need of the machine: a directory for benchmarks, and functions that each
# skip a test where something is missing, with the reason.

. "$BATS_TEST_DIRNAME/lib/common.bash"

scripts=$BATS_TEST_DIRNAME/../../scripts

# Of a file: a directory for clusters, and for arrays of modelled disks.
setup_file() {
	REDOAHEAD_BENCH_DIR=$(mktemp -d /var/tmp/redoahead-machine.XXXXXX)
	export REDOAHEAD_BENCH_DIR
	chmod 755 "$REDOAHEAD_BENCH_DIR"
}

teardown_file() {
	local lab
	for lab in disklab disks-lab; do
		"$scripts/disklab" down --force --dir "$REDOAHEAD_BENCH_DIR/$lab" >/dev/null 2>&1 || true
	done
	rm -rf --one-file-system "$REDOAHEAD_BENCH_DIR"
}

# Skip where an array of modelled disks cannot be made.
need_disks() {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	[ -c /dev/fuse ] || skip "there is no /dev/fuse"
	[ -c /dev/loop-control ] || skip "there is no /dev/loop-control"
	grep -qw btrfs /proc/filesystems || modprobe -q btrfs 2>/dev/null ||
		skip "the kernel has no btrfs"
	command -v mkfs.btrfs >/dev/null || skip "mkfs.btrfs is not installed"
	[ -x "$scripts/../build/diskmodel" ] || skip "build/diskmodel is not built"
}

# Skip where a Python expression about the scripts' modules gives a reason to.
need() {					# MODULES EXPRESSION
	local reason
	reason=$(python <<<"from bench import $1; print($2 or '')")
	[ -z "$reason" ] || skip "$reason"
}

# Skip where no file system that compresses can be made.
need_btrfs() { need 'compressed, loop' 'compressed.missing("zstd") or loop.missing("/var/tmp")'; }

# Skip where memory cannot be limited.
need_memory_cgroup() {
	[ "$(id -u)" -eq 0 ] || skip "must be root to make a cgroup"
	need recoveries 'recoveries.limit_missing()'
}

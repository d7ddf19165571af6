#!/usr/bin/env bats
# What scripts/compare-clusters takes for a difference, and what not.  The
# clusters are made of a few hand-made pages: no server is needed.

bats_require_minimum_version 1.5.0

setup() {
	compare=$BATS_TEST_DIRNAME/../../scripts/compare-clusters
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/redoahead-compare.XXXXXX")
	a=$work/a b=$work/b
	make_cluster "$a"
	cp -a "$a" "$b"
}

teardown() {
	rm -rf "$work"
}

# A data directory, shut down, with two databases, a tablespace and an SLRU.
# A page has pd_lower 100, pd_upper 8000 and pd_special 8192.
make_cluster() {			# DIRECTORY
	python3 - "$1" <<-'EOF'
	import os, struct, sys

	def write(name, data):
	    path = os.path.join(sys.argv[1], name)
	    os.makedirs(os.path.dirname(path), exist_ok=True)
	    with open(path, 'wb') as file:
	        file.write(data)

	header = struct.pack('<QHHHHHHI', 1, 0xABCD, 0, 100, 8000, 8192, 8196, 0)
	page = header + b'p' * 76 + bytes(7900) + b't' * 192
	write('global/pg_control', struct.pack('<QIII', 1, 1800, 202506291, 1))
	for name in ('global/1262', 'base/1/2619', 'base/5/16384', 'base/5/16384.1', 'base/5/16384_vm',
	             'base/5/16384_fsm', 'base/5/20000', 'base/5/20000_init', 'base/5/t3_900',
	             'pg_tblspc/17000/PG_18_202506291/5/17001'):
	    write(name, page * 300)
	brin = struct.pack('<QHHHHHHI', 1, 0, 0, 24, 8184, 8184, 8196, 0)
	write('base/5/30000', brin + b'r' * 8160 + struct.pack('<HHHH', 0, 0, 0, 0xF092))
	write('base/5/pg_filenode.map', b'm' * 512)
	write('base/5/pg_internal.init', b'i' * 512)
	write('pg_xact/0000', b'x' * 8192)
	EOF
}

# Overwrite one byte.
poke() {					# FILE OFFSET
	printf '!' | dd of="$b/$1" bs=1 seek="$2" conv=notrunc status=none
}

same() {
	run "$compare" "$a" "$b"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == identical:* ]]
}

different() {				# TEXT : what must be told
	run "$compare" "$a" "$b"
	[ "$status" -eq 1 ]
	[[ $output == *"$1"* ]]
	[[ ${lines[-1]} == DIFFERENT:* ]]
}

@test "a copy is identical, and all of it is counted" {
	same
	[[ $output == *"identical: 11 files and 2403 blocks compared"* ]]
}

@test "a byte in a tuple is found, with its block" {
	poke base/5/16384 $((8192 * 200 + 8100))
	different "base/5/16384: 1 blocks differ (200)"
}

@test "a byte in the line pointers, or in the LSN, is found" {
	poke base/5/16384 $((8192 * 3 + 50))
	poke base/5/16384.1 7
	different "base/5/16384: 1 blocks differ (3)"
	[[ $output == *"base/5/16384.1: 1 blocks differ (0)"* ]]
}

@test "a byte in the hole is ignored" {
	poke base/5/16384 $((8192 * 3 + 100))
	poke base/5/16384 $((8192 * 4 + 7999))
	same
	[[ $output == *" 2 blocks differ in the hole only"* ]]
}

@test "the checksum is ignored if holes differ, and only then" {
	poke base/5/16384 $((8192 * 3 + 200))
	poke base/5/16384 $((8192 * 3 + 8))
	same
	poke base/5/16384 $((8192 * 4 + 8))
	different "base/5/16384: 1 blocks differ (4)"
}

@test "a different hole is a difference" {
	poke base/5/16384 $((8192 * 3 + 12))
	different "base/5/16384: 1 blocks differ (3)"
}

@test "what looks like a hole counts in a visibility map and in a BRIN range map" {
	poke base/5/16384_vm 4000
	poke base/5/30000 4000
	different "base/5/16384_vm: 1 blocks differ (0)"
	[[ $output == *"base/5/30000: 1 blocks differ (0)"* ]]
}

@test "a missing file is found on either side" {
	rm "$b/base/1/2619" "$a/base/5/16384.1"
	different "base/1/2619: only in $a"
	[[ $output == *"base/5/16384.1: only in $b"* ]]
}

@test "a truncated file is found, even by a block" {
	truncate -s -8192 "$b/base/5/16384"
	different "base/5/16384: 2457600 bytes against 2449408"
}

@test "a block of zeroes more is found" {
	truncate -s +8192 "$b/global/1262"
	different "global/1262: 2457600 bytes against 2465792"
}

@test "tablespaces, SLRUs and relation maps are compared" {
	poke pg_tblspc/17000/PG_18_202506291/5/17001 8100
	poke pg_xact/0000 5000
	poke base/5/pg_filenode.map 100
	different "pg_tblspc/17000/PG_18_202506291/5/17001: 1 blocks differ (0)"
	[[ $output == *"pg_xact/0000: 1 blocks differ (0)"* ]]
	[[ $output == *"base/5/pg_filenode.map: 1 blocks differ (0)"* ]]
}

@test "unlogged and temporary relations and caches are not compared" {
	poke base/5/20000 8100
	poke base/5/t3_900 8100
	poke base/5/pg_internal.init 8
	same
	poke base/5/20000_init 8100
	different "base/5/20000_init"
}

@test "a free space map may differ, and is told" {
	poke base/5/16384_fsm 5000
	same
	[[ $output == *" 1 free space maps differ" ]]
}

@test "wrong usage exits with 2" {
	run "$compare" "$a"
	[ "$status" -eq 2 ]
	run "$compare" --what "$a"
	[ "$status" -eq 2 ]
	run "$compare" "$a" "$work/absent"
	[ "$status" -eq 2 ]
	[[ $output == *"$work/absent is not a readable data directory"* ]]
}

@test "a cluster that was not shut down is refused" {
	printf '\6' | dd of="$b/global/pg_control" bs=1 seek=16 conv=notrunc status=none
	run "$compare" "$a" "$b"
	[ "$status" -eq 2 ]
	[[ $output == *"$b was not shut down cleanly"*"pg_ctl stop -m fast"* ]]
}

@test "LSNs and checksums are left out when asked for, and nothing else" {
	for file in base/5/16384 base/5/16384_vm base/5/20000_init; do
		poke "$file" 8193
		poke "$file" 16393
	done
	different "base/5/16384_vm: 2 blocks differ"
	run -0 "$compare" --ignore-lsn "$a" "$b"
	[[ ${lines[-1]} == identical:* ]]
	poke base/5/16384 10
	run -1 "$compare" --ignore-lsn "$a" "$b"
	[[ $output == *"base/5/16384: 1 blocks differ (0)"* ]]
	run -2 "$compare" "$a" --ignore-lsn "$b"
}

# Lost otherwise: clearing vacated space could change rows unnoticed.
@test "what aligns rows is left out when asked for, and nothing else" {
	python3 - "$a" "$b" <<-'EOF'
	import struct, sys

	# One row of 29 bytes at 8160, one of 32 at 8128.
	items = struct.pack('<II', 8160 | 1 << 15 | 29 << 17, 8128 | 1 << 15 | 32 << 17)
	page = struct.pack('<QHHHHHHI', 1, 0, 0, 32, 8128, 8192, 8196, 0) + items
	page += bytes(8128 - len(page)) + b't' * 64
	for directory in sys.argv[1:]:
	    with open(f'{directory}/base/5/16384', 'wb') as file:
	        file.write(page * 2)
	EOF
	same
	poke base/5/16384 8189
	poke base/5/16384 $((8192 + 8191))
	different "base/5/16384: 2 blocks differ"
	run -0 "$compare" --ignore-padding "$a" "$b"
	[[ ${lines[-1]} == identical:* ]]
	run -0 "$compare" --ignore-lsn --ignore-padding "$a" "$b"
	poke base/5/16384 8188
	run -1 "$compare" --ignore-padding "$a" "$b"
	[[ $output == *"base/5/16384: 1 blocks differ (0)"* ]]
}

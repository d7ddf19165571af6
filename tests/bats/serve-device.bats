#!/usr/bin/env bats
# The daemon alone, on a file system whose device has settings of its own.

load lib/daemon

# Lost otherwise: half of each block, on devices that somebody tuned for random reads.
@test "where the device's read-ahead is zero, whole blocks are read all the same" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	[ -c /dev/loop-control ] || skip "there is no /dev/loop-control"
	command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
	truncate -s 256M "$work/disk"
	mkfs.ext4 -q "$work/disk"
	mount -o loop "$work/disk" "$pgdata/base/5" || skip "no loop device can be had"
	blockdev --setra 0 "$(findmnt -no SOURCE "$pgdata/base/5")"
	relation base/5/16384 20000
	start --
	! grep -q 'io_uring cannot be used' "$work/log" || skip "io_uring cannot be used"
	produce --count 2000 --blocks 20000
	[ "$(field blocks_failed)" = 0 ]
	stop
	# The kernel may have reclaimed pages that were read (DAMON): cachestat counts those.
	python "$pgdata/base/5/16384" <<-'EOF'
	import ctypes, os, struct, sys
	from bench import host

	def evicted_pages(fd, block):
	    counts = ctypes.create_string_buffer(40)
	    libc.syscall(451, fd, struct.pack('QQ', block * 8192, 8192), counts, 0)
	    return struct.unpack('5Q', counts.raw)[3]

	libc = ctypes.CDLL(None)
	fd = os.open(sys.argv[1], os.O_RDONLY)
	pages = host.residency(sys.argv[1])
	blocks = [pages[i] + pages[i + 1] for i in range(0, len(pages), 2)]
	halves = [block for block, count in enumerate(blocks) if count == 1]
	evicted = [block for block in halves if evicted_pages(fd, block) == 1]
	print(f'{blocks.count(2)} whole blocks, {len(halves)} halves, {len(evicted)} of them evicted')
	assert blocks.count(2) >= 1500 and halves == evicted
	EOF
}

# Lost otherwise: device time on overlayfs, where the kernel counts no resident pages: what redo
# waits for would be read again and again, ahead of all else.
@test "where the kernel reports no resident pages, residency is not checked" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	mkdir "$work/tmp"
	mount -t tmpfs none "$work/tmp"
	mkdir "$work"/tmp/{upper,work}
	mount -t overlay -o "lowerdir=$pgdata,upperdir=$work/tmp/upper,workdir=$work/tmp/work" none "$pgdata" ||
		skip "overlayfs cannot be mounted"
	start --
	produce --count 1 --blocks 1
	wait_until "the end of the session" sessions_ended 1
	stop
	grep -q 'cannot check whether blocks are in the page cache' "$work/log"
}

# Lost otherwise: the same for tables of a tablespace on such a file system.
@test "where it reports none of a tablespace, residency is not checked either" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	local version=$work/tmp/upper/PG_18_202506291
	need_cachestat
	mkdir "$work"/{tmp,tablespace}
	mount -t tmpfs none "$work/tmp"
	mkdir -p "$version/5" "$work"/tmp/{lower,work}
	echo 18 >"$version/5/PG_VERSION"
	mount -t overlay -o "lowerdir=$work/tmp/lower,upperdir=$work/tmp/upper,workdir=$work/tmp/work" none "$work/tablespace" ||
		skip "overlayfs cannot be mounted"
	mkdir -p "$pgdata/pg_tblspc"
	start --
	produce --count 1 --blocks 1
	wait_until "the end of the session" sessions_ended 1
	no_residency() { grep -q 'cannot check whether blocks are in the page cache' "$work/log"; }
	! no_residency || skip 'the kernel reports nothing of the data directory either'
	ln -s "$work/tablespace" "$pgdata/pg_tblspc/70000"
	produce --count 1 --blocks 1
	wait_until "the end of the session" sessions_ended 2
	stop
	no_residency
}

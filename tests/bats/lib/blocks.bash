# Blocks that `redoahead prefault --dry-run` lists, and the page cache.

# Blocks of a listing as "PATH BLOCK", of tablespace pg_default and pg_global.
paths_of() {
	sed -nE 's/^lsn: [^,]*, rel ([0-9]+)\/([0-9]+)\/([0-9]+)( fork ([a-z]+))? blk ([0-9]+).*/\1 \2 \3 \5 \6/p' |
		awk '{
			fork = NF == 5 ? "_" $4 : ""; block = $NF; segment = int(block / 131072)
			path = ($1 == 1664 ? "global/" : "base/" $2 "/") $3 fork (segment ? "." segment : "")
			print path, block % 131072 }' | sort -u
}

# How many of the blocks "PATH BLOCK" from standard input exist, and how many of those are in
# the page cache, or were until the kernel reclaimed them (DAMON), where it counts that (Linux
# 6.5).  Files may be missing, or end before a block.
resident() {				# DATA
	/usr/bin/python3 -c '
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p

def evicted_pages(file, block):
    counts = ctypes.create_string_buffer(40)
    libc.syscall(451, file.fileno(), struct.pack("QQ", block * 8192, 8192), counts, 0)
    return struct.unpack("5Q", counts.raw)[3]

blocks = {}
for line in sys.stdin:
    path, block = line.split()
    blocks.setdefault(path, []).append(int(block))
existing = cached = 0
for path, numbers in blocks.items():
    path = sys.argv[1] + "/" + path
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        continue
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0))
        pages = (ctypes.c_ubyte * ((size + 4095) // 4096))()
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages) == 0
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
        for n in numbers:
            if 2 * n + 1 < len(pages):
                existing += 1
                there = (pages[2 * n] & 1) + (pages[2 * n + 1] & 1)
                cached += there == 2 or there + evicted_pages(file, n) == 2
print(existing, cached)' "$1"
}

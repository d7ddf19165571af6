#!/usr/bin/python3
"""Read known blocks, as redo would, for tests of what counts reads.

Calls itself "postgres" for the kernel; what it is titled is the caller's
business (exec -a).  Two files are made, and taken out of the page cache:

    DIRECTORY/relation           read block by block from behind: COLD blocks,
                                 each of them again right after, if it is one of
                                 the first WARM
    DIRECTORY/pg_wal/segment     WAL blocks

Then it reports that it is ready, on standard output, as "PID INODE" (the inode of
the relation), and begins to read when there is a line to read from standard
input.  It ends when it has read.

usage: known_reads.py DIRECTORY COLD WARM WAL
"""
import ctypes
import os
import sys

BLOCK = 8192
PR_SET_NAME = 15


def make(path, blocks):
    """A file of that many blocks, none of them in the page cache; returns a descriptor."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    for _ in range(blocks):
        os.write(descriptor, os.urandom(BLOCK))
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    # No more than what is requested is to be read.
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    return descriptor


def main(directory, cold, warm, wal):
    ctypes.CDLL(None).prctl(PR_SET_NAME, b'postgres', 0, 0, 0)
    os.mkdir(f'{directory}/pg_wal')
    relation = make(f'{directory}/relation', cold)
    segment = make(f'{directory}/pg_wal/segment', wal)
    print(os.getpid(), os.fstat(relation).st_ino, flush=True)
    sys.stdin.readline()
    for block in reversed(range(cold)):
        os.pread(relation, BLOCK, block * BLOCK)
        if block < warm:
            os.pread(relation, BLOCK, block * BLOCK)
    for block in range(wal):
        os.pread(segment, BLOCK, block * BLOCK)


if __name__ == '__main__':
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1], *map(int, sys.argv[2:]))

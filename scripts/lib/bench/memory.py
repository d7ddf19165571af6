"""Memory of a virtual machine that its host takes back while it is free.

The first use of such a page costs a fault of the host, 10 us here instead of 1.6, and falls
on whoever is measured, sooner or later in a run, by how much of it other runs have used.
"""
import mmap
import os

from . import host

OPTION = 'REDOAHEAD_BENCH_TOUCH_MEMORY'
SHARE = 0.95                    # of the memory that is available
MADV_POPULATE_WRITE = 23        # of Linux, which Python has no name for


def touch():
    """Use all available memory once if the environment asks for it; returns how, for the result."""
    if not os.environ.get(OPTION):
        return ''
    size = int(1024 * int(host.first_line('/proc/meminfo', 'MemAvailable').split()[0]) * SHARE)
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory.madvise(MADV_POPULATE_WRITE)
    return ', free memory touched'

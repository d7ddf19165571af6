"""Memory of a virtual machine that its host takes back while it is free.

The first use of such a page costs a fault of the host.  When that happens in a run
depends on how much memory earlier runs have used.
"""
import contextlib
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
        with contextlib.suppress(OSError):      # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
        try:
            memory.madvise(MADV_POPULATE_WRITE)
        except OSError as error:
            raise host.HostError(f'{OPTION}: cannot use {size >> 20} MB of memory: {error}; '
                                 'unset it, or use Linux 5.14 or newer') from None
    return ', free memory touched'

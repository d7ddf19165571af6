"""Recovery under memory pressure: a working set many times what the page cache may hold.

Server and daemon share a memory cgroup, and shared_buffers is 32 MB, as in
2008.  Redo touches nearly every block of a table that is much larger, once or
a few times, at random, and no record has a full-page image.

A run can be traced (pagecache.py): then it says, too, how many of the pages
that were read ahead had gone before redo came to them.
"""
import json
import os
import re

from . import cgroup, pagecache, recovery, s2, workload

STARTUP = re.compile(r'\[(\d+)\] LOG:  redo starts at ')
LOOKING = re.compile(r'looking ahead (\d+) block references')


def make_case(size):
    """The case in a size: `full` has 4 GB in 256 MB, `small` 1 GB in 160 MB."""
    full = size == 'full'
    scale, transactions = (300, 1200000) if full else (70, 150000)
    # The full one is the same WAL as bench-prefetch's, and shares its image.
    load = workload.Workload(
        'pgbench-off' if full else 'memory',
        f'pgbench -N, scale {scale}, {transactions} transactions, full_page_writes off',
        scale, transactions, {'shared_buffers': '4GB', 'full_page_writes': 'off'},
        workload.prepare_pgbench, workload.load_simple_update)
    limit = (256 if full else 160) << 20
    return s2.Case('memory', f'shared_buffers 32 MB, {limit >> 20} MB of memory for server and '
                   'daemon', {'off': load}, {'shared_buffers': '32MB'}, limit)


def recover(image, case, name, builds, program, place, progress):
    """One recovery of the case, with the configuration of that name."""
    with cgroup.MemoryLimit(case.memory_limit) as limit:
        return recovery.recover(image, case.config(name), builds, program, place, progress,
                                conditions=recovery.Conditions(limit=limit))


def recover_traced(image, case, name, builds, program, place, progress):
    """The same by the daemon, traced.

    The run says in `pages` what became of those read ahead, in `readahead_limit`
    how many blocks might be there unused in the end, and in `window_references`
    how far the server looked ahead.
    """
    output = os.path.join(place, 'pages.trace')
    data = os.path.join(place, 'data')
    with pagecache.Trace(place, output) as trace:
        run = recover(image, case, name, builds, program, place, progress)
    with open(os.path.join(place, 'stats.json'), encoding='utf-8') as file:
        stats = json.load(file)
    with open(os.path.join(place, 'server.log'), encoding='utf-8', errors='replace') as file:
        log = file.read()
    startup = int(STARTUP.search(log)[1])
    looking = LOOKING.search(log)
    with open(output, encoding='utf-8', errors='replace') as file:
        pages = pagecache.judge(file, stats['pid'], startup, pagecache.data_inodes(data))
    os.remove(output)
    return {**run, 'readahead_limit': stats['control']['readahead_limit'],
            'window_references': int(looking[1]) if looking else None,
            'pages': {**pages, 'events_lost': trace.lost}}

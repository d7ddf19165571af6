"""Decoding of WAL: the bytes that our decoder reads in a second of CPU time, beside pg_waldump.

Both read all WAL of a crashed cluster of `prefetch` from the page cache, verify each record,
decode its block references, and print nothing.  CPU time is that of the whole program.
"""
import contextlib
import os
import re

from .. import host, loop, postgres, recovery, usage, workload
from ..scenario import Measure, Part, Scenario

TOOL = os.path.join(postgres.ROOT, 'build/tests/tools/wal_references')
CASES = ('pgbench-off', 'pgbench-fpw')
SEGMENT = 16 << 20              # bytes, as initdb has it
SLACK = 1 << 20                 # bytes of WAL that may follow the end that an image names


def missing():
    return None if os.access(TOOL, os.X_OK) else f'{TOOL} is missing; run make tests-programs'


def commands(image, build):
    """What is measured, by configuration."""
    wal, begin = os.path.join(image.directory, 'pg_wal'), image.facts['redo_lsn']
    return {
        'redoahead': (TOOL, '--quiet', wal, '1', str(SEGMENT), begin),
        'pg_waldump': (build.program('pg_waldump'), '--quiet', '--path', wal, '--start', begin,
                       '--end', image.facts['end_lsn'])}


@contextlib.contextmanager
def opened(bench, part):
    image = bench.images[part.name]
    found = commands(image, bench.builds['stock'])
    yield lambda name, number: measure(found[name], image, name == 'redoahead')


def measure(command, image, counts):
    """One run of a command, which may count what it decodes; returns its figures."""
    for path in host.files_below(os.path.join(image.directory, 'pg_wal')):
        host.fetch(path)
    before = usage.cpu_seconds_of_ended_children()
    output = loop.command(*command)
    seconds = usage.cpu_seconds_of_ended_children() - before
    size = image.facts['wal_bytes']
    run = {'cpu_seconds': round(seconds, 4), 'bytes': size,
           'bytes_per_cpu_second': round(size / seconds)}
    if counts:
        counted = re.match(r'(\d+) records, (\d+) bytes', output)
        if not counted or not size <= int(counted[2]) <= size + SLACK:
            raise recovery.RunRejected(f'{command[0]} was to decode {size} bytes of WAL, and '
                                       f'printed: {output}')
        run['records'] = int(counted[1])
    return run


def parts(size):
    loads = workload.make_workloads(size)
    return tuple(Part(name, loads[name].about, ('redoahead', 'pg_waldump'), opened, loads[name],
                      missing=missing) for name in CASES)


SCENARIO = Scenario(
    'decode', 'decoding WAL, on one core', parts, (
        Measure('bytes_per_cpu_second', 'GB/CPU s', '{:.2f}', 1e-9),
        Measure('cpu_seconds', 'CPU s', '{:.3f}'),
        Measure('bytes', 'WAL MB', '{:.0f}', 1e-6),
        Measure('records', 'records', '{:.0f}')),
    (('redoahead', 'pg_waldump'),), ('bytes_per_cpu_second',), builds=('stock',), numbers=False,
    rounds=9, space=12 << 30)

"""The archive of a primary, with full-page images and without.

pgbench with a checkpoint every 30 s, as in s1, but over a table larger than shared buffers, so that
most transactions change pages that have had no image since; then each complete WAL segment is
archived, by zstd, or by `redoahead lesslog --compress zstd`:

    on, lz4:transform       with images as they are, and compressed
    off                     without full_page_writes
    kept, kept-transform    with images, and with wal_keep_block_data, by lesslog

The level of zstd is its default.  For the rate of lesslog alone, it also archives the segments
without compression; they are in the page cache, and time is CPU time.
"""
import contextlib
import json
import os

from .. import postgres, usage
from ..scenario import Measure, Part, Scenario
from . import s1

KEPT = {'wal_keep_block_data': 'on'}
# Configuration: settings of the server, and whether lesslog archives.
CONFIGS = {'on': ({}, False),
           'lz4:transform': ({'wal_compression': 'lz4:transform'}, False),
           'off': ({'full_page_writes': 'off'}, False),
           'kept': (KEPT, True),
           'kept-transform': ({**KEPT, 'wal_compression': 'lz4:transform'}, True)}


def complete_segments(wal, start, end):
    """Paths of the segments that a load has filled."""
    found = []
    for name in sorted(os.listdir(wal)):
        path = os.path.join(wal, name)
        if len(name) == 24 and os.path.isfile(path):
            size = os.path.getsize(path)
            begin = (int(name[8:16], 16) << 32) + int(name[16:], 16) * size
            if start <= begin and begin + size <= end:
                found.append(path)
    return found


def archive(segments, place, program):
    """Archive segments, by lesslog if there is a program; returns the figures."""
    figures = {'archived_bytes': 0, 'segments': len(segments)}
    if program:
        figures.update(lesslog_cpu_seconds=0.0, images=0, images_removed=0, hints_removed=0)
    for path in segments:
        target = os.path.join(place, 'archived')
        if program:
            postgres.run([program, 'lesslog', '--compress', 'zstd', path, target])
            before = usage.cpu_seconds_of_ended_children()
            summary = json.loads(postgres.run([program, 'lesslog', '--json', path,
                                               f'{target}.plain']))
            figures['lesslog_cpu_seconds'] += usage.cpu_seconds_of_ended_children() - before
            for key in ('images', 'images_removed', 'hints_removed'):
                figures[key] += summary[key]
            os.remove(f'{target}.plain')
        else:
            postgres.run(['zstd', '-q', '-o', target, path])
        figures['archived_bytes'] += os.path.getsize(target)
        os.remove(target)
    return figures


@contextlib.contextmanager
def opened(bench, part):
    base = s1.make_base(bench, part.facts['scale'])
    with bench.place('lesslog') as place:
        program = os.path.join(place, 'redoahead')
        postgres.install_program(program, bench.builds['patched'].daemon)
        yield lambda name, number: measure(bench, CONFIGS[name], base, place, program,
                                           part.facts['seconds'])


def measure(bench, config, base, place, program, seconds):
    """Load and archive of one configuration; returns what was measured."""
    settings, by_lesslog = config
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(base, directory)
    os.sync()                   # or the load would share the disk with the copy
    with postgres.serving(bench.builds['patched'], directory, {**s1.LOAD, **settings}, place,
                          'load.log') as server:
        server.prewarm('pgbench')
        # The load has segments of its own.
        start = postgres.parse_lsn(server.sql('SELECT pg_switch_wal()')[0][0])
        run = s1.pgbench(server, seconds)
        server.sql('SELECT pg_switch_wal()')
        end = postgres.parse_lsn(server.sql('SELECT pg_current_wal_insert_lsn()')[0][0])
        server.stop('immediate')
    segments = complete_segments(os.path.join(directory, 'pg_wal'), start, end)
    run.update(archive(segments, place, program if by_lesslog else None))
    run['archived_bytes_per_transaction'] = round(run['archived_bytes'] / run['transactions'], 1)
    if by_lesslog:
        size = sum(os.path.getsize(path) for path in segments)
        run['lesslog_bytes_per_cpu_second'] = round(size / run['lesslog_cpu_seconds'])
    postgres.remove_tree(directory)
    return run


def parts(size):
    of = s1.scaled(size)
    of['scale'] *= 3
    return (Part('archive', f'loads of {of["seconds"]} s, pgbench scale {of["scale"]}, a '
                 f'checkpoint every {s1.LOAD["checkpoint_timeout"]}', tuple(CONFIGS), opened,
                 facts={**of, 'settings': s1.LOAD}),)


SCENARIO = Scenario(
    'lesslog', 'archives without full-page images', parts, (
        Measure('tps', 'tps', '{:.0f}'),
        Measure('wal_bytes_per_transaction', 'WAL bytes/tx', '{:.0f}'),
        Measure('archived_bytes_per_transaction', 'archived bytes/tx', '{:.1f}'),
        Measure('images', 'images', '{:.0f}'),
        Measure('images_removed', 'removed', '{:.0f}'),
        Measure('lesslog_bytes_per_cpu_second', 'lesslog MB/CPU s', '{:.0f}', 1e-6)),
    (('kept', 'on'), ('kept', 'lz4:transform'), ('kept-transform', 'on'),
     ('kept-transform', 'lz4:transform'), ('kept', 'off')),
    ('archived_bytes_per_transaction', 'wal_bytes_per_transaction'), builds=('stock', 'patched'),
    daemon=True, space=12 << 30)

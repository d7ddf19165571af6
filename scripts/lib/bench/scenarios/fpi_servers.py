"""What zstd costs in servers: contexts made for each image, as stock PostgreSQL does,
against contexts that are kept, with the same level and with level 1.

In a loop over images in a program of its own, as scripts/fpi/bench.c has it, the memory that
a context is made in is always the same and always in the cache.  In a server something else
comes between images.  So this lets both servers do it, each time on a fresh copy of one
cluster with pages of many kinds, and a library that is loaded before libzstd times the calls
(scripts/fpi/time_zstd.c):

  index    two indexes are built anew, on integers in order and shuffled
  pgbench  pgbench -N from a checkpoint on
  copy     CREATE DATABASE copies all pages one after the other
  redo     of that copy
"""
import contextlib
import os
import time

from .. import fpi_pages, postgres, workload
from ..scenario import Measure, Part, Scenario, scale_of

SETTINGS = {**fpi_pages.SETTINGS, 'wal_level': 'replica', 'full_page_writes': 'on'}
# Configuration: server and wal_compression.
CONFIGS = {f'{server}/{value}': (server, value) for server, value in (
    ('stock', 'zstd'), ('patched', 'zstd'), ('patched', 'zstd:1'))}
COMPRESS = ('ZSTD_compress', 'ZSTD_compressCCtx')
DECOMPRESS = ('ZSTD_decompress', 'ZSTD_decompressDCtx')
LOADS = ('index', 'pgbench', 'copy', 'redo')
TRANSACTIONS = 40000            # of pgbench, at scale 1
PATIENCE = 60                   # seconds until a session counts as stuck


class Preload:
    """Puts a library and its setting before a server's command."""

    def __init__(self, library, output):
        self.library, self.output = library, output

    def command(self, arguments):
        # Only in what the server's user starts, who can replace the library.
        where = arguments.index('--') + 1 if '--' in arguments else 0
        return [*arguments[:where], 'env', f'LD_PRELOAD={self.library}',
                f'TIME_ZSTD={self.output}', *arguments[where:]]


def read(path, functions):
    """What the processes wrote of some functions, added up: (images, bytes, ns)."""
    found = [0, 0, 0]
    if os.path.exists(path):
        with open(path, encoding='ascii') as file:
            for name, *numbers in (line.split() for line in file):
                if name in functions:
                    found = [old + int(new) for old, new in zip(found, numbers)]
    if not found[0]:
        raise postgres.PostgresError(f'no call of {" or ".join(functions)} was seen; is the '
                                     'server built with zstd, and is libzstd a shared library?')
    return found


def copy_database(server):
    """Copy it, and wait until the session has ended and written what it did."""
    text = server.session(['SELECT pg_backend_pid()',
                           'CREATE DATABASE copied TEMPLATE pages STRATEGY wal_log'])
    end = time.monotonic() + PATIENCE
    while os.path.exists(f'/proc/{int(text.split()[0])}'):
        if time.monotonic() > end:
            raise postgres.PostgresError(f'a session has not ended after {PATIENCE} s; see '
                                         f'{server.log}')
        time.sleep(postgres.POLL)


def build_indexes(server):
    server.sql('REINDEX INDEX btree_int', 'pages')
    server.sql('REINDEX INDEX btree_shuffled', 'pages')


def do(server, load, scale):
    """One load, and the end of the server: a crash where redo is to follow."""
    if load == 'redo':
        server.sql('DROP DATABASE copied')
    else:
        server.sql('CHECKPOINT')
    if load == 'index':
        build_indexes(server)
    elif load == 'pgbench':
        workload.run_transactions(server, max(2000, int(TRANSACTIONS * scale)), '-N', 'pages')
    elif load == 'copy':
        copy_database(server)
    server.stop('immediate' if load == 'copy' else 'fast')


def run_once(build, compression, directory, place, library, scale):
    """All loads, a run of each."""
    output = os.path.join(place, 'calls')
    runs = []
    for load in LOADS:
        if os.path.exists(output):
            os.unlink(output)
        with postgres.serving(build, directory, {**SETTINGS, 'wal_compression': compression}, place,
                              limit=Preload(library, output)) as server:
            do(server, load, scale)
        images, size, nanoseconds = read(output, DECOMPRESS if load == 'redo' else COMPRESS)
        runs.append({'case': load, 'images': images, 'bytes': round(size / images, 1),
                     'ns': round(nanoseconds / images, 1)})
    return runs


def make_base(build, place, scale, say):
    """A stopped cluster with pages of many kinds, to be copied for each run."""
    directory = os.path.join(place, 'base')
    postgres.initialize(build, directory)
    with postgres.serving(build, directory, fpi_pages.SETTINGS, place) as server:
        fpi_pages.fill(server, scale, say)
        for statement in ('ALTER DATABASE postgres RENAME TO pages',
                          'CREATE DATABASE postgres TEMPLATE template0'):
            server.sql(statement, 'template1')
        # Whoever reads a row first sets a hint bit, of which there would be an image.
        build_indexes(server)
        server.stop('fast')
    return directory


@contextlib.contextmanager
def opened(bench, part):
    scale = part.facts['scale']
    with bench.place('fpi-servers') as place:
        library = os.path.join(place, 'time_zstd.so')
        with open(os.path.join(postgres.ROOT, 'scripts/fpi/time_zstd.c'), encoding='ascii') as source:
            postgres.compile_with('scripts/fpi/time_zstd.c', [
                'gcc', '-O2', '-Wall', '-shared', '-fPIC', '-x', 'c', '-', '-o', library, '-ldl'],
                **{**postgres.as_owner(), 'stdin': source})
        base = make_base(bench.builds['stock'], place, scale, bench.progress.say)
        directory = os.path.join(place, 'data')

        def run(name, number):
            build, compression = CONFIGS[name]
            postgres.copy_cluster(base, directory)
            return run_once(bench.builds[build], compression, directory, place, library, scale)
        yield run


def parts(size):
    return (Part('servers', 'zstd in servers', tuple(CONFIGS), opened, facts={
        'scale': scale_of(size) or 0.02, 'settings': SETTINGS}),)


SCENARIO = Scenario(
    'fpi-servers', 'zstd in servers', parts, (
        Measure('images', 'images', '{:.0f}'), Measure('bytes', 'bytes/image', '{:.0f}'),
        Measure('ns', 'us/image', '{:.1f}', 1e-3)),
    (('stock/zstd', 'patched/zstd'), ('stock/zstd', 'patched/zstd:1')), ('ns',), space=4 << 30)

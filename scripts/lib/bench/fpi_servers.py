"""What zstd costs in servers: contexts made for each image, as stock PostgreSQL
does, against contexts that are kept, with the same level and with level 1.

In a loop over images in a program of its own, as scripts/fpi/bench.c has it, the
memory that a context is made in is always the same and always in the cache.  In
a server something else comes between images.  So this lets both servers do it, each
time on a fresh copy of one cluster with pages of many kinds, and a library that is
loaded before libzstd times the calls (scripts/fpi/time_zstd.c):

  index    two indexes are built anew, on integers in order and shuffled
  pgbench  pgbench -N from a checkpoint on
  copy     CREATE DATABASE copies all pages one after the other
  redo     of that copy
"""
import os
import statistics
import subprocess
import time

from . import fpi_pages, postgres, workload

SETTINGS = {**fpi_pages.SETTINGS, 'wal_level': 'replica', 'full_page_writes': 'on'}
# Server and wal_compression; the first is what the others are compared with.
CONFIGS = (('stock', 'zstd'), ('patched', 'zstd'), ('patched', 'zstd:1'))
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
        return ['env', f'LD_PRELOAD={self.library}', f'TIME_ZSTD={self.output}', *arguments]


def compile_library(place):
    source = os.path.join(postgres.ROOT, 'scripts/fpi/time_zstd.c')
    library = os.path.join(place, 'time_zstd.so')
    done = subprocess.run(['gcc', '-O2', '-Wall', '-shared', '-fPIC', source, '-o', library,
                           '-ldl'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise postgres.PostgresError(f'cannot compile {source}; scripts/bootstrap installs '
                                     f'what it needs:\n{done.stdout}')
    return library


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
    """Copy it, and wait until the session has ended and told what it did."""
    text = postgres.run([server.build.program('psql'), '-X', '-At', '-v', 'ON_ERROR_STOP=1',
                         '-h', server.socket_directory, '-c', 'SELECT pg_backend_pid()',
                         '-c', 'CREATE DATABASE copied TEMPLATE pages STRATEGY wal_log'])
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
    """All loads; returns {load: {measure: value}}."""
    output = os.path.join(place, 'calls')
    settings = {**SETTINGS, 'wal_compression': compression}
    result = {}
    for load in LOADS:
        if os.path.exists(output):
            os.unlink(output)
        with postgres.Server(build, directory, settings, place, os.path.join(place, 'log'),
                             Preload(library, output)) as server:
            server.wait_ready()
            do(server, load, scale)
        images, size, nanoseconds = read(output, DECOMPRESS if load == 'redo' else COMPRESS)
        result[load] = {'images': images, 'bytes': round(size / images, 1),
                        'ns': round(nanoseconds / images, 1)}
    return result


def make_base(build, place, scale, say):
    """A stopped cluster with pages of many kinds, to be copied for each run."""
    directory = os.path.join(place, 'base')
    postgres.initialize(build, directory)
    with postgres.Server(build, directory, fpi_pages.SETTINGS, place,
                         os.path.join(place, 'log')) as server:
        server.wait_ready()
        fpi_pages.fill(server, scale, say)
        for statement in ('ALTER DATABASE postgres RENAME TO pages',
                          'CREATE DATABASE postgres TEMPLATE template0'):
            server.sql(statement, 'template1')
        # Whoever reads a row first leaves a hint, of which there would be an image.
        build_indexes(server)
        server.stop('fast')
    return directory


def measure(builds, place, scale, rounds, say):
    """All runs: [{'round':, 'server':, 'compression':, load: {measure: value}, ...}]."""
    library = compile_library(place)
    by_name = {build.name: build for build in builds}
    base = make_base(by_name['stock'], place, scale, say)
    directory = os.path.join(place, 'data')
    runs = []
    for number in range(1, rounds + 1):
        first = (number - 1) % len(CONFIGS)
        for server, compression in CONFIGS[first:] + CONFIGS[:first]:
            postgres.copy_cluster(base, directory)
            run = run_once(by_name[server], compression, directory, place, library, scale)
            runs.append({'round': number, 'server': server, 'compression': compression, **run})
            say(f'round {number} {server} {compression}: ' + ', '.join(
                f'{load} {row["ns"] / 1000:.1f} us' for load, row in run.items()))
    return runs


def median(runs, config, load):
    """{measure: median} of a load in the runs of a configuration."""
    found = [run[load] for run in runs if (run['server'], run['compression']) == config]
    return {name: statistics.median(row[name] for row in found)
            for name in ('images', 'bytes', 'ns')}


def medians(runs):
    """{load: {'server compression': {measure: median}}}."""
    return {load: {' '.join(config): median(runs, config, load) for config in CONFIGS}
            for load in LOADS}


def table(middle):
    """Images, bytes and ns for each, and how many times as fast as stock it was."""
    lines = [f'{"zstd in servers":20}{"images":>10}{"bytes":>10}{"ns":>10}{"times":>8}']
    for load, rows in middle.items():
        lines.append(load)
        stock, *_ = rows.values()
        for name, row in rows.items():
            lines.append(f'  {name:18}{row["images"]:10.0f}{row["bytes"]:10.0f}{row["ns"]:10.0f}'
                         f'{stock["ns"] / row["ns"]:8.2f}')
    return '\n'.join(lines)

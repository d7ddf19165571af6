"""Scenario S3: methods and levels of compression, by the rules of 2021.

CREATE INDEX over generate_series(1,999999) by one backend without parallel
workers, then rollback, on tmpfs, without a checkpoint or autovacuum meanwhile:
how long it takes, how much CPU time, and how much WAL.  The same over the table
in random order.  Methods take turns, round by round, stock's on the stock server.

Then the WAL of such indexes is replayed by the server that wrote it: that says
what redo pays.  The report is s3_report.py's.
"""
import os
import re
import statistics
from dataclasses import dataclass

from . import postgres

TABLES = ('sequential', 'shuffled')
REPLAYED = 10                   # indexes in the WAL that is replayed

SETTINGS = {
    'shared_buffers': '1GB', 'maintenance_work_mem': '512MB', 'wal_level': 'replica',
    'max_parallel_maintenance_workers': '0', 'autovacuum': 'off', 'fsync': 'off',
    'max_wal_size': '200GB', 'checkpoint_timeout': '1d', 'full_page_writes': 'on',
}

DONE = re.compile(r'redo done at \S+ system usage: CPU: user: ([\d.]+) s, system: ([\d.]+) s, '
                  r'elapsed: ([\d.]+) s')


@dataclass(frozen=True)
class Method:
    """A value of wal_compression on one of the servers."""
    build: str                  # stock or patched
    value: str                  # of wal_compression

    @property
    def name(self):
        """Its name in lists that commas separate: such as patched/zstd:1+transform."""
        return f'{self.build}/{self.value}'.replace('level=', '').replace(',', '+')


METHODS = tuple(Method(*each) for each in (
    ('stock', 'off'), ('stock', 'pglz'), ('stock', 'lz4'), ('stock', 'zstd'),
    ('patched', 'lz4'), ('patched', 'zstd'), ('patched', 'zstd:1'), ('patched', 'zstd:6'),
    ('patched', 'zlib'), ('patched', 'zlib:2'), ('patched', 'lz4:transform'),
    ('patched', 'zstd:level=1,transform'), ('patched', 'zstd:transform'),
))


def rows_of(size):
    """Rows of the tables: 2021's, a tenth of them, or a factor."""
    return {'small': 99999, 'full': 999999}.get(size) or int(float(size) * 999999)


def create_table(name, rows):
    order = '' if name == 'sequential' else ' ORDER BY hashint8(i), i'
    return (f'CREATE TABLE {name} AS SELECT i::int FROM generate_series(1, {rows}) i{order}; '
            f'VACUUM FREEZE {name}')


class Cluster:
    """A cluster of one of the servers with both tables, and its running server."""

    def __init__(self, build, place, rows):
        self.build, self.place = build, place
        self.directory = os.path.join(place, f'{build.name}-data')
        self.rows = rows
        self.server = None

    def fill(self):
        postgres.initialize(self.build, self.directory)
        self.start()
        for name in TABLES:
            for statement in create_table(name, self.rows).split('; '):
                self.server.sql(statement)
        self.server.sql('CHECKPOINT')

    def start(self):
        sockets = os.path.join(self.place, self.build.name)
        postgres.make_directory(sockets)
        self.server = postgres.Server(self.build, self.directory, SETTINGS, sockets,
                                      os.path.join(self.place, f'{self.build.name}.log'))
        self.server.wait_ready()

    def stop(self):
        if self.server:
            self.server.stop('immediate')


# What the backend has used so far: CPU time in ns, WAL in bytes and images.
USED = ("SELECT split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), ' ', 1), "
        'wal_bytes, wal_fpi, extract(epoch FROM clock_timestamp()) * 1000 '
        'FROM pg_stat_get_backend_wal(pg_backend_pid())')
FLUSH = 'SELECT pg_stat_force_next_flush()'


def build_index(cluster, value, table):
    """One CREATE INDEX and its rollback; returns what it took."""
    text = postgres.run([
        cluster.build.program('psql'), '-X', '-At', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-h',
        cluster.server.socket_directory, *(word for statement in (
            f"SET wal_compression = '{value}'", f'SELECT count(*) FROM {table}', FLUSH, USED,
            'BEGIN', f'CREATE INDEX ON {table} (i)', USED.replace('wal_bytes, wal_fpi', '0, 0'),
            'ROLLBACK', FLUSH, USED) for word in ('-c', statement))])
    before, after, end = (line.split('\t') for line in text.splitlines()
                          if line.count('\t') == 3)
    return {'ms': round(float(after[3]) - float(before[3]), 1),
            'cpu_ms': round((int(after[0]) - int(before[0])) / 1e6, 1),
            'wal_bytes': int(end[1]) - int(before[1]),
            'images': int(end[2]) - int(before[2])}


def replay(cluster, value):
    """Write WAL of indexes, crash, and recover; returns what redo took."""
    cluster.server.sql('CHECKPOINT')
    statements = [f"SET wal_compression = '{value}'"]
    for number in range(REPLAYED):
        statements += [f'CREATE INDEX replayed{number} ON sequential (i)']
    postgres.run([cluster.build.program('psql'), '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h',
                  cluster.server.socket_directory,
                  *(word for each in statements for word in ('-c', each))])
    cluster.server.stop('immediate')
    cluster.start()
    done = DONE.search(cluster.server.text())
    if not done:
        raise postgres.PostgresError(f'no redo in {cluster.server.log}')
    for number in range(REPLAYED):
        cluster.server.sql(f'DROP INDEX replayed{number}')
    return {'replay_cpu_ms': round(1000 * (float(done[1]) + float(done[2]))),
            'replay_ms': round(1000 * float(done[3]))}


def measure(builds, place, options, methods, keep, progress):
    """All rounds; gives each run to keep()."""
    clusters = {name: Cluster(build, place, rows_of(options.size))
                for name, build in builds.items()
                if name in {method.build for method in methods}}
    total = options.rounds * len(methods) * (len(TABLES) + 1)
    done = 0
    try:
        for cluster in clusters.values():
            progress.say(f'{cluster.build.name}: filling a new cluster')
            cluster.fill()
        for number in range(1, options.rounds + 1):
            for method in methods:
                cluster = clusters[method.build]
                for table in (*TABLES, 'replay'):
                    if table == 'replay':
                        run = replay(cluster, method.value)
                    else:
                        run = build_index(cluster, method.value, table)
                    done += 1
                    keep({'round': number, 'build': method.build, 'method': method.value,
                          'table': table, **run})
                    progress.update(f'round {number} {method.name} {table}: {run}; '
                                    f'{progress.left(done, total)}')
    finally:
        for cluster in clusters.values():
            cluster.stop()


def medians(runs):
    """{table: {server and method: {measure: median}}}, replays as a table, too."""
    found = {}
    for run in runs:
        key = f'{run["build"]} {run["method"]}'
        row = found.setdefault(run['table'], {}).setdefault(key, {})
        for name, value in run.items():
            if name not in ('round', 'build', 'method', 'table'):
                row.setdefault(name, []).append(value)
    return {table: {key: {name: statistics.median(values) for name, values in row.items()}
                    for key, row in rows.items()} for table, rows in found.items()}

"""S3: methods and levels of compression, by the rules of 2021.

CREATE INDEX over generate_series(1,999999) by one backend without parallel workers, then
rollback, on tmpfs, without a checkpoint or autovacuum meanwhile: how long it takes, how much
CPU time, and how much WAL.  The same over the table in random order.  Then the WAL of such
indexes is replayed by the server that wrote it: that is what redo pays.
"""
import contextlib
import os

from .. import postgres, recovery
from ..scenario import Measure, Part, Scenario, scale_of

TABLES = ('sequential', 'shuffled')
REPLAYED = 10                   # indexes in the WAL that is replayed

SETTINGS = {
    'shared_buffers': '1GB', 'maintenance_work_mem': '512MB', 'wal_level': 'replica',
    'max_parallel_maintenance_workers': '0', 'autovacuum': 'off', 'fsync': 'off',
    'max_wal_size': '200GB', 'checkpoint_timeout': '1d', 'full_page_writes': 'on',
}

# Server, and wal_compression.
METHODS = (
    ('stock', 'off'), ('stock', 'pglz'), ('stock', 'lz4'), ('stock', 'zstd'),
    ('patched', 'lz4'), ('patched', 'zstd'), ('patched', 'zstd:1'), ('patched', 'zstd:6'),
    ('patched', 'zlib'), ('patched', 'zlib:2'), ('patched', 'lz4:transform'),
    ('patched', 'zstd:level=1,transform'), ('patched', 'zstd:transform'),
)
# By a name without commas: such as patched/zstd:1+transform.
BY_NAME = {f'{build}/{value}'.replace('level=', '').replace(',', '+'): (build, value)
           for build, value in METHODS}


def create_table(name, rows):
    order = '' if name == 'sequential' else ' ORDER BY hashint8(i), i'
    return (f'CREATE TABLE {name} AS SELECT i::int FROM generate_series(1, {rows}) i{order}',
            f'VACUUM FREEZE {name}')


class Cluster:
    """A cluster of one of the servers with both tables, and its running server."""

    def __init__(self, build, place):
        self.build, self.place = build, place
        self.directory = os.path.join(place, f'{build.name}-data')
        self.server = None

    def fill(self, rows):
        postgres.initialize(self.build, self.directory)
        self.start()
        for name in TABLES:
            for statement in create_table(name, rows):
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


# What has been used so far: CPU time of the backend in ns, WAL in bytes and images. Nobody
# else writes WAL.
USED = ("SELECT split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), ' ', 1), "
        'wal_bytes, wal_fpi, extract(epoch FROM clock_timestamp()) * 1000 '
        'FROM pg_stat_get_wal()')
FLUSH = 'SELECT pg_stat_force_next_flush()'


def build_index(cluster, value, table):
    """One CREATE INDEX and its rollback; returns what it took."""
    text = cluster.server.session([
        f"SET wal_compression = '{value}'", f'SELECT count(*) FROM {table}', FLUSH, USED,
        'BEGIN', f'CREATE INDEX ON {table} (i)', USED.replace('wal_bytes, wal_fpi', '0, 0'),
        'ROLLBACK', FLUSH, USED])
    before, after, end = (line.split('\t') for line in text.splitlines()
                          if line.count('\t') == 3)
    return {'case': table, 'ms': round(float(after[3]) - float(before[3]), 1),
            'cpu_ms': round((int(after[0]) - int(before[0])) / 1e6, 1),
            'wal_bytes': int(end[1]) - int(before[1]),
            'images': int(end[2]) - int(before[2])}


def replay(cluster, value):
    """Write WAL of indexes, crash, and recover; returns what redo took."""
    names = [f'replayed{number}' for number in range(REPLAYED)]
    cluster.server.sql('CHECKPOINT')
    cluster.server.session([f"SET wal_compression = '{value}'", *(
        f'CREATE INDEX {name} ON sequential (i)' for name in names)])
    cluster.server.stop('immediate')
    cluster.start()
    elapsed, user, system = recovery.redo_times(cluster.server)
    cluster.server.session([f'DROP INDEX {name}' for name in names])
    return {'case': 'replay', 'replay_ms': round(1000 * elapsed),
            'replay_cpu_ms': round(1000 * (user + system))}


@contextlib.contextmanager
def opened(bench, part):
    with bench.place('s3', memory=True) as place:
        clusters = {name: Cluster(build, place) for name, build in bench.builds.items()}
        try:
            for cluster in clusters.values():
                bench.progress.say(f'{cluster.build.name}: filling a new cluster')
                cluster.fill(part.facts['rows'])

            def run(name, number):
                build, value = BY_NAME[name]
                return [*(build_index(clusters[build], value, table) for table in TABLES),
                        replay(clusters[build], value)]
            yield run
        finally:
            for cluster in clusters.values():
                cluster.stop()


def parts(size):
    """One part, of whose runs each is three cases."""
    rows = int((scale_of(size) or 0.1) * 999999)
    return (Part('indexes', f'CREATE INDEX on {rows} integers', tuple(BY_NAME), opened,
                 facts={'rows': rows, 'settings': SETTINGS}),)


IN_2021 = tuple(('sequential', f'{method} (2021)', {'ms': milliseconds, 'wal_bytes': size})
                for method, milliseconds, size in (
                    ('off', 1639, 20357193), ('pglz', 3363, 11644224), ('zlib', 2167, 5611653),
                    ('lz4', 1613, 12397123), ('zstd(6)', 1809, 6395993)))

SCENARIO = Scenario(
    's3', 'methods and levels of compression, as measured in 2021', parts, (
        Measure('ms', 'time ms', '{:.0f}'), Measure('cpu_ms', 'CPU ms', '{:.0f}'),
        Measure('wal_bytes', 'wal_bytes', '{:.0f}'), Measure('images', 'images', '{:.0f}'),
        Measure('replay_cpu_ms', 'startup CPU ms', '{:.0f}'),
        Measure('replay_ms', 'redo ms', '{:.0f}')),
    published=IN_2021, notes=(
        'The cases are CREATE INDEX over the table in order, over the table in random order, and '
        'the replay of ten such indexes over the table in order. wal_bytes are those of records, '
        'without page headers. CPU is that of the backend, or of the startup process. The rows '
        'of 2021 are from another machine.',), space=4 << 30)

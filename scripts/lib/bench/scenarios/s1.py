"""S1: compressed full-page images under pgbench, as measured in 2013.

    load    pgbench -c 32 -j 4 -M prepared over a table in shared buffers, with a checkpoint
            every 30 s, with full-page images as they are, compressed, and without: how many
            transactions a second, how much CPU time of the server and how much WAL for each,
            and how long the server that wrote it takes to replay it from a cold cache, over a
            copy made before the load
    slices  short slices of such load on four servers that stand by, each with a copy of the
            same cluster: stock, the patched server, the patched server with images compressed
            by the transform and lz4, and that with wal_keep_block_data, too.  A take is one
            slice of each

How fast a machine is differs by tens of percents from minute to minute, which hides what
compression costs or gains in loads; neighbouring slices share it.  Each slice begins with a
checkpoint, after which a page's first change takes an image, and WAL goes into segments that
were used before, so that nobody has to fill new ones.
"""
import contextlib
import os

from .. import host, kept, postgres, recovery, usage, workload
from ..scenario import Measure, Part, Scenario, scale_of

PGBENCH = ('-n', '-M', 'prepared', '-c', '32', '-j', '4')

# Settings of the load.  Each WAL segment is kept, to be replayed.
LOAD = {'shared_buffers': '2GB', 'max_wal_size': '200GB', 'min_wal_size': '2GB',
        'wal_keep_size': '200GB', 'checkpoint_timeout': '30s', 'autovacuum': 'off',
        'max_connections': '100'}
RECOVERY = {'shared_buffers': '2GB', 'max_wal_size': '200GB', 'checkpoint_timeout': '1d',
            'autovacuum': 'off'}
# Huge pages might do for some of the servers only.
SLICES = {**LOAD, 'wal_keep_size': '0', 'max_wal_size': '4GB', 'checkpoint_timeout': '1d',
          'full_page_writes': 'on', 'huge_pages': 'off'}
TAKES = 6                       # slices of each server in a round
WARM_UP = 2                     # slices before the first take

# Configuration: server, full_page_writes, wal_compression.
LOADS = {'on': ('stock', 'on', 'off'), 'pglz': ('stock', 'on', 'pglz'),
         'lz4': ('stock', 'on', 'lz4'), 'lz4:transform': ('patched', 'on', 'lz4:transform'),
         'off': ('stock', 'off', 'off')}
# Configuration: server, wal_compression, other settings.
SERVERS = {'stock': ('stock', 'off', {}), 'patched': ('patched', 'off', {}),
           'patched/lz4:transform': ('patched', 'lz4:transform', {}),
           'kept/lz4:transform': ('patched', 'lz4:transform', {'wal_keep_block_data': 'on'})}


def scaled(size):
    """pgbench scale, seconds of load and of a slice: small, full, or a factor for full's time."""
    factor = scale_of(size)
    if factor is None:
        return {'scale': 5, 'seconds': 2, 'slice_seconds': 1}
    return {'scale': 100, 'seconds': max(1, round(60 * factor)),
            'slice_seconds': max(1, round(15 * factor))}


def make_base(bench, scale):
    """A crashed pgbench cluster, made once and kept; every run begins with a copy."""
    build = bench.builds['stock']
    home = os.path.join(bench.kept, 'images', f'pg{build.version}-s1-{scale}')
    directory = os.path.join(home, 'data')

    def make():
        bench.progress.say(f'filling a new cluster, pgbench scale {scale}')
        postgres.make_place(home)
        postgres.initialize(build, directory)
        with postgres.serving(build, directory, {'fsync': 'off', **RECOVERY}, home) as server:
            workload.pgbench(server, '-i', '-q', '-s', str(scale))
            server.sql('CHECKPOINT')
            # Crashed, so that a copy replays what was written after it.
            server.stop('immediate')
        os.sync()

    kept.find_or_make(home, {'scale': scale, 'settings': RECOVERY}, make, bench.progress.say)
    return directory


def pgbench(server, seconds, *more):
    """Load for some seconds after a checkpoint; returns its figures."""
    server.sql('CHECKPOINT')
    start = server.sql('SELECT pg_current_wal_insert_lsn()')[0][0]
    text = workload.pgbench(server, *PGBENCH, '-T', str(seconds), *more)
    end = server.sql('SELECT pg_current_wal_flush_lsn()')[0][0]
    rate = workload.rate_of(text)
    size = postgres.parse_lsn(end) - postgres.parse_lsn(start)
    return {'tps': rate.per_second, 'transactions': rate.transactions, 'wal_bytes': size,
            'wal_bytes_per_transaction': round(size / rate.transactions, 1)}


def measured(server, seconds, *more):
    """The same, with the CPU time of the server's processes."""
    before = usage.cpu_seconds_of_children(server.pid)
    run = pgbench(server, seconds, *more)
    used = usage.cpu_seconds_of_children(server.pid) - before
    return {**run, 'cpu_us_per_transaction': round(used / run['transactions'] * 1e6, 1)}


# ---------- loads ----------

@contextlib.contextmanager
def loads(bench, part):
    base = make_base(bench, part.facts['scale'])
    with bench.place('s1') as place:
        yield lambda name, number: load(bench, LOADS[name], base, place, part.facts['seconds'])


def load(bench, config, base, place, seconds):
    """Load and replay of one configuration; returns what was measured."""
    build = bench.builds[config[0]]
    directory, again = (os.path.join(place, name) for name in ('data', 'replay'))
    postgres.copy_cluster(base, directory)
    os.sync()                   # or the load would share the disk with the copy
    settings = {**LOAD, 'full_page_writes': config[1], 'wal_compression': config[2]}
    with postgres.serving(build, directory, settings, place, 'load.log') as server:
        server.prewarm('pgbench')
        run = measured(server, seconds)
        server.stop('immediate')
    postgres.copy_cluster(base, again)
    postgres.remove_tree(os.path.join(again, 'pg_wal'))
    postgres.move(os.path.join(directory, 'pg_wal'), os.path.join(again, 'pg_wal'))
    postgres.remove_tree(directory)
    run['cache'] = host.chill(again)
    host.fetch(build.program('postgres'))
    with postgres.serving(build, again, RECOVERY, place, 'replay.log') as server:
        elapsed, user, system = recovery.redo_times(server)
        server.stop('immediate')
    postgres.remove_tree(again)
    return {**run, 'replay_seconds': elapsed, 'replay_cpu_seconds': round(user + system, 2),
            'replay_tps': round(run['transactions'] / max(0.01, elapsed), 1)}


# ---------- slices ----------

@contextlib.contextmanager
def standing_by(bench, name, base, place, seconds):
    """A server on a copy of the base, all in shared buffers, that has done slices already.

    So WAL has as many segments as a slice takes.
    """
    postgres.make_directory(place)
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(base, directory)
    os.sync()
    build, _, more = SERVERS[name]
    with postgres.serving(bench.builds[build], directory, {**SLICES, **more}, place) as server:
        server.prewarm('pgbench')
        for _ in range(WARM_UP):
            pgbench(server, seconds)
        yield server


@contextlib.contextmanager
def slices(bench, part):
    base, seconds = make_base(bench, part.facts['scale']), part.facts['slice_seconds']
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(bench.place('s1'))
        servers = {name: stack.enter_context(standing_by(
            bench, name, base, os.path.join(place, f'slices-{at}'), seconds))
            for at, name in enumerate(SERVERS)}
        yield lambda names, number: [{'config': name, **one_slice(
            servers[name], SERVERS[name][1], seconds)} for name in names]


def one_slice(server, compression, seconds):
    return measured(server, seconds, f"dbname=postgres options='-c wal_compression={compression}'")


def parts(size):
    of = scaled(size)
    return (
        Part('load', f'loads of {of["seconds"]} s, pgbench scale {of["scale"]}, a checkpoint every '
             f'{LOAD["checkpoint_timeout"]}', tuple(LOADS), loads,
             facts={**of, 'settings': {'load': LOAD, 'replay': RECOVERY}}),
        Part('slices', f'slices of {of["slice_seconds"]} s in turn, full_page_writes on',
             tuple(SERVERS), slices, takes=TAKES, together=True,
             facts={**of, 'settings': SLICES, 'warm_up': WARM_UP}))


# 2013: pgbench scale 100, 900 s, a checkpoint every 5 minutes.
IN_2013 = tuple(('load', f'{name} (2013)', {
    'tps': tps, 'wal_bytes': size, 'replay_seconds': seconds, 'replay_tps': rate})
    for name, tps, size, seconds, rate in (
        ('on', 1344, 4422, 61, 19835), ('compress', 1606, 1517, 39, 37063),
        ('off', 1810, 885, 37, 44033)))

SCENARIO = Scenario(
    's1', 'compressed full-page images, as measured in 2013', parts, (
        Measure('tps', 'tps', '{:.0f}'), Measure('cpu_us_per_transaction', 'CPU us/tx', '{:.0f}'),
        Measure('wal_bytes', 'WAL MB', '{:.0f}', 1e-6),
        Measure('wal_bytes_per_transaction', 'WAL bytes/tx', '{:.0f}'),
        Measure('replay_seconds', 'replay s', '{:.1f}'),
        Measure('replay_tps', 'replay tx/s', '{:.0f}'),
        Measure('replay_cpu_seconds', 'replay CPU s', '{:.1f}')),
    (('patched', 'stock'), ('patched/lz4:transform', 'stock'),
     ('patched/lz4:transform', 'patched'), ('kept/lz4:transform', 'patched/lz4:transform'),
     *((first, 'on') for first in ('pglz', 'lz4', 'lz4:transform', 'off'))),
    ('tps', 'cpu_us_per_transaction', 'wal_bytes_per_transaction', 'replay_seconds'), IN_2013, (
        'Replay is the time of redo of all that WAL, from a cold cache, over a copy made before '
        'the load. A page has one image for each checkpoint, so the more transactions, the fewer '
        'images for each.',), space=16 << 30)

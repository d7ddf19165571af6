"""Scenario S1: compressed full-page images under pgbench, as measured in 2013.

pgbench -c 32 -j 4 -M prepared for a while over a table in shared buffers, with a
checkpoint every half a minute, with full-page images as they are, compressed,
and without: how many transactions a second, how much CPU time of the server and
how much WAL for each, and how long that takes to be replayed from a cold cache by
the server that wrote it, over a copy made before the load.  Configurations take
turns, round by round, and another is the first in each.  Transactions a second follow
how fast the machine and its disk are just then; WAL for each does so less: a page has
one image for each checkpoint, so the more transactions, the fewer images for each.
Slices of load in turn (s1_slices.py) tell what compression does to them all the same.
"""
import itertools
import os
import re
import resource
from dataclasses import dataclass

from . import host, postgres, report, s1_slices

CLIENTS, THREADS = 32, 4
DONE = re.compile(r'redo done at \S+ system usage: CPU: user: ([\d.]+) s, system: ([\d.]+) s, '
                  r'elapsed: ([\d.]+) s')

# Settings of the load.  Each WAL segment is kept, to be replayed.
LOAD = {'shared_buffers': '2GB', 'max_wal_size': '200GB', 'min_wal_size': '2GB',
        'wal_keep_size': '200GB', 'checkpoint_timeout': '30s', 'autovacuum': 'off',
        'max_connections': '100'}
RECOVERY = {'shared_buffers': '2GB', 'max_wal_size': '200GB', 'checkpoint_timeout': '1d',
            'autovacuum': 'off'}


@dataclass(frozen=True)
class Config:
    """One way to write WAL."""
    name: str
    build: str                  # stock or patched
    images: str                 # full_page_writes
    compression: str            # wal_compression

    @property
    def settings(self):
        return {'full_page_writes': self.images, 'wal_compression': self.compression}


CONFIGS = tuple(Config(*each) for each in (
    ('on', 'stock', 'on', 'off'),
    ('pglz', 'stock', 'on', 'pglz'),
    ('lz4', 'stock', 'on', 'lz4'),
    ('lz4:transform', 'patched', 'on', 'lz4:transform'),
    ('off', 'stock', 'off', 'off'),
))

PARTS = (*CONFIGS, s1_slices.NAME)
MEASURES = ('tps', 'transactions', 'load_cpu_seconds', 'cpu_us_per_transaction', 'wal_bytes',
            'wal_bytes_per_transaction', 'replay_seconds', 'replay_cpu_seconds', 'replay_tps')

# Rows of 2013: full_page_writes, transactions/s, MB of WAL, s and transactions/s of replay.
IN_2013 = (('on', 1344, 4422, 61, 19835), ('compress', 1606, 1517, 39, 37063),
           ('off', 1810, 885, 37, 44033))


def scaled(size):
    """pgbench scale, seconds of load and of a slice: small, full, or a factor for full's time."""
    if size == 'small':
        return {'scale': 5, 'seconds': 5, 'slice_seconds': 1}
    factor = 1 if size == 'full' else float(size)
    return {'scale': 100, 'seconds': max(1, round(60 * factor)),
            'slice_seconds': max(1, round(15 * factor))}


def parameters(of):
    return {'scale': of['scale'], 'load': LOAD}


def make_base(build, root, of, progress):
    """A crashed pgbench cluster, made once and kept; every run begins with a copy."""
    home = os.path.join(root, 'images', f'pg{build.version}-s1-{of["scale"]}')
    directory = os.path.join(home, 'data')
    if os.path.exists(os.path.join(home, 'complete')):
        return directory
    progress.say(f'filling a new cluster, pgbench scale {of["scale"]}')
    postgres.remove_tree(home)
    postgres.make_directory(os.path.join(root, 'images'))
    postgres.make_directory(home)
    postgres.initialize(build, directory)
    with postgres.Server(build, directory, {'fsync': 'off', 'autovacuum': 'off', **RECOVERY},
                         home, os.path.join(home, 'log')) as server:
        server.wait_ready()
        postgres.run([build.program('pgbench'), '-h', home, '-i', '-q', '-s', str(of['scale'])])
        server.sql('CHECKPOINT')
        # Crashed, so that a copy replays what was written after it.
        server.stop('immediate')
    os.sync()
    with open(os.path.join(home, 'complete'), 'w', encoding='ascii'):
        pass
    return directory


def children_cpu_seconds():
    """CPU time of processes that we have waited for, and of those that they have."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load(build, config, directory, place, of):
    """Let pgbench run and crash the server; returns what it did."""
    with postgres.Server(build, directory, {**LOAD, **config.settings}, place,
                         os.path.join(place, 'load.log')) as server:
        server.wait_ready()
        server.prewarm('pgbench')
        # What recovery of the copy has changed is written, and images begin anew.
        server.sql('CHECKPOINT')
        start = server.sql('SELECT pg_current_wal_insert_lsn()')[0][0]
        text = postgres.run([build.program('pgbench'), '-h', place, '-n', '-M', 'prepared',
                             '-c', str(CLIENTS), '-j', str(THREADS), '-T', str(of['seconds'])])
        end = server.sql('SELECT pg_current_wal_flush_lsn()')[0][0]
        before = children_cpu_seconds()
        server.stop('immediate')
    return {'tps': float(re.search(r'^tps = ([\d.]+)', text, re.MULTILINE)[1]),
            'load_cpu_seconds': round(children_cpu_seconds() - before, 2),
            'transactions': int(re.search(r'actually processed: (\d+)', text)[1]),
            'wal_bytes': postgres.parse_lsn(end) - postgres.parse_lsn(start)}


def replay(build, directory, place):
    """Recover from a cold cache; returns what redo took."""
    cache = host.chill(directory)
    host.fetch(build.program('postgres'))
    with postgres.Server(build, directory, RECOVERY, place,
                         os.path.join(place, 'replay.log')) as server:
        server.wait_ready()
        done = DONE.search(server.text())
        server.stop('immediate')
    if not done:
        raise postgres.PostgresError(f'no redo in {place}/replay.log')
    return {'replay_seconds': float(done[3]), 'cache': cache,
            'replay_cpu_seconds': round(float(done[1]) + float(done[2]), 2)}


def cpu_us(run):
    """Microseconds of the server's CPU time for a transaction."""
    return run['load_cpu_seconds'] / run['transactions'] * 1e6


def run_once(build, config, base, place, of):
    """Load and replay of one configuration; returns what was measured."""
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(base, directory)
    os.sync()                   # or the load would share the disk with the copy
    run = load(build, config, directory, place, of)
    again = os.path.join(place, 'replay')
    postgres.copy_cluster(base, again)
    postgres.remove_tree(os.path.join(again, 'pg_wal'))
    os.rename(os.path.join(directory, 'pg_wal'), os.path.join(again, 'pg_wal'))
    postgres.remove_tree(directory)
    run.update(replay(build, again, place))
    postgres.remove_tree(again)
    run['cpu_us_per_transaction'] = round(cpu_us(run), 1)
    run['wal_bytes_per_transaction'] = round(run['wal_bytes'] / run['transactions'], 1)
    run['replay_tps'] = round(run['transactions'] / max(0.01, run['replay_seconds']), 1)
    return run


def in_turn(configs, number):
    """Configurations in the order of a round.

    Another one is the first in each round, and every second goes backwards, so that
    none always follows the same other.
    """
    first = (number - 1) % max(1, len(configs))
    order = configs[first:] + configs[:first]
    return order if number % 2 else order[::-1]


def measure(builds, root, place, options, parts, runs, keep, progress):
    """All runs that are not among those given; gives each to keep()."""
    of = scaled(options.size)
    base = make_base(builds['stock'], root, of, progress)
    configs = [part for part in parts if part != s1_slices.NAME]
    wanted = [(number, config) for number in range(1, options.rounds + 1)
              for config in in_turn(configs, number)
              if not any((run['part'], run['round'], run['config']) ==
                         ('load', number, config.name) for run in runs)]
    left = s1_slices.tasks(options.rounds, runs) if s1_slices.NAME in parts else []
    for done, (number, config) in enumerate(wanted, 1):
        run = run_once(builds[config.build], config, base, place, of)
        keep({'part': 'load', 'round': number, 'config': config.name, **run})
        progress.say(f'round {number} {config.name}: {run["tps"]:.0f} tps, '
                     f'{cpu_us(run):.0f} us of CPU time for each, '
                     f'{run["wal_bytes"] / 1e6:.0f} MB of WAL, replay '
                     f'{run["replay_seconds"]:.1f} s; {progress.left(done, len(wanted) + len(left))}')
    if left:
        measure_slices(builds, base, place, of, left, len(wanted), keep, progress)


def measure_slices(builds, base, place, of, left, before, keep, progress):
    """Takes of slices that are left, after so many runs; gives the runs of each to keep()."""
    done = itertools.count(before + 1)

    def keep_take(take):
        keep(*take)
        told = '; '.join(f'{run["config"]} {run["tps"]:.0f} tps, '
                         f'{run["cpu_us_per_transaction"]:.0f} us of CPU time for each'
                         for run in take)
        progress.say(f'round {take[0]["round"]}, take {take[0]["take"]}: {told}; '
                     f'{progress.left(next(done), before + len(left))}')
    s1_slices.measure(builds, LOAD, base, place, {
        'clients': CLIENTS, 'threads': THREADS, 'seconds': of['slice_seconds']}, left, keep_take)


def medians(runs):
    """{part: {configuration: {measure: median}}}."""
    return report.medians_by(runs, 'part', MEASURES)


def markdown(result):
    """The report: the table of 2013, on today's PostgreSQL, and that of slices."""
    lines = [f'## S1 on {result["device_name"]}, size {result["size"]}', '',
             f'{result["device"]}; {result["cpus"]} × {result["cpu_model"]}, {result["kernel"]}; '
             f'PostgreSQL {result["postgresql"]["stock"]}; commit {result["commit"]}; '
             f'{result["date"]}. pgbench -c {CLIENTS} -j {THREADS} -M prepared, scale '
             f'{result["scale"]}.', '']
    if 'load' in result['medians']:
        lines += load_markdown(result)
    return '\n'.join(lines + s1_slices.markdown(result))


def load_markdown(result):
    """Lines of the report: medians of loads and their replay, beside those of 2013."""
    lines = [f'Loads of {result["seconds"]} s, a checkpoint every {LOAD["checkpoint_timeout"]}; '
             f'medians of {result["rounds"]} rounds.', '',
             '| full_page_writes | server | tps | CPU us/tx | WAL MB | WAL bytes/tx | replay s '
             '| replay tx/s | startup CPU s |', '|' + '---|' * 9]
    configs = {config.name: config for config in CONFIGS}
    for name, row in result['medians']['load'].items():
        config = configs[name]
        what = config.images if config.compression == 'off' else f'on, {config.compression}'
        lines.append(f'| {what} | {config.build} | {row["tps"]:.0f} '
                     f'| {row["cpu_us_per_transaction"]:.0f} | {row["wal_bytes"] / 1e6:.0f} '
                     f'| {row["wal_bytes_per_transaction"]:.0f} '
                     f'| {row["replay_seconds"]:.1f} | {row["replay_tps"]:.0f} '
                     f'| {row["replay_cpu_seconds"]:.1f} |')
    lines += [f'| *{images} (2013)* | | {tps} | | {size} | | {seconds} | {rate} | |'
              for images, tps, size, seconds, rate in IN_2013]
    return [*lines, '', 'Replay is the time of redo of all that WAL, from a cold cache, over a copy '
            'made before the load. In 2013: scale 100, 900 s, a checkpoint every 5 minutes.', '']

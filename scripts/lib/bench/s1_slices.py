"""The load of scenario S1 in slices: images as they are, and compressed, in turn.

How fast a machine is differs by tens of percents from minute to minute, which hides
what compression costs or gains.  So stock and the patched server both stand by, each
with a copy of the same cluster, and work in short slices, one after the other: stock
with images as they are, the patched server with images as they are, and with images
compressed by the transform and lz4.  Each take, of one slice of each, gives ratios to
stock; the order changes from take to take.  Each slice begins with a checkpoint, after
which a page's first change takes an image.  WAL goes into segments that were used
before, so that nobody has to fill new ones.
"""
import contextlib
import itertools
import os
import re
import statistics

from . import host, postgres

NAME = 'slices'                 # as in --config
# Name, server and wal_compression; ratios are to the first.
CONFIGS = (('stock', 'stock', 'off'), ('patched', 'patched', 'off'),
           ('lz4:transform', 'patched', 'lz4:transform'))
NAMES = tuple(name for name, _, _ in CONFIGS)
ORDERS = tuple(itertools.permutations(CONFIGS))
TAKES = 8                       # in a round
MEASURES = ('tps', 'cpu_us_per_transaction', 'wal_bytes_per_transaction')
SETTINGS_OF_WAL = {'wal_keep_size': '0', 'max_wal_size': '4GB', 'checkpoint_timeout': '1d'}


def tasks(rounds, runs):
    """What is left to do: (round, number of the take)."""
    done = {(run['round'], run['take'], run['config']) for run in runs if run['part'] == NAME}
    return [(number, take) for number in range(1, rounds + 1) for take in range(1, TAKES + 1)
            if not all((number, take, name) in done for name in NAMES)]


def one(server, compression, clients, threads, seconds):
    """A slice; returns its figures."""
    build, place = server.build, server.socket_directory
    server.sql('CHECKPOINT')
    start = server.sql('SELECT pg_current_wal_insert_lsn()')[0][0]
    before = host.cpu_seconds_of_children(server.pid)
    text = postgres.run([
        build.program('pgbench'), '-n', '-M', 'prepared', '-c', str(clients), '-j', str(threads),
        '-T', str(seconds),
        f"host='{place}' dbname=postgres options='-c wal_compression={compression}'"])
    used = host.cpu_seconds_of_children(server.pid) - before
    end = server.sql('SELECT pg_current_wal_flush_lsn()')[0][0]
    done = int(re.search(r'actually processed: (\d+)', text)[1])
    return {'tps': float(re.search(r'^tps = ([\d.]+)', text, re.MULTILINE)[1]),
            'transactions': done, 'cpu_us_per_transaction': round(used / done * 1e6, 1),
            'wal_bytes_per_transaction': round(
                (postgres.parse_lsn(end) - postgres.parse_lsn(start)) / done, 1)}


@contextlib.contextmanager
def standing_by(build, settings, base, place, load):
    """A server on a copy of the base that has done two slices already.

    First the table gets into memory, and WAL as many segments as a slice takes.
    """
    postgres.make_directory(place)
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(base, directory)
    with postgres.Server(build, directory, {
            **settings, **SETTINGS_OF_WAL, 'full_page_writes': 'on'}, place,
                         os.path.join(place, 'slices.log')) as server:
        server.wait_ready()
        for _ in range(2):
            one(server, 'off', **load)
        yield server


def measure(builds, settings, base, place, load, left, keep):
    """Takes that are left, on copies of the base; gives the runs of each to keep().

    load has clients, threads and seconds of a slice.
    """
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(standing_by(
            builds[name], settings, base, os.path.join(place, name), load))
                   for name in dict.fromkeys(server for _, server, _ in CONFIGS)}
        for number, take in left:
            order = ORDERS[((number - 1) * TAKES + take - 1) % len(ORDERS)]
            found = {name: one(servers[server], compression, **load)
                     for name, server, compression in order}
            keep([{'part': NAME, 'round': number, 'take': take, 'config': name, **found[name]}
                  for name in NAMES])


def whole_takes(runs):
    """[{config: run}] of the takes that have all of them."""
    takes = {}
    for run in runs:
        if run['part'] == NAME:
            takes.setdefault((run['round'], run['take']), {})[run['config']] = run
    return [take for take in takes.values() if len(take) == len(NAMES)]


def ratios(runs):
    """{'measure config/stock': (median, least, greatest)} of the ratios of takes."""
    first, *others = NAMES
    found = {}
    for name, value in itertools.product(others, MEASURES):
        each = [take[name][value] / take[first][value] for take in whole_takes(runs)]
        if each:
            found[f'{value} {name}/{first}'] = [round(ratio, 4) for ratio in (
                statistics.median(each), min(each), max(each))]
    return found


def markdown(result):
    """Lines of the report: medians of slices, and of the ratios of takes; none without."""
    if not result['ratios']:
        return []
    middle, found = result['medians'][NAME], result['ratios']
    titles = {'tps': 'tps', 'cpu_us_per_transaction': 'CPU us/tx',
              'wal_bytes_per_transaction': 'WAL bytes/tx'}
    lines = [f'In slices, {len(whole_takes(result["runs"]))} takes: medians, and those of the '
             'ratios within takes, with the least and the greatest.', '',
             f'| full_page_writes on | {" | ".join(titles.values())} |', '|---' * 4 + '|']
    for name in NAMES:
        lines.append(f'| {name} | '
                     + ' | '.join(f'{middle[name][value]:.0f}' for value in titles) + ' |')
    first, *others = NAMES
    for name in others:
        cells = ['{:.3f} ({:.3f} to {:.3f})'.format(*found[f'{value} {name}/{first}'])
                 for value in titles]
        lines.append(f'| {name}/{first} | {" | ".join(cells)} |')
    return [*lines, '']

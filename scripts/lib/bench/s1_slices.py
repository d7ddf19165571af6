"""The load of scenario S1 in slices: stock, the patched server, and compression, in turn.

How fast a machine is differs by tens of percents from minute to minute, which hides
what compression costs or gains.  So three servers stand by, each with a copy of the
same cluster, and work in short slices, one after the other: stock with images as they
are, the patched server with images as they are, and the patched server with images
compressed by the transform and lz4.  A take is one slice of each, and gives ratios.
The order of the three changes from take to take, through all that there are in a
round.  All clusters get older alike: a table takes more images for as many
transactions while it is new.  Each slice begins with a checkpoint, after which a page's
first change takes an image.  WAL goes into segments that were used before, so that
nobody has to fill new ones.
"""
import contextlib
import itertools
import os
import re
import statistics

from . import host, postgres

NAME = 'slices'                 # as in --config
# Configuration: server and wal_compression
CONFIGS = {'stock': ('stock', 'off'), 'patched': ('patched', 'off'),
           'patched lz4:transform': ('patched', 'lz4:transform')}
COMPARED = (('patched', 'stock'), ('patched lz4:transform', 'stock'),
            ('patched lz4:transform', 'patched'))
ORDERS = tuple(itertools.permutations(CONFIGS))
TAKES = len(ORDERS)             # in a round
WARM_UP = 2                     # slices before the first take
MEASURES = ('tps', 'cpu_us_per_transaction', 'wal_bytes_per_transaction')
# Huge pages might do for some of the servers only.
SETTINGS = {'wal_keep_size': '0', 'max_wal_size': '4GB', 'checkpoint_timeout': '1d',
            'full_page_writes': 'on', 'huge_pages': 'off'}
FACTS = {'settings': SETTINGS, 'configs': CONFIGS, 'takes': TAKES, 'warm_up': WARM_UP}


def tasks(rounds, runs):
    """What is left to do: (round, number of the take)."""
    done = {(run['round'], run['take'], run['config']) for run in runs if run['part'] == NAME}
    return [(number, take) for number in range(1, rounds + 1) for take in range(1, TAKES + 1)
            if not all((number, take, config) in done for config in CONFIGS)]


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
    """A server on a copy of the base, all in shared buffers, that has done slices already.

    So WAL has as many segments as a slice takes.
    """
    postgres.make_directory(place)
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(base, directory)
    os.sync()
    with postgres.Server(build, directory, {**settings, **SETTINGS}, place,
                         os.path.join(place, 'slices.log')) as server:
        server.wait_ready()
        server.prewarm('pgbench')
        for _ in range(WARM_UP):
            one(server, 'off', **load)
        yield server


def measure(builds, settings, base, place, load, left, keep):
    """Takes that are left, on copies of the base; gives the runs of each to keep().

    load has clients, threads and seconds of a slice.
    """
    with contextlib.ExitStack() as stack:
        servers = {config: stack.enter_context(standing_by(
            builds[name], settings, base, os.path.join(place, f'slices-{i}'), load))
                   for i, (config, (name, _)) in enumerate(CONFIGS.items())}
        for number, take in left:
            keep([{'part': NAME, 'round': number, 'take': take, 'config': config,
                   **one(servers[config], CONFIGS[config][1], **load)}
                  for config in ORDERS[take - 1]])


def whole_takes(runs):
    """[{config: run}] of the takes that have all of them."""
    takes = {}
    for run in runs:
        if run['part'] == NAME:
            takes.setdefault((run['round'], run['take']), {})[run['config']] = run
    return [take for take in takes.values() if len(take) == len(CONFIGS)]


def ratios(runs):
    """{'measure config/config': (median, least, greatest)} of the ratios within takes."""
    found = {}
    for (ours, theirs), name in itertools.product(COMPARED, MEASURES):
        each = [take[ours][name] / take[theirs][name] for take in whole_takes(runs)]
        if each:
            found[f'{name} {ours}/{theirs}'] = [round(ratio, 4) for ratio in (
                statistics.median(each), min(each), max(each))]
    return found


def markdown(result):
    """Lines of the report: medians of slices, and of the ratios within takes; or none."""
    if not result['ratios']:
        return []
    middle, found = result['medians'][NAME], result['ratios']
    lines = [f'In slices of {result["slice_seconds"]} s, {len(whole_takes(result["runs"]))} takes '
             'with full_page_writes on: medians, and those of the ratios within takes, with the '
             'least and the greatest.', '',
             '| | tps | CPU us/tx | WAL bytes/tx |', '|---' * 4 + '|']
    for config in CONFIGS:
        cells = [f'{middle[config][name]:.0f}' for name in MEASURES]
        lines.append(f'| {config} | {" | ".join(cells)} |')
    for ours, theirs in COMPARED:
        cells = ['{:.3f} ({:.3f} to {:.3f})'.format(*found[f'{name} {ours}/{theirs}'])
                 for name in MEASURES]
        lines.append(f'| {ours} / {theirs} | {" | ".join(cells)} |')
    return [*lines, '']

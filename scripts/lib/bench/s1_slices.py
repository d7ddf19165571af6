"""The load of scenario S1 in slices: images as they are, and compressed, in turn.

How fast a machine is differs by tens of percents from minute to minute, which hides
what compression costs or gains.  So one patched server works in short slices, now with
images as they are, now compressed by the transform and lz4, and each pair of
neighbours gives a ratio.  Each slice begins with a checkpoint, after which a page's
first change takes an image; the order within a pair changes from pair to pair.  WAL
goes into segments that were used before, so that nobody has to fill new ones.
"""
import os
import re
import statistics

from . import host, postgres

NAME = 'slices'                 # as in --config
SETTINGS = ('off', 'lz4:transform')
PAIRS = 8                       # in a round
MEASURES = ('tps', 'cpu_us_per_transaction', 'wal_bytes_per_transaction')
SETTINGS_OF_WAL = {'wal_keep_size': '0', 'max_wal_size': '4GB', 'checkpoint_timeout': '1d'}
RATIO = f'{SETTINGS[1]}/{SETTINGS[0]}'


def tasks(rounds, runs):
    """What is left to do: (round, number of the pair)."""
    done = {(run['round'], run['pair'], run['config']) for run in runs if run['part'] == NAME}
    return [(number, pair) for number in range(1, rounds + 1) for pair in range(1, PAIRS + 1)
            if not all((number, pair, setting) in done for setting in SETTINGS)]


def one(server, setting, clients, threads, seconds):
    """A slice; returns its figures."""
    build, place = server.build, server.socket_directory
    server.sql('CHECKPOINT')
    start = server.sql('SELECT pg_current_wal_insert_lsn()')[0][0]
    before = host.cpu_seconds_of_children(server.pid)
    text = postgres.run([
        build.program('pgbench'), '-n', '-M', 'prepared', '-c', str(clients), '-j', str(threads),
        '-T', str(seconds),
        f"host='{place}' dbname=postgres options='-c wal_compression={setting}'"])
    used = host.cpu_seconds_of_children(server.pid) - before
    end = server.sql('SELECT pg_current_wal_flush_lsn()')[0][0]
    done = int(re.search(r'actually processed: (\d+)', text)[1])
    return {'tps': float(re.search(r'^tps = ([\d.]+)', text, re.MULTILINE)[1]),
            'transactions': done, 'cpu_us_per_transaction': round(used / done * 1e6, 1),
            'wal_bytes_per_transaction': round(
                (postgres.parse_lsn(end) - postgres.parse_lsn(start)) / done, 1)}


def measure(build, settings, base, place, load, left, keep):
    """Slices that are left, on a copy of the base; gives each pair to keep().

    load has clients, threads and seconds of a slice.
    """
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(base, directory)
    with postgres.Server(build, directory, {
            **settings, **SETTINGS_OF_WAL, 'full_page_writes': 'on'}, place,
                         os.path.join(place, 'slices.log')) as server:
        server.wait_ready()
        # First the table gets into memory, and WAL as many segments as a slice takes.
        for _ in range(2):
            one(server, SETTINGS[0], **load)
        for number, pair in left:
            order = SETTINGS if pair % 2 else SETTINGS[::-1]
            found = {setting: one(server, setting, **load) for setting in order}
            keep([{'part': NAME, 'round': number, 'pair': pair, 'config': setting, **run}
                  for setting, run in found.items()])
        server.stop('immediate')
    postgres.remove_tree(directory)


def ratios(runs):
    """{measure: (median, least, greatest)} of the ratios of pairs, compressed to not."""
    pairs = {}
    for run in runs:
        if run['part'] == NAME:
            pairs.setdefault((run['round'], run['pair']), {})[run['config']] = run
    whole = [[pair[setting] for setting in SETTINGS] for pair in pairs.values()
             if len(pair) == len(SETTINGS)]
    found = {}
    for name in MEASURES:
        each = [compressed[name] / plain[name] for plain, compressed in whole]
        if each:
            found[f'{name} {RATIO}'] = [round(value, 4) for value in (
                statistics.median(each), min(each), max(each))]
    return found


def markdown(middle, found, pairs):
    """Lines of the report: medians of slices, and of the ratios of pairs."""
    titles = {'tps': 'tps', 'cpu_us_per_transaction': 'CPU us/tx',
              'wal_bytes_per_transaction': 'WAL bytes/tx'}
    lines = [f'In slices, {pairs} pairs: median of each, and of the ratios of pairs, the least and '
             'the greatest of them.', '',
             f'| on, by wal_compression | {" | ".join(titles.values())} |', '|---' * 4 + '|']
    for setting in SETTINGS:
        lines.append(f'| {setting} | '
                     + ' | '.join(f'{middle[setting][name]:.0f}' for name in titles) + ' |')
    cells = ['{:.3f} ({:.3f} to {:.3f})'.format(*found[f'{name} {RATIO}']) for name in titles]
    return [*lines, f'| {RATIO} | {" | ".join(cells)} |', '']

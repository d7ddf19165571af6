"""Scenario S4: defragmenting pages, as measured in 2020 for PostgreSQL 14.

Ten million rows of two integers, twelve million updates of single rows all over
them: crash recovery of that load with all in memory, and VACUUM of the table
as the load left it.  Servers take turns: stock, the patched one alone and with
extension and daemon, and stock that defragments pages as PostgreSQL 13 did
(scripts/build-postgresql pg13-compactify).  The report is s4_report.py's.
"""
import os

from . import config, host, image, recovery, report, trace, vacuum, workload
from .config import EXTENSION, STOCK_DEFAULT

SERVERS = ('stock', 'patched', 'pg13-compactify')
TAKES = 5                       # VACUUMs of each server in a round
SHOWN = {'log_startup_progress_interval': '100ms'}      # for plots

CONFIGS = (
    config.Config('pg13', 'PostgreSQL 13\'s way', 'pg13-compactify', {**STOCK_DEFAULT, **SHOWN},
                  warm=True),
    config.Config('stock', 'stock', 'stock', {**STOCK_DEFAULT, **SHOWN}, warm=True),
    config.Config('patched', 'patched', 'patched', {**STOCK_DEFAULT, **SHOWN}, warm=True),
    config.Config('redoahead', 'patched, extension, daemon', 'patched', {**EXTENSION, **SHOWN},
                  daemon=True, warm=True),
)

# What is condensed to medians.
MEASURES = ('redo_seconds', 'startup_cpu_seconds', 'updates_per_second', 'daemon_cpu_seconds',
            'vacuum_seconds', 'vacuum_cpu_seconds', 'pages', 'tuples_removed', 'wal_bytes')
PAIRS = (('stock', 'patched'), ('stock', 'redoahead'), ('pg13', 'stock'), ('pg13', 'patched'),
         ('pg13', 'redoahead'))
RATIOS = {'redo_seconds': 'redo', 'startup_cpu_seconds': 'redo', 'vacuum_seconds': 'vacuum',
          'vacuum_cpu_seconds': 'vacuum'}


def thousands(size):
    """Thousands of rows: 2020's, 50, or a factor."""
    return {'small': 50, 'full': 10000}.get(size) or max(50, round(10000 * float(size)))


def find_image(root, size, builds, say):
    """The crashed cluster of a size, which S5 uses, too."""
    load = workload.narrow('narrow', thousands(size), {
        'shared_buffers': '512MB' if size == 'small' else '4GB', 'full_page_writes': 'off'},
        from_base=True, keep_end=True)
    host.require_space(root, (thousands(size) << 20) + (1 << 30))
    return image.find_or_make(root, load, size, builds['stock'], say)


def tasks(rounds, configs, runs):
    """What is left to do, in order: (measure, round, configuration, take)."""
    done = {(run['measure'], run['round'], run['config'], run['take']) for run in runs}
    wanted = [(what, number, each, take) for number in range(1, rounds + 1)
              for what, takes in (('redo', 1), ('vacuum', TAKES))
              for take in range(1, takes + 1) for each in configs
              if what == 'redo' or not each.daemon]
    return [task for task in wanted if (task[0], task[1], task[2].name, task[3]) not in done]


def measure(crashed, builds, program, place, options, configs, result, progress):
    """All runs that the result does not have yet."""
    left = tasks(options.rounds, configs, result.runs)
    for done, (what, number, each, take) in enumerate(left, 1):
        if what == 'redo':
            run = redo(crashed, each, builds, program, place, number, options, progress)
            took = f'redo {run["redo_seconds"]:.2f} s, startup CPU {run["startup_cpu_seconds"]:.2f} s'
        else:
            run = vacuum.run_once(builds[each.build], crashed, {}, place)
            took = f'VACUUM {run["vacuum_seconds"]:.3f} s, CPU {run["vacuum_cpu_seconds"]:.3f} s'
        result.keep({**run, 'measure': what, 'round': number, 'take': take, 'config': each.name})
        progress.say(f'round {number} {each.name}: {took}; {progress.left(done, len(left))}')


def redo(crashed, each, builds, program, place, number, options, progress):
    """One recovery, with its tables for plots where they are wanted."""
    show = progress.of_redo(f'round {number} {each.name}', crashed)
    with trace.Watch(place, crashed, show) as watch:
        run = recovery.recover(crashed, each, builds, program, place, watch.tell)
    if options.output:
        watch.write(stem(options.output, each.name, number), run)
    updates = crashed.facts['primary']['transactions']
    return {**run, 'updates_per_second': round(updates / max(0.01, run['redo_seconds']), 1)}


def stem(output, name, number):
    """Where the tables of a recovery lie, without what tells them apart."""
    directory = os.path.join(output, 'traces')
    os.makedirs(directory, exist_ok=True)
    return os.path.join(directory, f's4-{name}-{number}')


def medians(runs):
    """{'redo' or 'vacuum': {configuration: {measure: median}}}."""
    return report.medians_by(runs, 'measure', MEASURES)


def ratios(middle):
    """{measure: {'a/b': a ÷ b}}; more than 1 means that b takes less."""
    found = {}
    for name, what in RATIOS.items():
        rows = middle.get(what, {})
        found[name] = {f'{a}/{b}': round(rows[a][name] / rows[b][name], 3) for a, b in PAIRS
                       if a in rows and b in rows and rows[b][name] > 0}
    return found

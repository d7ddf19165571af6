"""S5: clearing the space of removed tuples, as proposed in 2021.

The patched server with clear_page_space off and on, in turn:

    pgbench     transactions of pgbench -N on tmpfs without fsync, so that nothing but the
                CPU counts: half of the sessions with off, the other half with on, at the
                same time in one server; per second, and per second of the CPU time of their
                sessions
    vacuum      VACUUM of the table of S4 as its load left it
    zstd, lzo   bytes on disk of a table whose rows were updated many times, after VACUUM, on
                btrfs with that compression (compressed.py); once

Whether a setting costs one percent does not show in loads that follow each other, where a
machine differs by ten from minute to minute.  Sessions that run at the same time share its
CPUs alike.  How much of a CPU each gets is chance all the same; transactions per second of
CPU time do not depend on that.
"""
import contextlib
import functools
import os
import time
from concurrent import futures

from .. import compressed, loop, postgres, usage, vacuum, workload
from ..scenario import Measure, Part, Scenario, scale_of
from . import s4

SETTINGS = ('off', 'on')
CLIENTS = 4                     # sessions with each setting
SLICES = 8                      # of load, in a round
TAKES = 5                       # VACUUMs with each setting in a round
SESSION = 's5 '                 # how names of pgbench's sessions begin, before the setting

LOAD = {'shared_buffers': '1GB', 'fsync': 'off', 'synchronous_commit': 'off',
        'full_page_writes': 'off', 'autovacuum': 'off', 'checkpoint_timeout': '1d',
        'max_wal_size': '2GB', 'min_wal_size': '80MB'}


def scaled(size):
    """Scale and seconds of a slice of pgbench, rows of the table on btrfs."""
    factor = scale_of(size)
    if factor is None:
        return {'scale': 2, 'seconds': 1, 'rows': 20000}
    return {'scale': 20, 'seconds': 5, 'rows': max(20000, round(1200000 * factor))}


# ---------- pgbench ----------

@contextlib.contextmanager
def slices(bench, part):
    """A server with pgbench's tables, and slices of load on it."""
    build, of = bench.builds['patched'], part.facts
    with bench.place('s5', memory=True) as place:
        directory = os.path.join(place, 'pgbench')
        postgres.initialize(build, directory)
        with postgres.serving(build, directory, LOAD, place) as server:
            workload.pgbench(server, '-i', '-q', '-s', str(of['scale']))
            # Pages are full, and pruned, only after a while.
            one_slice(server, SETTINGS, of['seconds'])
            yield lambda settings, number: one_slice(server, settings, of['seconds'])


def one_slice(server, settings, seconds):
    """Some seconds of load by both halves of the sessions; returns the runs."""
    server.sql('CHECKPOINT')
    with futures.ThreadPoolExecutor(len(settings)) as pool:
        loads = {setting: pool.submit(pgbench, server, setting, seconds) for setting in settings}
        used = cpu_seconds(sessions(server, loads), loads)
    rates = {setting: workload.rate_of(load.result()) for setting, load in loads.items()}
    return [{'config': setting, 'tps': round(rate.per_second, 2),
             'transactions_per_cpu_second': round(rate.transactions / used[setting], 2)}
            for setting, rate in rates.items()]


def pgbench(server, setting, seconds):
    return workload.pgbench(
        server, '-n', '-N', '-M', 'prepared', '-c', str(CLIENTS), '-j', '1', '-T', str(seconds),
        f"dbname=postgres application_name='{SESSION}{setting}' "
        f"options='-c clear_page_space={setting}'")


def sessions(server, loads):
    """The backends of running loads, {setting: process ids}, all of them."""
    found, before = {}, None
    # pgbench's first connection of all, and those of the last slice, go soon.
    while found != before or any(len(pids) != CLIENTS for pids in found.values()):
        if any(load.done() for load in loads.values()):
            raise postgres.PostgresError('pgbench ended before its sessions were seen:\n' +
                                         '\n'.join(load.result() for load in loads.values()))
        rows = server.sql('SELECT application_name, pid FROM pg_stat_activity '
                          f"WHERE application_name LIKE '{SESSION}%' ORDER BY pid")
        before = found
        found = {setting: [pid for name, pid in rows if name == SESSION + setting]
                 for setting in loads}
    return found


def cpu_seconds(pids_of, loads):
    """CPU time of the sessions of each load until its end, {setting: seconds}."""
    used = {pid: None for pids in pids_of.values() for pid in pids}
    while not all(load.done() for load in loads.values()):
        for pid in used:
            used[pid] = usage.process_schedule_seconds(pid) or used[pid]
        time.sleep(0.01)
    if None in used.values():
        raise postgres.PostgresError('a session of pgbench was gone before its CPU time was seen')
    return {setting: sum(used[pid] for pid in pids) for setting, pids in pids_of.items()}


# ---------- VACUUM, bytes on disk ----------

@contextlib.contextmanager
def vacuums(bench, part):
    with bench.place('s5') as place:
        yield lambda setting, number: vacuum.run_once(
            bench.builds['patched'], bench.images[part.name], {'clear_page_space': setting}, place)


@contextlib.contextmanager
def tables(bench, part):
    with bench.place('s5', clear=loop.remove) as place:
        yield lambda setting, number: compressed.run_once(
            bench.builds['patched'], setting, part.name, part.facts['rows'], place)


def parts(size):
    of = scaled(size)
    return (
        Part('pgbench', f'pgbench -N on tmpfs, scale {of["scale"]}, slices of {of["seconds"]} s',
             SETTINGS, slices, takes=SLICES, together=True, facts={**of, 'settings': LOAD}),
        Part('vacuum', 'VACUUM of the table of S4', SETTINGS, vacuums, s4.load_of(size),
             takes=TAKES, facts={'settings': vacuum.SETTINGS}),
        *(Part(method, f'a table on btrfs, compress-force={method}', SETTINGS, tables, once=True,
               missing=functools.partial(compressed.missing, method),
               facts={**of, 'settings': compressed.SETTINGS}) for method in compressed.METHODS))


SCENARIO = Scenario(
    's5', 'clearing the empty space of pages, as proposed in 2021', parts, (
        Measure('tps', 'tps', '{:.0f}'),
        Measure('transactions_per_cpu_second', 'tx/CPU s', '{:.0f}'),
        Measure('vacuum_seconds', 'VACUUM s', '{:.3f}'),
        Measure('vacuum_cpu_seconds', 'its CPU s', '{:.3f}'),
        Measure('table_bytes', 'table MB', '{:.1f}', 1e-6),
        Measure('live_bytes', 'live MB', '{:.1f}', 1e-6),
        Measure('disk_bytes', 'on disk MB', '{:.1f}', 1e-6)),
    (('on', 'off'),), ('tps', 'transactions_per_cpu_second', 'vacuum_seconds',
                       'vacuum_cpu_seconds', 'disk_bytes'),
    (('pgbench', 'off (2021, ZFS)', {'tps': 14180}), ('pgbench', 'on (2021, ZFS)', {'tps': 14050})),
    ('The table on btrfs: each row was updated about six times while an old transaction was open, '
     'then VACUUM removed the dead versions. In 2021 segments of 1 GB shrank from over 400 to 30 '
     'to 60 MB; how much of them was live was not published.',), space=12 << 30)

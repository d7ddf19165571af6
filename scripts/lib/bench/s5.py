"""Scenario S5: clearing the space of removed tuples, as proposed in 2021.

The patched server with clear_page_space off and on, in turn:

    pgbench     transactions of pgbench -N on tmpfs without fsync, so that nothing
                but the CPU counts: half of the sessions with off, the other half
                with on, at the same time in one server; per second, and per second
                of the CPU time of their sessions
    vacuum      VACUUM of the table of S4 as its load left it
    zstd, lz4,  bytes on disk of a table whose rows were updated many times, after
    lzo         VACUUM, on btrfs with that compression (compressed.py); once

Whether a setting costs one percent does not show in loads that follow each
other, where a machine differs by ten from minute to minute.  Sessions that run
at the same time share its CPUs alike: who does more for a transaction has fewer.
Who gets how much of a CPU is chance all the same; transactions per second of CPU
time do not depend on that.
The report is s5_report.py's.
"""
import itertools
import os
import re
import statistics
import time
from concurrent import futures

from . import compressed, host, postgres, report, vacuum

SETTINGS = ('off', 'on')
PARTS = ('pgbench', 'vacuum', *compressed.METHODS)
CLIENTS = 4                     # sessions with each setting
SLICES = 8                      # of load, in a round
TAKES = 5                       # VACUUMs with each setting in a round

LOAD = {'shared_buffers': '1GB', 'fsync': 'off', 'synchronous_commit': 'off',
        'full_page_writes': 'off', 'autovacuum': 'off', 'checkpoint_timeout': '1d',
        'max_wal_size': '2GB', 'min_wal_size': '80MB'}

LOAD_MEASURES = ('tps', 'transactions_per_cpu_second')
SESSION = 's5 '                 # how names of pgbench's sessions begin, before the setting

MEASURES = (*LOAD_MEASURES, 'vacuum_seconds', 'vacuum_cpu_seconds', 'pages',
            'table_bytes', 'live_bytes', 'disk_bytes')
TOLD = (('tps', 'tps'), ('transactions_per_cpu_second', 'per CPU second'),
        ('vacuum_seconds', 's'), ('vacuum_cpu_seconds', 's CPU'),
        ('disk_bytes', 'bytes on disk'))


def scaled(size):
    """Scale and seconds of a slice of pgbench, rows of the table on btrfs."""
    if size == 'small':
        return {'scale': 2, 'seconds': 1, 'rows': 20000}
    factor = 1 if size == 'full' else float(size)
    return {'scale': 20, 'seconds': 5, 'rows': max(20000, round(1200000 * factor))}


def order(number):
    """Which setting comes first, now the one, now the other."""
    return SETTINGS if number % 2 else SETTINGS[::-1]


def tasks(rounds, parts, runs):
    """What is left to do, in order: (part, round, setting, take).

    Of pgbench, both settings at once: the setting is None.
    """
    done = {(run['part'], run['round'], run['config'], run['take']) for run in runs}
    wanted = []
    for part in parts:
        for number in range(1, rounds + 1):
            if part == 'pgbench':
                wanted += [(part, number, None, take) for take in range(1, SLICES + 1)
                           if not all((part, number, each, take) in done for each in SETTINGS)]
            elif part == 'vacuum':
                wanted += [(part, number, each, take) for take in range(1, TAKES + 1)
                           for each in order(number + take)]
            elif number == 1:
                wanted += [(part, number, each, 1) for each in SETTINGS]
    return [task for task in wanted if task not in done]


def keeper(result, progress, total):
    """A function(task, run) that keeps a run and tells of it."""
    done = itertools.count(1)

    def keep(task, found):
        part, number, _, take = task
        for setting, run in found.items():
            result.keep({**run, 'part': part, 'round': number, 'take': take, 'config': setting})
        told = '; '.join(f'{setting} ' + ', '.join(f'{run[name]} {unit}' for name, unit in TOLD
                                                   if name in run)
                         for setting, run in found.items())
        progress.say(f'{part}, round {number}: {told}; {progress.left(next(done), total)}')
    return keep


# ---------- pgbench ----------

class Load:
    """A server with pgbench's tables, and slices of load on it."""

    def __init__(self, build, place, of):
        self.build, self.place, self.of = build, place, of
        directory = os.path.join(place, 'pgbench')
        postgres.initialize(build, directory)
        self.server = postgres.Server(build, directory, LOAD, place,
                                      os.path.join(place, 'pgbench.log'))
        self.server.wait_ready()
        postgres.run([build.program('pgbench'), '-h', place, '-i', '-q', '-s', str(of['scale'])])
        # Pages are full, and pruned, only after a while.
        self.slice(SETTINGS)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.server.stop('immediate')
        postgres.remove_tree(self.server.directory)

    def slice(self, settings):
        """Some seconds of load by both halves of the sessions; returns {setting: figures}."""
        self.server.sql('CHECKPOINT')
        with futures.ThreadPoolExecutor(len(settings)) as pool:
            loads = {setting: pool.submit(self.pgbench, setting) for setting in settings}
            used = cpu_seconds(self.sessions(loads), loads)
        return {setting: {
            'tps': round(figure(r'^tps = ([\d.]+)', load.result()), 2),
            'transactions_per_cpu_second': round(figure(
                r'transactions actually processed: (\d+)', load.result()) / used[setting], 2)
        } for setting, load in loads.items()}

    def sessions(self, loads):
        """The backends of running loads, {setting: process ids}, all of them."""
        found, before = {}, None
        # pgbench's first connection of all, and those of the last slice, go soon.
        while found != before or any(len(pids) != CLIENTS for pids in found.values()):
            if any(load.done() for load in loads.values()):
                raise postgres.PostgresError('pgbench ended before its sessions were seen:\n'
                                             + '\n'.join(load.result() for load in loads.values()))
            rows = self.server.sql('SELECT application_name, pid FROM pg_stat_activity '
                                   f"WHERE application_name LIKE '{SESSION}%' ORDER BY pid")
            before = found
            found = {setting: [pid for name, pid in rows if name == SESSION + setting]
                     for setting in loads}
        return found

    def pgbench(self, setting):
        return postgres.run([
            self.build.program('pgbench'), '-h', self.place, '-n', '-N', '-M', 'prepared',
            '-c', str(CLIENTS), '-j', '1', '-T', str(self.of['seconds']),
            f"dbname=postgres application_name='{SESSION}{setting}' "
            f"options='-c clear_page_space={setting}'"])


def cpu_seconds(sessions, loads):
    """CPU time of the sessions of each load until its end, {setting: seconds}."""
    used = {pid: None for pids in sessions.values() for pid in pids}
    while not all(load.done() for load in loads.values()):
        for pid in used:
            used[pid] = host.process_schedule_seconds(pid) or used[pid]
        time.sleep(0.01)
    if None in used.values():
        raise postgres.PostgresError('a session of pgbench was gone before its CPU time was seen')
    return {setting: sum(used[pid] for pid in pids) for setting, pids in sessions.items()}


def figure(pattern, text):
    """A number of what pgbench printed."""
    return float(re.search(pattern, text, re.MULTILINE)[1])


def measure_pgbench(build, place, of, left, keep):
    if left:
        with Load(build, place, of) as load:
            for task in left:
                keep(task, load.slice(order(task[3])))


# ---------- VACUUM, bytes on disk ----------

def measure_vacuum(build, crashed, place, left, keep):
    for task in left:
        run = vacuum.run_once(build, crashed, {'clear_page_space': task[2]}, place)
        keep(task, {task[2]: run})


def measure_disk(build, place, of, left, keep):
    for task in left:
        run = compressed.run_once(build, task[2], task[0], of['rows'], place)
        keep(task, {task[2]: run})


# ---------- what is made of it ----------

def medians(runs):
    """{part: {setting: {measure: median}}}."""
    return report.medians_by(runs, 'part', MEASURES)


def pairs(runs):
    """(off, on) of pgbench's sessions that ran at the same time."""
    slices = {}
    for run in runs:
        if run['part'] == 'pgbench':
            slices.setdefault((run['round'], run['take']), {})[run['config']] = run
    return [(each['off'], each['on']) for each in slices.values() if len(each) == 2]


def ratios(middle, runs):
    """{measure: ratio}: on ÷ off, but off ÷ on of bytes.

    Those of pgbench are medians of those of slices.
    """
    found = {}
    for name in LOAD_MEASURES:
        # Results of before a measure was taken lack it.
        of_slices = [on[name] / off[name] for off, on in pairs(runs) if name in on and name in off]
        if of_slices:
            found[f'{name} on/off'] = round(statistics.median(of_slices), 4)
    for part, rows in middle.items():
        if part == 'pgbench' or set(rows) != set(SETTINGS):
            continue
        if part == 'vacuum':
            for name in ('vacuum_seconds', 'vacuum_cpu_seconds'):
                found[f'{name} on/off'] = round(rows['on'][name] / rows['off'][name], 4)
        else:
            found[f'{part} disk_bytes off/on'] = round(
                rows['off']['disk_bytes'] / rows['on']['disk_bytes'], 3)
    return found

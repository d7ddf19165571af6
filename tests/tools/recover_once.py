#!/usr/bin/python3
"""Recover one small crashed cluster on a device, and report what happened, as JSON.

The cluster is made by scripts/lib/bench, once for all recoveries in WORK.  The
copy stays as redo left it, before any session: in WORK/NAME.data, copied there
from the device.  What is reported is what the benchmarks record of a run, and for
a run with the daemon

    daemon_bytes   what it had made devices read at the end of recovery, and
                   after the server had stopped
    daemon_faults  its page faults until then that had to read, likewise
    stats          its statistics file
    timeline       the rows of its timeline

With SECONDS, a recovery whose redo takes longer is ended.  Nothing is kept of it, and
what is reported of it is

    unfinished_seconds  how long redo had taken by then
    disk_model          the state of the disk model, as of any other run

usage: recover_once.py WORK DEVICE CONFIG NAME [SECONDS]

DEVICE and CONFIG are names that scripts/bench knows.
"""
import contextlib
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../scripts/lib'))

from bench import config, device, host, image, postgres, recovery, usage  # noqa: E402
from bench import script, trace, workload  # noqa: E402

# Enough blocks that each of eight disks gets thousands, in seconds of reading.
WORKLOAD = workload.Workload(
    'devices', 'pgbench -N, small', 40, 16000, {'shared_buffers': '512MB', 'full_page_writes': 'off'},
    workload.prepare_pgbench, workload.load_simple_update)


class Ending(host.Sampler):
    """Notes what the daemon had read when it logged that recovery had ended, and at its own end."""

    def __init__(self, place):
        super().__init__(0.01)
        self.log = os.path.join(place, 'daemon.log')
        self.statistics = os.path.join(place, 'stats.json')
        self.bytes = []         # that it had made devices read, then and last
        self.faults = []        # its major page faults, likewise

    def sample(self):
        with contextlib.suppress(OSError, ValueError):      # it has not begun, or has gone
            with open(self.log, encoding='utf-8') as file:
                ended = 'recovery ended' in file.read()
            with open(self.statistics, encoding='utf-8') as file:
                pid = json.load(file)['pid']
            faults = usage.process_major_faults(pid)
            read = usage.process_device_bytes(pid)
            if ended and read is not None:
                self.bytes = [*self.bytes[:1], read]
                self.faults = [*self.faults[:1], faults]


class Unfinished(Exception):
    """Redo took longer than the limit."""

    def __init__(self, seconds):
        super().__init__(seconds)
        self.seconds = seconds  # that it had taken by then


def limited_to(limit):
    """A progress function that ends a recovery after so many seconds of redo, if any."""
    def show(seconds, lsn):
        if limit and seconds > limit:
            raise Unfinished(seconds)
    return show


def recover(stage, configuration, builds, place, limit):
    """One recovery on a stage, with all that is to be reported of it."""
    timeline = os.path.join(place, 'timeline')
    with Ending(place) as ending, trace.Watch(os.path.dirname(stage.directory), stage.image,
                                              limited_to(limit), stage.model) as watch:
        try:
            run = recovery.recover(
                stage.image, configuration, builds, place, watch.note,
                pristine=True, conditions=recovery.Conditions(
                    directory=stage.directory, copy=stage.copy, timeline=timeline))
        except Unfinished as unfinished:
            return {'unfinished_seconds': round(unfinished.seconds, 2),
                    'disk_model': watch.model_at_end({'redo_seconds': unfinished.seconds})}
    run.update(watch.figures(run))
    if configuration.daemon:
        run['daemon_bytes'] = ending.bytes
        run['daemon_faults'] = ending.faults
        with open(ending.statistics, encoding='utf-8') as file:
            run['stats'] = json.load(file)
        run['timeline'] = trace.read_table(timeline)
    return run


def main():
    if len(sys.argv) not in (5, 6) or not re.fullmatch(r'[\w-]+', sys.argv[4]):
        print('usage: recover_once.py WORK DEVICE CONFIG NAME [SECONDS]', file=sys.stderr)
        return 2
    work, where, configuration = script.claim(sys.argv[1]), sys.argv[2], config.CONFIGS[sys.argv[3]]
    limit = float(sys.argv[5]) if len(sys.argv) > 5 else None
    kept = os.path.join(work, f'{sys.argv[4]}.data')
    builds = {'stock': postgres.find_build('stock'), 'patched': script.find_patched()}
    crashed = image.find_or_make(work, WORKLOAD, 'small', builds,
                                 lambda text: print(text, file=sys.stderr))
    with script.work_place(work, 'place') as place, \
            device.find(where, work).stage(crashed, lambda text: None) as stage:
        run = recover(stage, configuration, builds, place, limit)
        if 'unfinished_seconds' not in run:
            postgres.make_place(kept)
            postgres.run(['cp', '-a', '-T', stage.directory, kept])
            recovery.count_blocks(run, stage.image, configuration, builds, place, stage.directory)
    print(json.dumps(run))
    return 0


script.run_main('recover_once', main)

"""One timed recovery of a crashed cluster, and what was measured.

The copy of the image, the state of the page cache and the start of the daemon
come before the clock; the server measures redo itself ("redo done").  A run
that did not do what its configuration names raises RunRejected: there is no
silent fallback.

Coverage is measured from outside: of the blocks that redo read, those for
which the startup process did not have to read from the device.  A block that is
already on its way when redo needs it counts as covered.
"""
import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass

from . import archive, host, memory, postgres, timeleft, usage

BLOCK = 8192                    # bytes in a block

# Redo of the whole load must not be disturbed by checkpoints of this server.
# WAL segments are shared with the image (postgres.copy_cluster), so none may
# be recycled.
RECOVERING = {
    'fsync': 'on',
    'wal_recycle': 'off',
    'max_wal_size': '200GB',
    'checkpoint_timeout': '1d',
    'autovacuum': 'off',
    'log_startup_progress_interval': '100ms',
    'log_checkpoints': 'on',
    'log_line_prefix': '%n [%p] ',
}

REDO_STARTS = re.compile(r'redo starts at ')
REDO_AT = re.compile(r'redo in progress, .*current LSN: (\S+)')
REDO_DONE = re.compile(r'redo done at (\S+) system usage: CPU: user: ([\d.]+) s, '
                       r'system: ([\d.]+) s, elapsed: ([\d.]+) s')
# Unix time and text of a message under RECOVERING's log_line_prefix.
STAMPED = re.compile(r'^(\d+\.\d+) \[\d+\] LOG:  (.*)', re.MULTILINE)
READY = 'database system is ready to accept connections'
CHECKPOINT_DONE = 'checkpoint complete'
CHECKPOINT = re.compile(r'checkpoint complete:(?: [a-z -]+:)? wrote (\d+) buffers .* write=([\d.]+) s, '
                        r'sync=([\d.]+) s')
CONNECTED = re.compile(r'redoahead: connected to daemon')
FOLLOWING = re.compile(r'following recoveries of')
SOCKET = 'pg_stat_tmp/redoahead.sock'

LONGEST_GAP = 3.0               # seconds between two reads of the log, else Suspended
ATTEMPTS = 3                    # times that a recovery is tried that was suspended or too short


class RunRejected(Exception):
    """A run that measured something else than it should."""


class Suspended(RunRejected):
    """Nothing ran for a while in the middle of redo: the time means nothing."""


class TooShort(RunRejected):
    """Redo was over before all that was to happen in it."""


@dataclass(frozen=True)
class Conditions:
    """What is around a recovery, whatever its configuration is."""
    directory: str = None       # where the copy is made, if not in place/data
    copy: object = postgres.copy_cluster    # function(source, target)
    limit: object = None        # cgroup.MemoryLimit of server and daemon
    timeline: str = None        # file for the daemon's timeline
    blocks: str = None          # file for the daemon's trace of blocks
    options: tuple = ()         # more options of the daemon
    archive: object = None      # archive.Archive of the WAL, or None: pg_wal has it


def shows_status(program):
    """Has a program, which may be an older one, a status socket?"""
    text = subprocess.run([program, 'serve', '--help'], capture_output=True, text=True, check=True)
    return '--status-socket' in text.stdout


class Daemon(postgres.Process):
    """A redoahead daemon that serves a data directory, or follows its recoveries."""

    def __init__(self, program, directory, stats, log, conditions=Conditions(), follow=False):
        self.stats_path = stats
        more = ['--timeline', conditions.timeline] if conditions.timeline else []
        more += ['--block-log', conditions.blocks] if conditions.blocks else []
        # Started by root it becomes the owner by itself, and may live where
        # the owner cannot read it.
        self.status_path = f'{stats}.sock'
        if shows_status(program):
            more.append(f'--status-socket={self.status_path}')
        super().__init__([program, 'follow' if follow else 'serve', '-D', directory, '--stats', stats, *more,
                          *conditions.options], log,
                         as_user=postgres.as_self, limit=conditions.limit)
        socket = os.path.join(directory, SOCKET)
        end = time.monotonic() + 10
        while not (FOLLOWING.search(self.text()) if follow else os.path.exists(socket)):
            if not self.running() or time.monotonic() > end:
                self.end()
                raise RunRejected(f'the redoahead daemon does not serve:\n{self.text()[-2000:]}')
            time.sleep(postgres.POLL)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.running():
            self.child.send_signal(signal.SIGCONT)  # what is stopped cannot end
        self.end(signal.SIGTERM)

    def stats(self):
        """Its counters of the last recovery, once that has ended; None if it was killed."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if not self.running():
                return None
            if not os.path.exists(self.stats_path):
                time.sleep(postgres.POLL)
                continue
            with open(self.stats_path, encoding='utf-8') as file:
                stats = json.load(file)
            if not stats['connected'] and stats['recoveries'] > 0:
                return stats['recovery']
            time.sleep(postgres.POLL)
        raise RunRejected(f'{self.stats_path} has no ended recovery')


def redo_times(server):
    """What a server's log reports of redo: elapsed, user and system time, seconds."""
    done = REDO_DONE.search(server.text())
    if not done:
        raise RunRejected(f'no "redo done" in {server.log}')
    return float(done[4]), float(done[2]), float(done[3])


def stamps(server, texts):
    """Unix times of the first messages that begin with each of some texts, if logged."""
    found = {}
    for at, text in STAMPED.findall(server.text()):
        for begin in texts:
            if text.startswith(begin):
                found.setdefault(begin, float(at))
    return found


def until_ready(server, started, redo_seconds):
    """Where the time from a server's start on went until it accepted connections, and its last
    checkpoint."""
    at = stamps(server, ('redo starts at', READY, CHECKPOINT_DONE))
    before, ready = at['redo starts at'] - started, at[READY] - started
    buffers, write, sync = CHECKPOINT.search(server.text()).groups()
    return {'ready_seconds': round(ready, 3), 'before_redo_seconds': round(before, 3),
            'after_redo_seconds': round(ready - before - redo_seconds, 3),
            'checkpointed_seconds': round(at[CHECKPOINT_DONE] - started, 3),
            'checkpoint_buffers': int(buffers), 'checkpoint_write_seconds': float(write),
            'checkpoint_sync_seconds': float(sync)}


def wait_checkpoint(server):
    """Wait for the first checkpoint, which may come after the first connections."""
    end = time.monotonic() + postgres.PATIENCE
    while not CHECKPOINT.search(server.text()):
        if time.monotonic() > end:
            raise RunRejected(f'no checkpoint was completed; see {server.log}')
        time.sleep(postgres.POLL)


def with_accidents(progress, image, accidents, daemon, met):
    """A progress function that sends signals to the daemon, too, and notes them in met."""
    left = list(accidents)

    def show(seconds, lsn):
        progress(seconds, lsn)
        done = 0 if lsn is None else (lsn - image.redo_lsn) / (image.end_lsn - image.redo_lsn)
        while left and left[0][0] <= done:
            number = left.pop(0)[1]
            os.kill(daemon.pid, number)
            met.append({'signal': signal.Signals(number).name, 'part_of_wal': round(done, 3)})
    return show


def watch_redo(server, progress):
    """Follow the log until redo is done; returns what it and /proc reported."""
    pid = None                  # of the startup process
    called = False              # was progress called?
    device_bytes = None         # that the startup process made devices read
    connected = False
    lsn = None
    start = read_at = time.monotonic()
    end = start + postgres.PATIENCE
    while time.monotonic() < end:
        gap, read_at = time.monotonic() - read_at, time.monotonic()
        if gap > LONGEST_GAP:
            raise Suspended(f'the machine, or this program, was suspended for {gap:.0f} s '
                            'during recovery')
        for source, _, text in server.messages():
            if REDO_STARTS.match(text):
                pid = source
                start = time.monotonic()
            connected = connected or bool(CONNECTED.match(text))
            where = REDO_AT.match(text)
            lsn = postgres.parse_lsn(where[1]) if where else lsn
            done = REDO_DONE.match(text)
            if done:
                user, system, elapsed = (float(done[field]) for field in (2, 3, 4))
                latest = usage.process_device_bytes(source)
                if not called:      # it was over at the first read
                    progress(elapsed, lsn)
                return {'connected': connected, 'redo_seconds': elapsed,
                        'startup_cpu_seconds': round(user + system, 2),
                        'startup_user_seconds': user, 'startup_system_seconds': system,
                        'startup_device_bytes': latest if latest is not None else device_bytes,
                        'redo_done_lsn': done[1]}
            if text.startswith('redo is not required'):
                raise RunRejected('redo is not required: the image is not a crashed cluster')
        if pid is not None:
            latest = usage.process_device_bytes(pid)
            device_bytes = latest if latest is not None else device_bytes
            progress(time.monotonic() - start, lsn)
            called = True
        time.sleep(postgres.POLL)
    raise RunRejected(f'no "redo done" in {server.log} after {postgres.PATIENCE} s')


def bytes_read_by(server, backend_type):
    """SQL: what processes of a type have read of relations, bytes."""
    read = 'read_bytes' if int(postgres.MAJOR) >= 18 else 'reads * op_bytes'
    return (f"(SELECT coalesce(sum({read}), 0)::bigint FROM pg_stat_io WHERE backend_type = "
            f"'{backend_type}' AND object = 'relation')")


def blocks_read_by_redo(server):
    """Blocks that the startup process read: relations, and SLRU pages."""
    rows = server.sql(f"SELECT {bytes_read_by(server, 'startup')}, "
                      '(SELECT coalesce(sum(blks_read), 0) FROM pg_stat_slru)')
    return int(rows[0][0]) // BLOCK + int(rows[0][1])


def wal_bytes_cached(image, directory):
    """WAL in the page cache, bytes: after a cold start, what redo has read.

    The image's segments are read, because the copy's, which are the same
    files, may be gone already.  Only the last one is the copy's own, and there.
    """
    wal = os.path.join(image.directory, 'pg_wal')
    *shared, last = sorted(name for name in os.listdir(wal) if len(name) == 24)
    paths = [os.path.join(wal, name) for name in shared]
    paths.append(os.path.join(directory, 'pg_wal', last))
    return os.sysconf('SC_PAGE_SIZE') * sum(host.cached_pages(path) for path in paths)


def wal_bytes_read(image, directory, config, conditions):
    """WAL that redo has read from the device, bytes; None if restore_command did."""
    if conditions.archive:
        return None
    if config.warm:
        return 0
    # Under memory pressure, what was read first has been evicted.
    return image.facts['wal_bytes'] if conditions.limit else wal_bytes_cached(image, directory)


def coverage_of(run):
    """Part of redo's blocks that it did not have to fetch itself, or None."""
    wanted = run['blocks_read'] * BLOCK
    if None in (run['startup_device_bytes'], run['wal_device_bytes']) or wanted == 0:
        return None
    # Of the WAL, it fetched what the daemon did not.
    ahead = (run.get('daemon') or {}).get('wal_blocks_read', 0) * BLOCK
    wal = max(0, run['wal_device_bytes'] - ahead)
    fetched = max(0, run['startup_device_bytes'] - wal)
    return round(max(0.0, 1 - fetched / wanted), 4)


def costs_of(run):
    """What a block cost the daemon, and how often it was emitted, if known."""
    counters = run['daemon']
    if not counters or not counters['blocks_read']:
        return {}
    return {'daemon_blocks_read': counters['blocks_read'],
            'daemon_us_per_block': round(1e6 * counters['cpu_seconds'] / counters['blocks_read'], 2),
            'emitted_per_block': round((counters['refs_taken'] - counters['refs_implied']) /
                                       max(1, run['blocks_read']), 4)}


def recover(image, config, builds, place, progress=lambda seconds, lsn: None,
            pristine=False, conditions=Conditions()):
    """Recover a fresh copy of an image; returns what was measured.

    The copy is left behind in place/data, or where the conditions name.  A
    pristine one is shut down cleanly, as redo left it: the first session of a
    server already prunes pages of the catalogs, or does not, as chance has it.
    How many blocks redo read is not known then, nor is the coverage, until
    count_blocks is called.  A recovery in which the machine was suspended, or
    which was too short, is repeated; the result has how often the former was.
    """
    suspended = 0
    for attempt in range(ATTEMPTS):
        try:
            run = recover_once(image, config, builds, place, progress, pristine, conditions)
            return {**run, 'suspended_attempts': suspended}
        except (Suspended, TooShort) as reason:
            suspended += isinstance(reason, Suspended)
            if attempt == ATTEMPTS - 1:
                raise


def daemon_of(config, builds):
    """Our program of a configuration: a stock server comes without one."""
    return builds['patched' if config.build == 'stock' else config.build].daemon


def recover_once(image, config, builds, place, progress, pristine, conditions):
    directory = conditions.directory or os.path.join(place, 'data')
    if conditions.archive:
        archive.remove(directory)       # before disks of a model are cold
    conditions.copy(image.directory, directory)
    files = directory
    if conditions.archive:
        conditions.archive.arrange(directory, daemon_of(config, builds))
        files = os.path.dirname(directory)      # with the archive
    touched = memory.touch()
    cache = (host.warm if config.warm else host.chill)(files) + touched
    # What the startup process reads of its own program is not to be measured.
    host.fetch(builds[config.build].program('postgres'))

    def run(daemon):
        return run_server(image, config, builds, place, directory, cache, daemon, progress,
                          pristine, conditions)
    if not config.daemon:
        return run(None)
    with Daemon(daemon_of(config, builds), directory, os.path.join(place, 'stats.json'),
                os.path.join(place, 'daemon.log'), conditions, config.follow) as daemon:
        return run(daemon)


def count_blocks(run, image, config, builds, place, directory):
    """Fill in what a pristine recovery left open, from the statistics that its server kept."""
    settings = {**RECOVERING, **image.workload.settings, **config.settings}
    with postgres.serving(builds[config.build], directory, settings, place) as server:
        run['blocks_read'] = blocks_read_by_redo(server)
    add_shares(run)


def add_shares(run):
    """Fill in what follows from how many blocks redo read."""
    if 'daemon' in run:
        run['coverage'] = coverage_of(run)
        run.update(costs_of(run))


def run_server(image, config, builds, place, directory, cache, daemon, progress, pristine,
               conditions):
    limit, archived = conditions.limit, conditions.archive
    settings = {**RECOVERING, **image.workload.settings, **config.settings}
    if archived:
        settings['restore_command'] = archived.command(config.restore)
    accidents = []
    if config.accidents:
        progress = with_accidents(progress, image, config.accidents, daemon, accidents)
    device_before = usage.device_io(directory)
    used, started = usage.machine_cpu_seconds(), time.time()
    with postgres.Server(builds[config.build], directory, settings, place,
                         os.path.join(place, 'server.log'), limit) as server:
        run = {'workload': image.workload.name, 'config': config.name, 'cache': cache}
        run.update(watch_redo(server, progress))
        device_after = usage.device_io(directory)
        if archived:
            run['machine_cpu_seconds'] = round(usage.machine_cpu_seconds() - used, 2)
        if daemon:
            run['daemon_cpu_seconds'] = usage.process_cpu_seconds(daemon.pid)
            run['daemon_peak_rss_bytes'] = usage.process_peak_rss(daemon.pid)
        run['wal_device_bytes'] = wal_bytes_read(image, directory, config, conditions)
        if device_before:
            run['device_reads'] = device_after['requests'] - device_before['requests']
            run['device_read_bytes'] = device_after['bytes'] - device_before['bytes']
        server.wait_ready()
        wait_checkpoint(server)
        used = usage.machine_cpu_seconds() - used
        run.update(until_ready(server, started, run['redo_seconds']))
        run['other_cpu_seconds'] = round(max(0.0, used - run['startup_cpu_seconds']), 2)
        if device_before:
            run['device_written_bytes'] = (usage.device_io(directory)['written_bytes'] -
                                           device_before['written_bytes'])
        if limit:
            run['memory'] = limit.facts()
        if not pristine:
            run['blocks_read'] = blocks_read_by_redo(server)
        server.stop('fast' if pristine else 'immediate')
    if archived:
        archived.settle()
    if run['connected'] != (config.daemon and not config.follow):
        lines = [line for log in (server, daemon) if log for line in log.text().splitlines()
                if 'redoahead' in line]
        raise RunRejected('\n'.join([
            f'{config.name}: the startup process '
            f'{"connected" if run["connected"] else "did not connect"} to a daemon:', *lines[-8:]]))
    if postgres.parse_lsn(run['redo_done_lsn']) < image.end_lsn - BLOCK * 16:
        raise RunRejected(f'{config.name}: redo ended at {run["redo_done_lsn"]}, long before the '
                          f'end of the WAL at {image.facts["end_lsn"]}')
    if config.accidents:
        if len(accidents) < len(config.accidents):
            raise TooShort(f'{config.name}: redo was over after {len(accidents)} of '
                           f'{len(config.accidents)} signals to the daemon')
        run['accidents'] = accidents
        if daemon.running():
            os.kill(daemon.pid, signal.SIGCONT)
    if daemon:
        run['daemon'] = daemon.stats()
        run['time_left'] = timeleft.of_last_recovery(daemon.status_path)
    if not pristine:
        add_shares(run)
    return run

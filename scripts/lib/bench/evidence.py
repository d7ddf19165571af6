"""One recovery, with all that others than our own probes report of its reads.

    strace            each read, write and fadvise of each process of the server
    page cache        the kernel's events, in a trace of their own (pagecache); with them, whether
                      a read slept, and for what
    mincore           the files' pages in the page cache, before and after
    /proc/PID/io      what the startup process and the daemon read, and made devices read
    /sys/block/*/stat what was requested of the device
    the server        pg_stat_io and pg_stat_slru
    the daemon        its list of blocks

What is timed means nothing here.  `redoahead trace` may run beside it.
"""
import contextlib
import os
import re
import signal
import subprocess
import time

from . import host, pagecache, postgres, recovery, syscalls, usage

PAGE = os.sysconf('SC_PAGE_SIZE')
GROUP = 2026                    # a group id that nobody has
SEGMENT = re.compile(r'\.\d+$')
POLL = 0.02                     # seconds between two reads of /proc/PID/io


def cached_data_pages(directory):
    """Pages of all relations and SLRUs in the page cache, as {file: pages}."""
    found = {}
    for path in host.files_below(directory):
        name = os.path.relpath(path, directory)
        if syscalls.kind_of(name):
            found[name] = host.cached_pages(path)
    return found


class Accounts(host.Sampler):
    """The last that /proc/PID/io reported of processes, as long as the `with` block lasts."""

    def __init__(self):
        super().__init__(POLL)
        self.pids = []          # to read
        self.last = {}          # pid -> bytes that it made devices read

    def sample(self):
        for pid in list(self.pids):
            with contextlib.suppress(OSError):      # it is going
                self.last[pid] = usage.process_device_bytes(pid) or self.last.get(pid, 0)


class StracedServer(postgres.Server):
    """A server below strace, which is not to be ended: it ends with the server."""

    def end(self, *signals, patience=60):
        for number in (*signals, signal.SIGKILL):
            if not self.running():
                return
            try:
                with open(os.path.join(self.directory, 'postmaster.pid'), encoding='ascii') as file:
                    # Which process that is, is the word of its owner.
                    postgres.run(['kill', f'-{number:d}', str(int(file.readline()))])
            except (OSError, ValueError, postgres.PostgresError):   # it has not begun, or is gone
                pass
            try:
                self.child.wait(patience)
                return
            except subprocess.TimeoutExpired:
                pass
        super().end()


def second_largest(directory):
    """The segments of the second largest relation, as paths."""
    segments = {}
    for path in host.files_below(os.path.join(directory, 'base')):
        if syscalls.kind_of(os.path.relpath(path, directory)) == 'main':
            segments.setdefault(stem(path), []).append(path)
    return sorted(segments.values(), key=lambda paths: sum(map(os.path.getsize, paths)))[-2]


def stem(path):
    """A relation's file without its segment number."""
    return SEGMENT.sub('', path)


def leave_out(paths):
    """Make files ones that the daemon may not read.

    The server keeps its access by a group that only it has.
    """
    for path in paths:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        if os.fstat(file).st_uid == postgres.owner().pw_uid:
            os.fchown(file, 0, GROUP)
            os.fchmod(file, 0o660)
        os.close(file)


class Evictor(host.Sampler):
    """Evicts files from the page cache, over and over, as long as the `with` block lasts."""

    def __init__(self, paths):
        super().__init__(POLL)
        self.paths = paths

    def sample(self):
        for path in self.paths:
            host.evict_file(path)


def wait_for_redo(server, accounts):
    """Wait until the server is ready; returns the startup process's id."""
    pid = None
    end = time.monotonic() + postgres.PATIENCE
    while time.monotonic() < end:
        for source, _, text in server.messages():
            if recovery.REDO_STARTS.match(text):
                pid = source
                accounts.pids.append(pid)
            if text.startswith('database system is ready to accept connections'):
                if pid is None:
                    raise recovery.RunRejected('there was no redo: not a crashed cluster')
                return pid
        time.sleep(POLL)
    raise recovery.RunRejected(f'{server.log}: recovery did not end')


def fetch_small(directory):
    """Bring into memory what the postmaster reads before there is a startup process."""
    for path in host.files_below(directory):
        name = os.path.relpath(path, directory)
        if not syscalls.kind_of(name) and not name.startswith('pg_wal/'):
            host.fetch(path)


def judge(events, daemon, startup, inodes):
    """What became of the pages of files, as pagecache.judge returns it."""
    with open(events, encoding='utf-8', errors='replace') as file:
        return pagecache.judge(file, daemon.pid if daemon else -1, startup, inodes)


def collect(image, case, builds, program, place, private, directory, beside):
    """Recover a copy of an image; returns the evidence, as a dictionary.

    case determines who recovers, and what is done to the second largest relation
    (validate.Case).  beside is a context manager made from (directory), active
    from before the server starts until after recovery: `redoahead trace`, or
    nothing.  What root writes goes to private.
    """
    config = case.config
    strace = os.path.join(private, 'strace')
    blocks = os.path.join(place, 'daemon.blocks')
    events = os.path.join(private, 'pages.trace')
    waits = os.path.join(private, 'waits.trace')
    os.mkdir(strace)
    postgres.copy_cluster(image.directory, directory)
    chosen = second_largest(directory)
    if case.left_out:
        leave_out(chosen)
    host.chill(directory)
    fetch_small(directory)
    host.fetch(builds[config.build].program('postgres'))
    wrapper = syscalls.Strace(strace, [GROUP] if case.left_out else [])
    settings = {**recovery.RECOVERING, **image.workload.settings, **config.settings}
    found = {'chosen': stem(os.path.relpath(chosen[0], directory)),
             'cached_before': cached_data_pages(directory)}

    def run(daemon):
        inodes = pagecache.data_inodes(directory)
        with Accounts() as accounts, pagecache.Trace(directory, events) as trace, \
                pagecache.Trace(directory, waits, True) as wait_trace:
            if daemon:
                # It has read programs and libraries, too.
                before = usage.process_device_bytes(daemon.pid)
                accounts.pids.append(daemon.pid)
            with beside(directory), Evictor(chosen if case.evicted else []):
                device = usage.device_io(directory)
                with StracedServer(builds[config.build], directory, settings, place,
                                   os.path.join(place, 'server.log'), wrapper) as server:
                    startup = wait_for_redo(server, accounts)
                    after = usage.device_io(directory)
                    found['cached_after'] = cached_data_pages(directory)
                    found['server_blocks'] = recovery.blocks_read_by_redo(server)
                    found['wal_cached'] = recovery.wal_bytes_cached(image, directory)
                    found['connected'] = 'redoahead: connected to daemon' in server.text()
                    server.stop('immediate')
            time.sleep(2 * POLL)
        found['device'] = {name: after[name] - device[name] for name in device} if device else None
        found['startup_pid'], found['startup_device_bytes'] = startup, accounts.last.get(startup)
        if daemon:
            found['daemon_device_bytes'] = accounts.last[daemon.pid] - before
        found['events_lost'] = trace.lost + wait_trace.lost
        found['pages'] = judge(events, daemon, startup, inodes)
        found['read_calls'] = judge(waits, daemon, startup, inodes)['calls']
        found['chosen_pages'] = judge(events, daemon, startup,
                                      {os.stat(path).st_ino for path in chosen})
        found['calls'] = syscalls.read_all(strace, directory)

    if not config.daemon:
        run(None)
    else:
        conditions = recovery.Conditions(blocks=blocks)
        with recovery.Daemon(program, directory, os.path.join(place, 'stats.json'),
                             os.path.join(place, 'daemon.log'), conditions) as daemon:
            run(daemon)
            found['daemon'] = daemon.stats()
        with open(blocks, encoding='ascii') as file:
            lines = [line.split() for line in file]
        found['daemon_blocks'] = {(path, int(block)) for kind, path, block, _, result, _ in lines
                                  if kind != 'wal' and result in ('read', 'gap')}
    if found['connected'] != config.daemon:
        raise recovery.RunRejected(f'{config.name}: the startup process did '
                                   f'{"" if found["connected"] else "not "}connect to a daemon')
    return found

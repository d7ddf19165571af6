"""One run of a hot standby that serves queries while it replays, and what was measured.

The standby begins with a copy of a cluster that was shut down cleanly, so that it accepts
connections at once.  It replays all WAL of an image from an archive, or streamed by a
WalSender.  Queries begin when it accepts connections, and count until the last of the WAL is
replayed; it is promoted then, because only at its end the startup process reports what it read.

Latency is that of pgbench's log: from when a transaction was scheduled, so that it includes
the wait for a session that is still busy (schedule lag).  `service` is without that.
"""
import contextlib
import math
import os
import re
import signal
import time
from dataclasses import dataclass

from . import archive, host, postgres, recovery, trace, usage, wal_sender

SLICE = 0.5                     # seconds
SAMPLE = 0.05                   # seconds between two samples of what is replayed
CLIENTS = 4                     # sessions of pgbench
READY = 'database system is ready to accept read-only connections'
REDO = 'redo starts at '
# Client, number, latency, script, when it ended, and schedule lag, in seconds and microseconds.
OF_PGBENCH = re.compile(r'\d+ \d+ (\d+|failed|skipped) \d+ (\d+) (\d+)(?: (\d+))?$')
OF_REPORT = re.compile(r'(\d+\.\d+) (\d+\.\d+) \d+ -?\d*$')
OF_SAMPLING = re.compile(r'(\d+\.\d+) (\w+/\w+) (\w+/\w+)$')
SHARES = (('p50', 0.5), ('p95', 0.95), ('p99', 0.99), ('max', 1))

STANDBY = {**recovery.RECOVERING, 'hot_standby': 'on'}

SELECT = '''\\set aid random(1, {rows})
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
'''
# The clock is read when all rows have been.
REPORT = '''SET max_parallel_workers_per_gather = 0;
SELECT extract(epoch FROM statement_timestamp()), extract(epoch FROM clock_timestamp()), *
    FROM (SELECT count(*), sum(abalance) FROM pgbench_accounts OFFSET 0) totals \\watch 0.01
'''
SAMPLING = '''SELECT extract(epoch FROM clock_timestamp()), pg_last_wal_replay_lsn(),
    coalesce(pg_last_wal_receive_lsn(), '0/0') \\watch {interval}
'''


@dataclass(frozen=True)
class Query:
    """One transaction of the load."""
    end: float                  # Unix time
    latency: float              # seconds, from when it was scheduled
    waited: float = 0.0         # seconds of that until it was sent


@dataclass(frozen=True)
class Sample:
    """How far the standby was."""
    at: float                   # Unix time
    replayed: int               # LSN
    received: int               # LSN, 0 without streaming


# ---------- arithmetic ----------

def percentile(ordered, share):
    """The least of ordered values that so large a share of them does not exceed, or None."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def percentiles(values):
    ordered = sorted(values)
    return {name: percentile(ordered, share) for name, share in SHARES}


def parse_queries(lines):
    """(queries, number of failed ones) of pgbench's log, or of REPORT's output."""
    found, failed = [], 0
    for line in lines:
        select, report = OF_PGBENCH.match(line), OF_REPORT.match(line)
        if select and select[1].isdigit():
            found.append(Query(int(select[2]) + int(select[3]) / 1e6, int(select[1]) / 1e6,
                               int(select[4] or 0) / 1e6))
        elif report:
            found.append(Query(float(report[2]), float(report[2]) - float(report[1])))
        failed += bool(select and select[1] == 'failed')
    return found, failed


def parse_samples(lines):
    found = [OF_SAMPLING.match(line) for line in lines]
    return [Sample(float(each[1]), postgres.parse_lsn(each[2]), postgres.parse_lsn(each[3]))
            for each in found if each]


def longest_stall(ends, begin, end):
    """The longest time within an interval in which no query ended."""
    times = [begin, *sorted(each for each in ends if begin < each < end), end]
    return max(after - before for before, after in zip(times, times[1:]))


def figures_of_queries(queries, begin, end):
    """What the queries that ended in an interval were like."""
    done = [each for each in queries if begin <= each.end <= end]
    latency = percentiles(each.latency for each in done)
    service = percentiles(each.latency - each.waited for each in done)
    return {'queries': len(done), 'tps': round(len(done) / (end - begin), 2),
            **{f'query_{name}_seconds': value for name, value in latency.items()},
            **{f'service_{name}_seconds': value for name, value in service.items()},
            'longest_stall_seconds': round(
                longest_stall((each.end for each in done), begin, end), 4)}


def figures_of_lag(lags):
    """lags: what make_lags returns."""
    found = {}
    for at, unit in ((1, 'bytes'), (2, 'seconds')):
        values = [lag[at] for lag in lags if lag[at] is not None]
        if values:
            found[f'lag_max_{unit}'] = round(max(values), 3)
            found[f'lag_mean_{unit}'] = round(sum(values) / len(values), 3)
    return found


def make_lags(samples, end_lsn, sent_at=None):
    """[(Unix time, bytes that are not replayed, seconds since they were sent or None)].

    All of an archive is there from the beginning; of streamed WAL, what was received.
    """
    return [(each.at, max(0, (each.received or end_lsn) - each.replayed),
             max(0.0, each.at - sent_at(each.replayed))
             if sent_at and each.replayed < each.received else 0.0 if sent_at else None)
            for each in samples]


def slices(queries, lags, begin, end, start):
    """Figures of each SLICE of an interval; seconds are since start."""
    found = []
    for number in range(math.ceil((end - begin) / SLICE)):
        first, last = begin + number * SLICE, min(end, begin + (number + 1) * SLICE)
        done = [each.latency for each in queries if first <= each.end < last]
        behind = [lag for lag in lags if lag[0] < last]
        found.append({
            'seconds': round(last - start, 3), 'tps': round(len(done) / (last - first), 1),
            **percentiles(done), 'lag_bytes': behind[-1][1] if behind else None,
            'lag_seconds': behind[-1][2] if behind else None})
    return found


# ---------- one run ----------

@dataclass(frozen=True)
class Case:
    """What is replayed how, and beside which queries."""
    queries: str                # select, report or none
    streamed: bool = False      # from a WalSender, not from an archive
    paced: bool = False         # at a set rate


@dataclass(frozen=True)
class Setup:
    """All that a run depends on."""
    case: Case
    config: object              # config.Config
    conditions: recovery.Conditions     # of the daemon
    stage: object               # device.Stage with the image
    builds: dict                # postgres.Build by name
    place: str                  # directory for logs and sockets
    wal: str                    # directory with the WAL to stream, not on the device
    watch: trace.Watch
    query_rate: int             # of select, per second
    wal_rate: float             # of a paced case, bytes per second
    seed: int                   # of the queries


class NoLoad(contextlib.nullcontext):
    """No queries."""

    def check(self):
        pass

    def finish(self, _end):
        return [], 0


class Load(postgres.Process):
    """Queries until the `with` block ends."""

    def __init__(self, server, setup):
        kind, name = setup.case.queries, os.path.join(setup.place, setup.case.queries)
        rows = 100000 * setup.stage.image.workload.scale
        with host.create(f'{name}.sql', encoding='ascii') as file:
            file.write((SELECT if kind == 'select' else REPORT).format(rows=rows))
        self.prefix = f'{name}-log' if kind == 'select' else None
        # With a script of its own pgbench reads no tables before.
        command = ['pgbench', '-n', '-c', str(CLIENTS), '-T', str(postgres.PATIENCE),
                   '-f', f'{name}.sql', f'--rate={setup.query_rate}',
                   f'--random-seed={setup.seed}', '--log',
                   f'--log-prefix={self.prefix}'] if kind == 'select' else [
                       'psql', '-X', '-qAt', '-F', ' ', '-v', 'ON_ERROR_STOP=1', '-f',
                       f'{name}.sql']
        super().__init__([server.build.program(command[0]), '-h', server.socket_directory,
                          *command[1:]], f'{name}.out')

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.end(signal.SIGTERM)

    def read(self):
        """All complete lines of the log so far."""
        path = f'{self.prefix}.{self.pid}' if self.prefix else self.log
        if not os.path.exists(path):
            return []
        with open(path, encoding='ascii', errors='replace') as file:
            return file.read().rpartition('\n')[0].splitlines()

    def check(self):
        if not self.running():
            raise recovery.RunRejected(f'the queries ended:\n{self.text()[-2000:]}')

    def finish(self, end):
        """Wait until all that ended before is in pgbench's log, which it writes in blocks."""
        patience = time.monotonic() + 30
        while self.prefix and not any(each.end > end for each in parse_queries(
                self.read()[-CLIENTS:])[0]):
            self.check()
            if time.monotonic() > patience:
                raise recovery.RunRejected('no query ended in 30 s after all WAL was replayed')
            time.sleep(postgres.POLL)
        self.end(signal.SIGTERM)
        return parse_queries(self.read())


def arrange(stage, streamed, build):
    """A fresh copy that is to become a standby; returns its identifier."""
    directory = stage.directory
    archive.remove(directory)
    stage.copy(stage.image.directory, directory)
    archive.take_wal(directory)
    if streamed:
        archive.remove(directory)
    postgres.run(['touch', os.path.join(directory, 'standby.signal')])
    # Or the standby would go on counting where the primary ended.
    postgres.run(['rm', '-f', os.path.join(directory, 'pg_stat/pgstat.stat')])
    return postgres.control_data(build, directory)['Database system identifier']


def run_once(setup):
    """Replay all WAL on a standby with queries; returns what was measured."""
    for attempt in range(recovery.ATTEMPTS):
        try:
            return {**run_attempt(setup), 'suspended_attempts': attempt}
        except recovery.Suspended:
            if attempt == recovery.ATTEMPTS - 1:
                raise


def run_attempt(setup):
    case, config, stage, place = setup.case, setup.config, setup.stage, setup.place
    build, directory = setup.builds[config.build], stage.directory
    system = arrange(stage, case.streamed, build)
    cache = (host.warm if config.warm else host.chill)(os.path.dirname(directory))
    for name in ('postgres', 'pgbench', 'psql'):        # with their libraries
        host.fetch(build.program(name))
        postgres.run([build.program(name), '--version'])
    settings = {**STANDBY, **stage.image.workload.settings, **config.settings}
    with contextlib.ExitStack() as stack:
        sender = daemon = None
        if case.streamed:
            for path in host.files_below(setup.wal):
                host.fetch(path)
            sender = stack.enter_context(wal_sender.WalSender(
                place, setup.wal, stage.image, system, setup.wal_rate if case.paced else None))
            settings.update(sender.settings())
        else:
            settings['restore_command'] = archive.copy_command(directory, '%f', '%p')
        if config.daemon:
            daemon = stack.enter_context(recovery.Daemon(
                recovery.daemon_of(config, setup.builds), directory, os.path.join(place, 'stats.json'),
                os.path.join(place, 'daemon.log'), setup.conditions, config.follow))
            before = usage.process_device_bytes(daemon.pid) or 0
        server = stack.enter_context(postgres.Server(
            build, directory, settings, place, os.path.join(place, 'server.log')))
        run = {'cache': cache, **follow(server, setup, sender)}
        # The device's own counters count other programs, too.
        read = usage.device_bytes_with_children(server.pid)
        if daemon:
            run['daemon_device_bytes'] = (usage.process_device_bytes(daemon.pid) or 0) - before
            read += run['daemon_device_bytes']
        run['device_read_bytes'] = read
        run['blocks_read_again'] = max(0, read - resident_bytes(stage)) // recovery.BLOCK
        run['connected'] = bool(re.search(recovery.CONNECTED, server.text()))
        if run['connected'] != (config.daemon and not config.follow):
            raise recovery.RunRejected(f'{config.name}: the startup process did '
                                       f'{"" if run["connected"] else "not "}connect to a daemon')
        if daemon:
            run['daemon_cpu_seconds'] = usage.process_cpu_seconds(daemon.pid)
            run['daemon_peak_rss_bytes'] = usage.process_peak_rss(daemon.pid)
        run.update(promote(server))
        server.stop('immediate')
        if daemon:
            run['daemon'] = daemon.stats()
    return run


def follow(server, setup, sender):
    """Queries from when the standby accepts them until all WAL is replayed; their figures."""
    image, load, sampler, samples = setup.stage.image, None, None, []
    target = image.end_lsn - recovery.BLOCK     # the last record may end in a page
    script = os.path.join(setup.place, 'samples.sql')
    with host.create(script, encoding='ascii') as file:
        file.write(SAMPLING.format(interval=SAMPLE))
    read_at = time.monotonic()
    limit = read_at + postgres.PATIENCE
    with contextlib.ExitStack() as stack:
        while not samples or samples[-1].replayed < target:
            gap, read_at = time.monotonic() - read_at, time.monotonic()
            if gap > recovery.LONGEST_GAP:
                raise recovery.Suspended(f'this program was suspended for {gap:.0f} s')
            if read_at > limit or (sender and sender.error):
                raise recovery.RunRejected(
                    f'not all WAL is replayed; {sender and sender.error!r}; see {server.log}')
            for _, _, text in server.messages():
                if text.startswith(READY):
                    load = NoLoad() if setup.case.queries == 'none' else Load(server, setup)
                    stack.enter_context(load)
                    sampler = postgres.Process([
                        server.build.program('psql'), '-X', '-At', '-F', ' ', '-f', script,
                        '-h', server.socket_directory], os.path.join(setup.place, 'samples.out'))
                    stack.callback(sampler.end, signal.SIGTERM)
            if load:
                load.check()
                new = parse_samples(sampler.lines())
                samples += new
                if new:
                    begin = recovery.stamps(server, (REDO,))[REDO]
                    setup.watch.note(new[-1].at - begin, new[-1].replayed)
                elif not sampler.running():
                    raise recovery.RunRejected(f'there are no samples:\n{sampler.text()[-2000:]}')
            time.sleep(0.01)
        at = recovery.stamps(server, (REDO, READY))
        start, ready = at[REDO], at[READY]
        end = next(each.at for each in samples if each.replayed >= target)
        queries, failed = load.finish(end)
    if setup.case.queries == 'none':
        found = {}
    elif any(ready <= each.end <= end for each in queries):
        found = figures_of_queries(queries, ready, end)
    else:
        raise recovery.RunRejected('no query ended before all WAL was replayed; choose a larger '
                                   '--size')
    lags = make_lags([each for each in samples if each.at <= end], image.end_lsn,
                     sender.sent_at if sender else None)
    return {'redo_seconds': round(end - start, 3),
            'replay_bytes_per_second': round(image.facts['wal_bytes'] / (end - start)),
            'ready_seconds': round(ready - start, 3), 'queries_failed': failed,
            **found, **figures_of_lag(lags),
            'slices': slices(queries, lags, ready, end, start)}


def resident_bytes(stage):
    """Bytes in the page cache of what the copy was made of: at least once they were read.

    What redo appended to files was never on the device, and does not count.
    """
    page, found = os.sysconf('SC_PAGE_SIZE'), 0
    source, archived = stage.image.directory, archive.beside(stage.directory)
    for path in host.files_below(source):
        name = os.path.relpath(path, source)
        copy = os.path.join(archived, os.path.basename(name)) if name.startswith('pg_wal/') else \
            os.path.join(stage.directory, name)
        if os.path.exists(copy):
            found += page * sum(host.residency(copy)[:-(-os.path.getsize(path) // page)])
    return found


def promote(server):
    """End recovery, and return how long that took and what the server's statistics have then."""
    (start, _), = server.sql('SELECT extract(epoch FROM clock_timestamp()), pg_promote()')
    end = time.monotonic() + 60
    # Not wait_ready(): the end of a walreceiver is logged as FATAL.
    while recovery.READY not in recovery.stamps(server, (recovery.READY,)):
        if time.monotonic() > end:
            raise recovery.RunRejected(f'the standby was not promoted; see {server.log}')
        time.sleep(postgres.POLL)
    _, user, system = recovery.redo_times(server)
    rows = server.sql(
        f"SELECT {recovery.bytes_read_by(server, 'client backend')}, confl_tablespace, confl_lock, "
        'confl_snapshot, confl_bufferpin, confl_deadlock FROM pg_stat_database_conflicts '
        "WHERE datname = 'postgres'")
    ready = recovery.stamps(server, (recovery.READY,))[recovery.READY]
    return {'promote_seconds': round(ready - float(start), 3),
            'startup_cpu_seconds': round(user + system, 2),
            'blocks_read': recovery.blocks_read_by_redo(server),
            'blocks_read_by_queries': int(rows[0][0]) // recovery.BLOCK,
            'conflicts': sum(map(int, rows[0][1:]))}

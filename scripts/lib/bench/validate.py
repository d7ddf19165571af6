"""Is `redoahead trace` right?  Its report against evidence, measure by measure.

A measure is what the trace reports, what the evidence shows, and the whole that the
measure is part of: blocks read for the classes of reads, blocks read ahead for
what became of them, else the evidence itself.  Disagreement is the difference
as a part of that whole, so that it means the same for many and for few.
"""
import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass

from . import config, evidence, postgres, recovery

PAGES = recovery.BLOCK // evidence.PAGE         # in a block
CHECKS = 1200                   # of the trace until it counts as stuck, POLL seconds apart


@dataclass(frozen=True)
class Case:
    about: str                  # for the table
    config: config.Config       # who recovers
    left_out: bool = False      # may the daemon not read the second largest relation?
    evicted: bool = False       # is that one evicted from the page cache all the time?


CASES = {
    'off': Case('stock, recovery_prefetch off', config.CONFIGS['off']),
    'default': Case('stock default (posix_fadvise)', config.CONFIGS['default']),
    'redoahead': Case('redoahead', config.CONFIGS['redoahead']),
    'left-out': Case('redoahead, one relation left out', config.CONFIGS['redoahead'],
                     left_out=True),
    'evicted': Case('redoahead, one relation evicted all the time', config.CONFIGS['redoahead'],
                    evicted=True),
}


@dataclass(frozen=True)
class Measure:
    name: str
    trace: float                # what the trace reports, or None
    evidence: float             # what others report
    whole: float                # what this is a part of
    source: str                 # of the evidence

    @property
    def disagreement(self):
        """As a fraction, or None if there is no trace."""
        if self.trace is None:
            return None
        return abs(self.trace - self.evidence) / max(1, self.whole)

    def as_json(self):
        return {'measure': self.name, 'trace': self.trace, 'evidence': self.evidence,
                'whole': self.whole, 'source': self.source, 'disagreement': self.disagreement}


class Tracer:
    """`redoahead trace` beside a recovery; its report is in `report` afterwards."""

    def __init__(self, program, place):
        self.program = program
        self.output = os.path.join(place, 'trace.json')
        self.log = os.path.join(place, 'trace.log')
        self.report = None

    @contextlib.contextmanager
    def beside(self, directory):
        child = postgres.Process([self.program, 'trace', '-D', directory, '--json', '--names=off',
                                  '--output', self.output], self.log, as_user=postgres.as_self)
        try:
            self.wait_until(child, lambda: 'waiting for' in child.text())
            if not child.running() or 'waiting for' not in child.text():
                raise recovery.RunRejected('redoahead trace does not log that it waits for '
                                           f'recovery:\n{child.text()[-2000:]}')
            yield
            self.wait_until(child, lambda: False)
        finally:
            child.end(signal.SIGINT)
        if child.child.returncode != 0:
            raise recovery.RunRejected(f'redoahead trace failed:\n{child.text()[-2000:]}')
        with open(self.output, encoding='utf-8') as file:
            reports = file.read().splitlines()
        if not reports:
            raise recovery.RunRejected('redoahead trace reported nothing: recovery was over '
                                       'before it could be followed')
        self.report = json.loads(reports[-1])

    @staticmethod
    def wait_until(child, condition):
        """Wait for a condition, or for the end of the process, but not for ever."""
        for _ in range(CHECKS):
            if condition() or not child.running():
                return
            time.sleep(postgres.POLL)


@contextlib.contextmanager
def nothing_beside(directory):
    yield


def stem(file):
    """The relation's file without its segment number, or the SLRU's directory."""
    return os.path.dirname(file) if file.startswith('pg_') and 'tblspc' not in file \
        else evidence.stem(file)


def of_source(report, name, field):
    return sum(each[field] for each in report['sources'] if each['source'] == name)


def measures(case, found, report):
    """All measures of one run; report is the trace's, or None."""
    def traced(function):
        return None if report is None else function(report)

    startup = found['calls'][found['startup_pid']]
    read = sum(startup.reads.values())
    ahead = len(found.get('daemon_blocks', ()))
    pages = found['pages']
    rows = []

    def add(name, function, value, source, whole=None):
        whole = value if whole is None else whole
        rows.append(Measure(name, traced(function), value, whole, source))

    add('blocks read by redo', lambda r: r['blocks']['read'], read, 'strace')
    add('', lambda r: r['blocks']['read'], found['server_blocks'], 'pg_stat_io, pg_stat_slru')
    add('the same, file by file', lambda r: by_file(r, startup), 0, 'strace', read)
    add('read calls', lambda r: r['reads'], sum(startup.calls.values()), 'strace')
    add('bytes that they returned', lambda r: r['bytes_read'], startup.bytes, 'strace')
    add('bytes of WAL read', lambda r: r['wal']['bytes'], startup.wal_bytes, 'strace')
    add('blocks missed', lambda r: r['blocks']['missed'], pages['missed'] / PAGES,
        'page cache events', read)
    add('blocks timely or late', lambda r: r['blocks']['timely'] + r['blocks']['late'],
        read - pages['missed'] / PAGES, 'strace - page cache events', read)
    for name, count in found['read_calls'].items():
        add(f'blocks {name}', lambda r, name=name: r['blocks'][name], count, 'sched_switch', read)
    if found['startup_device_bytes'] is not None:
        daemon_wal = (found.get('daemon') or {}).get('wal_blocks_read', 0) * recovery.BLOCK
        wal = max(0, found['wal_cached'] - daemon_wal)
        add('blocks from device by redo', own_blocks,
            (found['startup_device_bytes'] - wal) / recovery.BLOCK, '/proc/PID/io', read)
    if 'daemon_blocks' in found:
        wanted = set(startup.reads)
        add('blocks ahead by the daemon', lambda r: of_source(r, 'daemon', 'prefetched'),
            pages['added'] / PAGES, 'page cache events')
        # What is evicted while it is being read comes in more often than it is requested.
        if not case.evicted:
            add('', lambda r: of_source(r, 'daemon', 'prefetched'), ahead, 'serve --block-log')
        add('', lambda r: of_source(r, 'daemon', 'prefetched'),
            found['daemon_device_bytes'] / recovery.BLOCK - found['daemon']['wal_blocks_read'],
            '/proc/PID/io')
        add('of those: used', lambda r: of_source(r, 'daemon', 'used'), pages['used'] / PAGES,
            'page cache events', ahead)
        if not case.evicted:
            add('', lambda r: of_source(r, 'daemon', 'used'),
                len(found['daemon_blocks'] & wanted), 'serve --block-log, strace', ahead)
            add('of those: wasted', lambda r: of_source(r, 'daemon', 'wasted'),
                len(found['daemon_blocks'] - wanted), 'serve --block-log, strace', ahead)
        add('of those: evicted', lambda r: of_source(r, 'daemon', 'evicted'),
            pages['evicted'] / PAGES, 'page cache events', ahead)
    if case.left_out:
        missed = found['chosen_pages']['missed'] / PAGES
        known = sum(1 for file, _ in startup.reads if stem(file) == found['chosen'])
        add('missed, in the one left out', lambda r: missed_of(r, found['chosen']), known,
            'strace', read)
        add('', lambda r: missed_of(r, found['chosen']), missed, 'page cache events', read)
        add('missed, in all others', lambda r: r['blocks']['missed'] -
            missed_of(r, found['chosen']), pages['missed'] / PAGES - missed,
            'page cache events', read)
    if case.evicted:
        add('missed, because evicted', lambda r: r['blocks']['missed_by']['evicted'],
            pages['missed_after_eviction'] / PAGES, 'page cache events', read)
    if not case.evicted:
        add('blocks put into the cache', lambda r: r['blocks']['missed'] +
            sum(each['prefetched'] for each in r['sources']), cached_blocks(found), 'mincore')
    if found['device']:
        add('device: reads', lambda r: r['device']['reads'], found['device']['requests'],
            '/sys/block/*/stat')
        add('device: bytes read', lambda r: r['device']['read_bytes'], found['device']['bytes'],
            '/sys/block/*/stat')
    return rows


def by_file(report, startup):
    """Blocks about which trace and strace do not agree, summed over files."""
    seen = {}
    for (file, _), times in startup.reads.items():
        seen[stem(file)] = seen.get(stem(file), 0) + times
    reported = {each['path']: each['read'] for each in report['relations']}
    return sum(abs(seen.get(path, 0) - reported.get(path, 0))
               for path in seen.keys() | reported.keys())


def own_blocks(report):
    """Blocks that the startup process had devices read."""
    return (report['blocks']['missed'] + of_source(report, 'readahead', 'prefetched') +
            of_source(report, 'server', 'prefetched'))


def missed_of(report, path):
    return sum(each['missed'] for each in report['relations'] if each['path'] == path)


def cached_blocks(found):
    """Blocks that came into the page cache, other than by being written first."""
    pages = sum(found['cached_after'].values()) - sum(found['cached_before'].values())
    startup = found['calls'][found['startup_pid']]
    written = set().union(*(calls.written for calls in found['calls'].values()))
    new = written - set(startup.reads) - startup.advised - found.get('daemon_blocks', set())
    return pages / PAGES - len(new)


def table(case, rows, tolerance):
    """Lines of text, at most 80 columns wide."""
    yield f'{case.about}'
    yield f'  {"measure":<31}{"trace":>11}{"evidence":>11}{"differ":>9}  source'
    for row in rows:
        traced = '-' if row.trace is None else f'{row.trace:.0f}'
        differ = '-' if row.trace is None else f'{row.disagreement:.2%}'
        mark = '' if row.trace is None or row.disagreement <= tolerance \
            else '  <--'
        yield f'  {row.name:<31}{traced:>11}{row.evidence:>11.0f}{differ:>9}  {row.source}{mark}'

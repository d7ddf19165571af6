"""What the startup process read, compared with what the daemon had read for it.

Input is what a recovery left: system call traces of the server (strace), the daemon's block
log, the server's log and the WAL.  How a recovery is made is not known here, and no timing is
judged: strace slows down every read.
"""
import collections
import re
import subprocess

from . import postgres, syscalls

SEGMENT_BLOCKS = 131072

BLKREF = re.compile(r'blkref #\d+: rel (\d+)/(\d+)/(\d+) (?:fork (\w+) )?blk (\d+)')
LSN = re.compile(r'lsn: ([0-9A-F]+/[0-9A-F]+)')
REDO = re.compile(r'^(\d+\.\d+) \[(\d+)\] LOG:  redo (starts|done) at ([0-9A-F]+/[0-9A-F]+)')
SMGR = re.compile(r'desc: (CREATE|TRUNCATE) ([\w/]+)')

KINDS = ['main', 'fsm', 'vm', 'init', 'pg_xact', 'pg_multixact/offsets',
         'pg_multixact/members', 'pg_commit_ts']

# Causes, in the order of the table; the explanation is for the reader.
BEFORE = 'before redo begins'
UNCONNECTED = 'before the daemon is connected'
AFTER = 'after redo has ended'
STALE = 'requested, redo was there first'
FAILED = 'requested, not read: '
CREATED = 'of a relation that the WAL creates'
TRUNCATED = 'of a relation that the WAL truncates'
NAMED = 'named by the WAL, not requested'
UNNAMED = 'not named by the WAL, not requested'

# Results of the block log of a block that is there: the daemon has read it, or found it.
THERE = {'read', 'resident'}

Read = collections.namedtuple('Read', 'time path block')


def redo_of(log):
    """(process id, times of begin and end, their LSNs) of redo in a log with prefix '%n [%p] '."""
    found = {}
    for line in log.splitlines():
        match = REDO.search(line)
        if match:
            found[match[3]] = (float(match[1]), match[4])
            pid = int(match[2])
    return pid, *((found['starts'][at], found['done'][at]) for at in (0, 1))


def blocks_requested(log):
    """What the daemon did, (path, block) -> set of results, and its first LSN."""
    requested = collections.defaultdict(set)
    first = None
    with open(log, encoding='ascii') as lines:
        for line in lines:
            kind, path, block, lsn, result, _ = line.split()
            if kind == 'wal':       # read ahead of decoding, not of redo
                continue
            requested[path, int(block)].add(result)
            lsn = postgres.parse_lsn(lsn)
            first = lsn if first is None else min(first, lsn)
    return requested, first


def blocks_read(trace, pgdata):
    """The blocks that a process read, one by one, in order."""
    with open(trace, encoding='utf-8', errors='replace') as lines:
        for time, call, path, arguments, result in syscalls.calls(lines, pgdata):
            if call in syscalls.READS and result > 0 and syscalls.kind_of(path):
                for block in syscalls.blocks(call, arguments, result):
                    yield Read(time, path, block)


def segment_path(path, fork, block):
    suffix = '_' + fork if fork and fork != 'main' else ''
    segment = block // SEGMENT_BLOCKS
    return (path + suffix + (f'.{segment}' if segment else ''), block % SEGMENT_BLOCKS)


def named_blocks(waldump, pgdata, begin, end):
    """Blocks that the WAL names, with the LSN; relations that it creates; truncates."""
    named, created, truncated = {}, set(), set()
    command = [waldump, '--path', pgdata + '/pg_wal', '--start', begin, '--end', end]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as dump:
        for line in dump.stdout:
            # Without an image, redo does not read the block.
            if 'desc: FPI_FOR_HINT' in line and 'FPW' not in line:
                continue
            for spc, db, rel, fork, block in BLKREF.findall(line):
                path = f'global/{rel}' if spc == '1664' else f'base/{db}/{rel}'
                named.setdefault(segment_path(path, fork, int(block)),
                                 postgres.parse_lsn(LSN.search(line)[1]))
            if line.startswith('rmgr: Storage'):
                match = SMGR.search(line)
                if match:
                    (created if match.group(1) == 'CREATE' else truncated).add(
                        re.sub(r'_(fsm|vm|init)$', '', match.group(2)))
    return named, created, truncated


def explain(read, span, position, requested, first_lsn, named, created, truncated):
    """Why was this block not there already?"""
    if read.time < span[0]:
        return BEFORE
    if read.time > span[1]:
        return AFTER
    results = requested.get((read.path, read.block))
    if results:
        return STALE if 'stale' in results else FAILED + ', '.join(sorted(results))
    if first_lsn is None or position < first_lsn:
        return UNCONNECTED
    relation = re.sub(r'(_(fsm|vm|init))?(\.\d+)?$', '', read.path)
    if relation in created:
        return CREATED
    if relation in truncated:
        return TRUNCATED
    return NAMED if (read.path, read.block) in named else UNNAMED


def analyse(pgdata, waldump, log, traces, block_log):
    """(counts by kind of file, uncovered reads by (kind, cause), seconds of redo)."""
    pid, times, lsns = redo_of(log)
    requested, first_lsn = blocks_requested(block_log)
    named, *changes = named_blocks(waldump, pgdata, *lsns)
    kinds = {kind: collections.Counter() for kind in KINDS}
    causes = collections.defaultdict(list)
    needed = set()
    position = 0                # about where redo is: the last record seen to read, LSN
    for read in blocks_read(f'{traces}/strace.{pid}', pgdata):
        kind, block = syscalls.kind_of(read.path), (read.path, read.block)
        kinds[kind]['reads'] += 1
        needed.add(block)
        position = max(position, named.get(block, 0))
        if THERE & requested.get(block, set()):
            kinds[kind]['covered'] += 1
        else:
            kinds[kind]['uncovered'] += 1
            cause = explain(read, times, position, requested, first_lsn, named, *changes)
            causes[kind, cause].append(read)
    for block, results in requested.items():
        counts = kinds[syscalls.kind_of(block[0])]
        if 'read' in results:
            counts['fetched'] += 1
            # What was missing at first redo has made since: it was read from memory.
            counts['unneeded'] += block not in needed and 'beyond_eof' not in results
    kinds['all'] = sum(kinds.values(), collections.Counter())
    order = sorted(causes.items(), key=lambda item: (KINDS.index(item[0][0]), -len(item[1])))
    return kinds, order, times[1] - times[0]


def tables(kinds, order):
    """Two tables, line by line."""
    yield (f'{"file":<22}{"reads":>9}{"covered":>9}{"uncovered":>11}{"coverage":>10}'
           f'{"fetched":>9}{"unneeded":>10}')
    for kind, counts in kinds.items():
        if counts['reads'] or counts['fetched'] or kind == 'all':
            coverage = f'{100 * counts["covered"] / counts["reads"]:.2f} %' \
                if counts['reads'] else '-'
            yield (f'{kind:<22}{counts["reads"]:>9}{counts["covered"]:>9}'
                   f'{counts["uncovered"]:>11}{coverage:>10}{counts["fetched"]:>9}'
                   f'{counts["unneeded"]:>10}')
    yield f'\n{"uncovered":>9}  {"file":<22}cause'
    for (kind, cause), reads in order:
        yield f'{len(reads):>9}  {kind:<22}{cause}'
        yield f'{"":33}such as {reads[0].path} block {reads[0].block}'


def as_json(kinds, order, seconds):
    return {
        'files': {kind: {name: counts[name] for name in
                         ('reads', 'covered', 'uncovered', 'fetched', 'unneeded')}
                  for kind, counts in kinds.items() if counts['reads'] or counts['fetched']},
        'uncovered': [{'file': kind, 'cause': cause, 'reads': len(reads),
                       'examples': [{'path': read.path, 'block': read.block}
                                    for read in reads[:10]]} for (kind, cause), reads in order],
        'redo_seconds_traced': seconds}

"""Compare what the startup process read with what the daemon had read for it.

Part of scripts/uncovered-reads, which makes the input: system call traces of
all processes of a recovery (strace -ff -y -ttt -T), the daemon's trace, the
server's log and the WAL. Prints two tables, and writes them as JSON. Knows
nothing of how the input is made, and judges no timing: strace slows down
every read.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys

BLCKSZ = 8192
SEGMENT_BLOCKS = 131072

CALL = re.compile(r'^(\d+\.\d+) (\w+)\(\d+<([^>]*)>(?:\(deleted\))?, (.*)\) += (-?\d+).*<(\d+\.\d+)>$')
RELATION = re.compile(r'^(?:base/\d+|global|pg_tblspc/.+)/\d+(?:_(fsm|vm|init))?(?:\.\d+)?$')
SLRU = re.compile(r'^(pg_xact|pg_multixact/offsets|pg_multixact/members|pg_commit_ts)/[0-9A-F]+$')
BLKREF = re.compile(r'blkref #\d+: rel (\d+)/(\d+)/(\d+) (?:fork (\w+) )?blk (\d+)')
LSN = re.compile(r'lsn: ([0-9A-F]+)/([0-9A-F]+)')
SMGR = re.compile(r'desc: (CREATE|TRUNCATE) ([\w/]+)')

KINDS = ['main', 'fsm', 'vm', 'init', 'pg_xact', 'pg_multixact/offsets',
         'pg_multixact/members', 'pg_commit_ts']

# Causes, in the order of the table; the explanation is for the reader.
BEFORE = 'before redo begins'
UNATTACHED = 'before the daemon is attached'
AFTER = 'after redo has ended'
STALE = 'asked for, redo was there first'
FAILED = 'asked for, not read: '
CREATED = 'of a relation that the WAL creates'
TRUNCATED = 'of a relation that the WAL truncates'
NAMED = 'named by the WAL, not asked for'
UNNAMED = 'not named by the WAL, not asked for'

# What the daemon says of a block that is there: it has read it, or it has found it.
THERE = {'read', 'resident'}

Read = collections.namedtuple('Read', 'time path block seconds')


def kind_of(path):
    """The kind of a file below the data directory, None if it has no blocks."""
    match = SLRU.match(path)
    if match:
        return match.group(1)
    match = RELATION.match(path)
    return (match.group(1) or 'main') if match else None


def startup_process(log):
    """Its process ID, and when redo began and ended, from the server's log."""
    pid = begin = end = None
    span = []
    with open(log) as lines:
        for line in lines:
            words = line.split(maxsplit=3)
            if len(words) < 4:
                continue
            if words[3].startswith('redo starts at '):
                pid, begin = words[0], float(words[1])
                span.append(words[3].split()[3])
            elif words[3].startswith('redo done at '):
                end = float(words[1])
                span.append(words[3].split()[3])
    if end is None:
        sys.exit(f'uncovered-reads: {log} tells of no complete redo; see what it says')
    return pid, begin, end, span


def blocks_read(trace, pgdata):
    """The blocks that a process read, one by one, in order."""
    prefix = pgdata + '/'
    with open(trace, errors='replace') as lines:
        for line in lines:
            match = CALL.match(line.rstrip('\n'))
            if not match or not match.group(3).startswith(prefix):
                continue
            time, call, path, arguments, result, seconds = match.groups()
            path, size = path[len(prefix):], int(result)
            if size <= 0 or kind_of(path) is None:
                continue
            # read() has no offset; the server uses it to copy files from their start.
            offset = 0 if call == 'read' else int(arguments.rsplit(', ', 1)[1].rstrip(')'))
            for block in range(offset // BLCKSZ, (offset + size - 1) // BLCKSZ + 1):
                yield Read(float(time), path, block, float(seconds))


def lsn_of(high, low):
    return int(high, 16) << 32 | int(low, 16)


def blocks_asked_for(trace):
    """What the daemon did, (path, block) -> set of results, and its first LSN."""
    asked = collections.defaultdict(set)
    first = None
    with open(trace) as lines:
        for line in lines:
            kind, path, block, lsn, result, _ = line.split()
            if kind == 'wal':       # read ahead of decoding, not of redo
                continue
            asked[path, int(block)].add(result)
            lsn = lsn_of(*lsn.split('/'))
            first = lsn if first is None else min(first, lsn)
    return asked, first


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
            # Without an image, redo leaves the block alone.
            if 'desc: FPI_FOR_HINT' in line and 'FPW' not in line:
                continue
            for spc, db, rel, fork, block in BLKREF.findall(line):
                path = f'global/{rel}' if spc == '1664' else f'base/{db}/{rel}'
                named.setdefault(segment_path(path, fork, int(block)),
                                 lsn_of(*LSN.search(line).groups()))
            if line.startswith('rmgr: Storage'):
                match = SMGR.search(line)
                if match:
                    (created if match.group(1) == 'CREATE' else truncated).add(
                        re.sub(r'_(fsm|vm|init)$', '', match.group(2)))
    return named, created, truncated


def explain(read, span, position, asked, first_lsn, named, created, truncated):
    """Why was this block not there already?"""
    if read.time < span[0]:
        return BEFORE
    if read.time > span[1]:
        return AFTER
    results = asked.get((read.path, read.block))
    if results:
        return STALE if 'stale' in results else FAILED + ', '.join(sorted(results))
    if first_lsn is None or position < first_lsn:
        return UNATTACHED
    relation = re.sub(r'(_(fsm|vm|init))?(\.\d+)?$', '', read.path)
    if relation in created:
        return CREATED
    if relation in truncated:
        return TRUNCATED
    return NAMED if (read.path, read.block) in named else UNNAMED


def main():
    parser = argparse.ArgumentParser()
    for name in ('pgdata', 'waldump', 'log', 'strace', 'daemon'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--json')
    options = parser.parse_args()

    pid, *redo, lsns = startup_process(options.log)
    traces = glob.glob(os.path.join(options.strace, '*.' + pid))
    if not traces:
        sys.exit(f'uncovered-reads: {options.strace} has no trace of process {pid}')
    asked, first_lsn = blocks_asked_for(options.daemon)
    named, *changes = named_blocks(options.waldump, options.pgdata, *lsns)

    kinds = {kind: collections.Counter() for kind in KINDS}
    causes = collections.defaultdict(list)
    needed = set()
    position = 0                # about where redo is: the last record seen to read, LSN
    for read in blocks_read(traces[0], options.pgdata):
        counts = kinds[kind_of(read.path)]
        counts['reads'] += 1
        needed.add((read.path, read.block))
        position = max(position, named.get((read.path, read.block), 0))
        if THERE & asked.get((read.path, read.block), set()):
            counts['covered'] += 1
        else:
            counts['uncovered'] += 1
            cause = explain(read, redo, position, asked, first_lsn, named, *changes)
            causes[kind_of(read.path), cause].append(read)
    for (path, block), results in asked.items():
        counts = kinds[kind_of(path)]
        if 'read' in results:
            counts['fetched'] += 1
            # What was missing at first redo has made since: it was read from memory.
            counts['unneeded'] += (path, block) not in needed and 'beyond_eof' not in results

    print(f'{"file":<22}{"reads":>9}{"covered":>9}{"uncovered":>11}{"coverage":>10}'
          f'{"fetched":>9}{"unneeded":>10}')
    total = sum(kinds.values(), collections.Counter())
    rows = [(kind, counts) for kind, counts in kinds.items()
            if counts['reads'] or counts['fetched']] + [('all', total)]
    for kind, counts in rows:
        coverage = f'{100 * counts["covered"] / counts["reads"]:.2f} %' if counts['reads'] else '-'
        print(f'{kind:<22}{counts["reads"]:>9}{counts["covered"]:>9}{counts["uncovered"]:>11}'
              f'{coverage:>10}{counts["fetched"]:>9}{counts["unneeded"]:>10}')

    print(f'\n{"uncovered":>9}  {"file":<22}cause')
    order = sorted(causes.items(), key=lambda item: (KINDS.index(item[0][0]), -len(item[1])))
    for (kind, cause), reads in order:
        print(f'{len(reads):>9}  {kind:<22}{cause}')
        print(f'{"":33}such as {reads[0].path} block {reads[0].block}')

    if options.json:
        with open(options.json, 'w') as file:
            json.dump({
                'files': {kind: {name: counts[name] for name in
                                 ('reads', 'covered', 'uncovered', 'fetched', 'unneeded')}
                          for kind, counts in rows},
                'uncovered': [{'file': kind, 'cause': cause, 'reads': len(reads),
                               'examples': [{'path': read.path, 'block': read.block}
                                            for read in reads[:10]]}
                              for (kind, cause), reads in order],
                'redo_seconds_traced': redo[1] - redo[0],
            }, file, indent=2)
            file.write('\n')


if __name__ == '__main__':
    main()

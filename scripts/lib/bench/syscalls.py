"""What the processes of a server read and wrote, as system calls, from strace.

strace makes every call slow, and so moves what is in time and what is late.  It
misses none.
"""
import collections
import glob
import os
import re
import shutil
import subprocess

BLOCK = 8192
READS = ('pread64', 'preadv', 'preadv2', 'read')
WRITES = ('pwrite64', 'pwritev', 'pwritev2')
ADVICE = ('fadvise64',)

# `1763.25 pread64(5</path>, ""..., 8192, 16384) = 8192 <0.000011>`
CALL = re.compile(r'^(\d+\.\d+) (\w+)\(\d+<([^>]*)>(?:\(deleted\))?, (.*)\) += (-?\d+)')

RELATION = re.compile(r'^(?:base/\d+|global|pg_tblspc/.+)/\d+(?:_(fsm|vm|init))?(?:\.\d+)?$')
SLRU = re.compile(r'^(pg_xact|pg_multixact/offsets|pg_multixact/members|pg_commit_ts)/[0-9A-F]+$')


def kind_of(path):
    """The kind of a file below the data directory: fork or SLRU; None if it has no blocks."""
    match = SLRU.match(path)
    if match:
        return match[1]
    match = RELATION.match(path)
    return (match[1] or 'main') if match else None


class Strace:
    """Puts strace before a server's command (as the limit of a postgres.Process)."""

    def __init__(self, directory, groups=()):
        self.directory = directory      # for one file per process
        self.groups = groups            # group ids that the server has in addition

    def command(self, arguments):
        if self.groups and '--clear-groups' in arguments:
            where = arguments.index('--clear-groups')
            arguments = [*arguments[:where], '--groups=' + ','.join(map(str, self.groups)),
                         *arguments[where + 1:]]
        return ['strace', '-ff', '--seccomp-bpf', '-q', '-y', '-ttt', '-s', '0', '-e',
                'trace=' + ','.join(READS + WRITES + ADVICE), '-e', 'signal=none',
                '-o', os.path.join(self.directory, 'strace'), *arguments]


def missing():
    """Why processes cannot be traced on this machine, in words; None if they can."""
    if not shutil.which('strace'):
        return 'strace is missing; run scripts/bootstrap'
    tried = subprocess.run(['strace', '-f', '--seccomp-bpf', '-o', '/dev/null', 'true'],
                           stderr=subprocess.PIPE, text=True, check=False)
    return f'strace does not work: {tried.stderr.strip()}' if tried.returncode else None


class Calls:
    """What one process did to the data directory; files are paths below it."""

    def __init__(self):
        self.reads = collections.Counter()      # (file, block) -> times read
        self.calls = collections.Counter()      # file -> read calls of blocks
        self.bytes = 0          # that those returned
        self.written = set()    # (file, block)
        self.advised = set()    # (file, block) of its posix_fadvise calls
        self.wal_bytes = 0      # that reads of WAL returned


def offset_of(call, arguments):
    """Where in the file a call reads or writes; what has no offset begins at 0."""
    words = arguments.split(', ')
    if call == 'read':
        return 0
    if call in ADVICE:
        return int(words[0])
    return int(words[-2 if call.endswith('v2') else -1])


def calls(lines, pgdata):
    """(time, name, file below pgdata, arguments, result) of what strace wrote of one process."""
    prefix = pgdata + '/'
    for line in lines:
        match = CALL.match(line)
        if match and match[3].startswith(prefix) and int(match[5]) >= 0:
            yield float(match[1]), match[2], match[3][len(prefix):], match[4], int(match[5])


def blocks(call, arguments, size):
    """The blocks that a call reads or writes."""
    first = offset_of(call, arguments)
    return range(first // BLOCK, -(-(first + size) // BLOCK))


def parse(lines, pgdata):
    """The calls of one process as Calls; lines is what strace wrote."""
    found = Calls()
    for _, call, file, arguments, result in calls(lines, pgdata):
        if file.startswith('pg_wal/') and call in READS:
            found.wal_bytes += result
            continue
        if kind_of(file) is None:
            continue
        size = int(arguments.split(', ')[1]) if call in ADVICE else result
        touched = [(file, block) for block in blocks(call, arguments, size)]
        if call in ADVICE:
            # fadvise64 serves other ends, too: POSIX_FADV_WILLNEED
            found.advised.update(touched if 'WILLNEED' in arguments else ())
        elif call in WRITES:
            found.written.update(touched)
        elif result > 0:
            found.reads.update(touched)
            found.calls[file] += 1
            found.bytes += result
    return found


def read_all(directory, pgdata):
    """All processes of a traced server, as {process id: Calls}."""
    found = {}
    for path in glob.glob(os.path.join(directory, 'strace.*')):
        with open(path, encoding='utf-8', errors='replace') as file:
            found[int(path.rpartition('.')[2])] = parse(file, pgdata)
    return found

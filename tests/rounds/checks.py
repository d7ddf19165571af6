"""What must hold after each round.

The data is that of stock's recovery; logs have one line for each change of state;
nothing is left of what recovery and daemon opened, mapped or started.  Each check
returns what is wrong, as lines of text.
"""
import os
import re

from bench import compare, postgres

from . import stage

# States of a connection by the lines that the server logs: pattern -> (before, after).
ANY = ('off', 'connected', 'stalled')
DECODER = '.*; the startup process decodes WAL itself'      # there is none; one line for each
TRANSITIONS = (
    ('connected to daemon', ('off',), 'connected'),
    ('lost connection to daemon', ('connected', 'stalled'), 'off'),
    ('daemon .* has not responded', ('connected',), 'stalled'),
    ('daemon .* is responding again', ('stalled',), 'connected'),
    ('no daemon at', ('off',), 'off'),
    ('could not prefetch a block', ANY, None),
    ('not enough memory for', ANY, None),
    (DECODER, ANY, None),
)
# After a reload, or a kill of another process, the connection may be closed once without a line,
# at once or, if the server was just connecting, afterwards.
SILENT_END = re.compile('parameter "redoahead.(socket|lookahead)" changed|processes terminated; reinitializing')

# PostgreSQL 18, stock too, ends an auxiliary process by SIGSEGV, or with assertions by SIGABRT,
# where it fails with an I/O handle that it has not submitted: pgaio_shutdown() comes before
# ReleaseAuxProcessResources(), which uses what that has cleared.  The server ends either way.
HOLDS_HANDLE = re.compile(r'[\d.]+ (\d+) FATAL:  could not start reading blocks ')
ENDED_BY_SIGNAL = re.compile(r'(?:\(PID (\d+)\) )?was terminated by signal (\d+)')

# Lines that the daemon may log for each fault, recovery and second, and before them.
DAEMON_LINES = 8


def server_log(lines, seconds, faults):
    """The lines of one server about redoahead: each a change of state, and not too many."""
    state, last, silent, count, wrong = 'off', '', False, 0, []
    holds_handle = set()
    for line in lines:
        holds_handle.update(HOLDS_HANDLE.findall(line))
        for pid, signal in ENDED_BY_SIGNAL.findall(line):
            if signal != '9' and not (signal in ('6', '11') and pid in holds_handle):
                wrong.append(f'server: {line}')
        if SILENT_END.search(line):
            state, last, silent = None, '', True
        match = re.match(r'[\d.]+ \d+ (\w+):  (redoahead: .*)', line)
        if not match:
            if ' PANIC: ' in line:
                wrong.append(f'server: {line}')
            continue
        count += 1
        for pattern, before, after in TRANSITIONS:
            if re.match(f'redoahead: {pattern}', match[2]):
                if state and state not in before or match[2] == last and pattern != DECODER:
                    if not (silent and state == 'connected' and 'off' in before):
                        wrong.append(f'log: "{match[2]}" while {state}, after "{last}"')
                    silent = False
                state, last = after or state, match[2]
                break
        else:
            wrong.append(f'log: unknown line {line}')
    most = 4 + 3 * faults + 2 * int(seconds)
    if count > most:
        wrong.append(f'log: {count} lines about redoahead, {most} allowed')
    return wrong


def daemon_logs(there, seconds, faults):
    """No daemon ended by itself or complains again and again."""
    wrong = []
    for daemon in there.daemons:
        lines = daemon.text().splitlines()
        most = DAEMON_LINES * (1 + faults + len(there.servers) + int(seconds))
        if len(lines) > most:
            wrong.append(f'daemon: {len(lines)} lines, {most} allowed')
        # A memory limit may end it, too.
        if daemon.child.returncode not in (0, -9 if daemon in there.killed or there.limit else 0):
            wrong.append(f'daemon: ended with {daemon.child.returncode}: {lines[-1:]}')
        wrong += [f'daemon: {line}' for line in lines if re.search('Sanitizer|runtime error|Assert', line)]
    return wrong


def daemon_idle(there):
    """After the recovery, the daemon holds what it held before, and no ring."""
    daemon = there.daemon
    if not daemon:
        return []

    def as_before():
        with open(f'/proc/{daemon.pid}/maps', encoding='utf-8') as file:
            ring = 'memfd:redoahead' in file.read()
        return stage.descriptors(daemon.pid) == there.idle and not ring
    try:
        stage.wait_until('idle daemon', as_before)
    except postgres.PostgresError:
        now, before = stage.descriptors(daemon.pid), list(there.idle)
        more = [each for each in now if each not in before or before.remove(each)]
        return [f'daemon: it still holds {more}, lacks {before}; ring: {stage.ring_mapping(daemon.pid)}']
    return []


def data(there, reference, killed):
    """The data is stock's.

    Redo of the same WAL for the second time finds pages of the visibility map as
    they were left, clears bits for changes that come first, and does not set those again
    that were set before: in stock, too.
    """
    result = compare.compare_clusters(reference, there.data)
    return [f'data: {line}' for line in result.differences
            if not (killed and re.match(r'\S+_vm(\.\d+)?: ', line))]


def leftovers(there, reference, killed):
    """No process, socket or file is left of the round, but what a killed server was restoring."""
    wrong = [f'left: process {pid}: {command}'
             for pid, command in stage.processes_in(there.directory).items()]
    for where in ('', 'global', 'pg_stat_tmp', 'pg_dynshmem', *([] if killed else ['pg_wal'])):
        ours, stocks = (set(os.listdir(os.path.join(each, where))) for each in (there.data, reference))
        wrong += [f'left: file {os.path.join(where, name)}' for name in sorted(ours - stocks)
                  if not (where == 'pg_wal' and re.match('[0-9A-F]{8}', name)) and name != 'pgsql_tmp']
    # Nobody removes what a daemon left that was killed for good.
    if there.daemons and there.daemons[-1].child.returncode == -9:
        wrong = [line for line in wrong if not line.startswith('left: file pg_stat_tmp/redoahead')]
    return wrong

"""What daemons hold over time, and whether it grows; clients of their status sockets.

Growth is the median of the last third of the samples of a life less that of the first
third, after a warm-up.  Medians, because what a daemon holds depends on what its server
does: little while that restarts, more while WAL is replayed.  A leak adds up over the
hundreds of recoveries and thousands of status clients of a long life; the load does not
change.  So any growth beyond what allocation and load explain is one:

    memory        4 MB or a tenth, whichever is more: a queue or cache that is a little
                  fuller; in half an hour, 70 kB for each recovery, or 400 bytes for each
                  client, are as much
    descriptors, but for those of data files: 4, WAL segments and directories that are in
                  use just then
    second descriptors of a data file, sockets, socket and lock files, threads, rings,
                  deleted files that are open: 0, but for one that is in use just then: 1
    data files    16, those that happen to be in use; not in shorter lives, because a recovery
                  begins with none and opens each that its WAL names, so that their number
                  depends on when in a recovery the samples are taken

After the end of its server, a daemon must hold exactly what it held at first
(Daemon.holds_more); that check has no tolerance.
"""
import collections
import contextlib
import json
import os
import statistics
import subprocess
import threading
import time

import status_client
from bench import host, postgres
from rounds import stage

MB = 1 << 20
JUDGED_SECONDS = 600            # shorter lives say nothing about what is in LONG
WARM_UP = 1 / 6                 # of a life, not counted
PAUSE = 0.1                     # seconds between two clients of one daemon
PROBE_TURNS = 30                # clients for each probe
BOUNDS = {                      # member of a sample -> growth that is allowed: number, share of the first third
    'rss_bytes': (4 * MB, 0.1), 'anonymous_bytes': (4 * MB, 0.1), 'descriptors': (4, 0), 'repeated_files': (1, 0),
    'data_files': (16, 0), 'sockets': (1, 0), 'socket_files': (1, 0), 'threads': (1, 0), 'rings': (1, 0),
    'deleted_files': (1, 0),
}
LONG = ('rss_bytes', 'anonymous_bytes', 'data_files')   # judged in long lives only


def status_numbers(pid):
    """Numbers of /proc/PID/status that a sample has; memory in bytes."""
    found = {}
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as file:
        for line in file:
            name, _, value = line.partition(':')
            found[name] = value.split()
    return {'rss_bytes': int(found['VmRSS'][0]) * 1024, 'peak_rss_bytes': int(found['VmHWM'][0]) * 1024,
            'anonymous_bytes': int(found['RssAnon'][0]) * 1024, 'threads': int(found['Threads'][0])}


def named_sockets(inodes):
    """How many of the sockets of these inodes have a name in the file system."""
    with open('/proc/net/unix', encoding='utf-8', errors='replace') as file:
        lines = [line.split() for line in file]
    return sum(len(words) > 7 and words[6] in inodes for words in lines)


def is_data_file(path, directory):
    """Is this a file of a relation in a data directory?  One that was deleted still is."""
    return path.startswith(tuple(os.path.join(directory, part, '') for part in ('base', 'global', 'pg_tblspc')))


def take(daemon):
    """A sample of a daemon, or None if it has just ended."""
    pid = daemon.process.pid
    with contextlib.suppress(OSError, KeyError):
        sample = status_numbers(pid)
        held = []
        for number in os.listdir(f'/proc/{pid}/fd'):
            with contextlib.suppress(FileNotFoundError):
                held.append(os.readlink(f'/proc/{pid}/fd/{number}'))
        data = [path for path in held if is_data_file(path, daemon.node.data)]
        sockets = {path[8:-1] for path in held if path.startswith('socket:')}
        with open(f'/proc/{pid}/maps', encoding='utf-8', errors='replace') as file:
            sample['rings'] = sum('memfd:redoahead' in line for line in file)
        sample |= {
            'descriptors': len(held) - len(data), 'data_files': len(data),
            'repeated_files': len(data) - len(set(data)),
            'sockets': len(sockets), 'named_sockets': named_sockets(sockets),
            'memfds': sum('memfd:' in path for path in held),
            'deleted_files': sum(path.endswith(' (deleted)') and 'memfd:' not in path for path in held),
            'socket_files': sum(name.startswith('redoahead') for name in
                                os.listdir(os.path.join(daemon.node.data, 'pg_stat_tmp'))),
        }
        return sample
    return None


class Samples:
    """All samples, also as lines of a file."""

    def __init__(self, path):
        self.path = path
        self.begun = time.monotonic()
        self.lives = collections.defaultdict(list)      # (command, number of its life) -> samples
        self.count = 0

    def add(self, daemon):
        sample = take(daemon) if daemon.running() else None
        if not sample:
            return
        sample = {'seconds': round(time.monotonic() - self.begun, 1), 'command': daemon.command,
                  'life': daemon.lives, **sample}
        self.lives[daemon.command, daemon.lives].append(sample)
        self.count += 1
        with open(self.path, 'a', encoding='ascii') as file:
            shared = int(host.first_line('/proc/meminfo', 'Shmem:').split()[0])
            print(json.dumps({**sample, 'machine_shared_kb': shared}), file=file)

    def longest(self, command):
        """Samples of the longest life of a daemon."""
        return max((samples for (name, _), samples in self.lives.items() if name == command),
                   key=lambda samples: samples[-1]['seconds'] - samples[0]['seconds'], default=[])

    def most(self, command, member):
        """The greatest value in all lives of a daemon."""
        return max((sample[member] for (name, _), samples in self.lives.items() if name == command
                    for sample in samples), default=None)


def growth(samples):
    """Medians of the first and the last third after the warm-up, and growth per hour, of each member."""
    begin, end = (samples[0]['seconds'], samples[-1]['seconds']) if samples else (0, 0)
    warm = begin + WARM_UP * (end - begin)
    third = (end - warm) / 3
    first = [each for each in samples if warm <= each['seconds'] <= warm + third]
    last = [each for each in samples if each['seconds'] >= end - third]
    if len(first) < 3 or len(last) < 3 or third <= 0:
        return {}
    hours = (statistics.median(each['seconds'] for each in last) -
             statistics.median(each['seconds'] for each in first)) / 3600
    found = {}
    for member in BOUNDS:
        before, after = (statistics.median(each[member] for each in part) for part in (first, last))
        found[member] = {'first': before, 'last': after, 'per_hour': round((after - before) / hours, 1)
                         if end - begin >= JUDGED_SECONDS else None}
    return found


def judge(command, samples):
    """What grew more than it may, as lines of text."""
    seconds = samples[-1]['seconds'] - samples[0]['seconds'] if samples else 0
    wrong = []
    for member, values in growth(samples).items():
        if member in LONG and seconds < JUDGED_SECONDS:
            continue
        number, share = BOUNDS[member]
        if values['last'] - values['first'] > max(number, share * values['first']):
            wrong.append(f'{command}: {member} grew from {values["first"]} to {values["last"]} in {seconds:.0f} s')
    return wrong


class Client(threading.Thread):
    """Reads the status of a daemon again and again, and now and then is a liveness probe.

    No recovery is stalled in a soak, so a probe that fails would have a healthy server restarted.
    """

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.of = daemon
        self.over = threading.Event()
        self.paused = False
        self.busy = False
        self.answered = 0
        self.unanswered = 0     # no daemon, or no server beside follow, or it was ended meanwhile
        self.broken = []        # what was no status document, from a daemon that went on
        self.documents = {}     # process ID -> the last document
        self.probes = 0         # that succeeded
        self.false_alarms = []  # what probes printed that did not

    def run(self):
        turns = 0
        while not self.over.wait(PAUSE):
            self.busy = True
            turns += 1
            if not self.paused and self.of.running():
                self.read()
            if not self.paused and turns % PROBE_TURNS == 0:
                self.probe()
            self.busy = False

    def probe(self):
        done = subprocess.run([self.of.program, 'status', '--probe', '-D', self.of.node.data], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **postgres.as_self())
        if done.returncode == 0:
            self.probes += 1
        else:
            self.false_alarms.append(f'{self.of.command}: probe: status {done.returncode}: {done.stdout[-300:]}')

    def read(self):
        process, text = self.of.process, ''
        try:
            text = status_client.read(status_client.connect(self.of.status_socket))
            document = json.loads(text)
            if document['version'] != 1 or document['command'] != self.of.command:
                raise ValueError('another document')
            self.answered += 1
            self.documents[document['pid']] = document
        except OSError:
            self.unanswered += 1
        except (ValueError, KeyError) as error:
            time.sleep(1)               # one that is ended is soon gone
            if process is self.of.process and process.running():
                self.broken.append(f'{self.of.command}: status: {error}: {text[:100]!r}')
            else:
                self.unanswered += 1

    def pause(self):
        """Let nobody be connected."""
        self.paused = True
        stage.wait_until('the end of a status client', lambda: not self.busy)

    def total(self, name):
        """A counter over all lives of the daemon."""
        return sum(document['total'].get(name) or 0 for document in self.documents.values())

    def recoveries(self):
        return sum(document['recoveries'] for document in self.documents.values())



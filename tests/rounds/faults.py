"""Faults: what happens to a recovery in the middle of it.

Each is a function of the stage and a value, which was drawn when the round was
planned; it returns what it did, as text, or raises Missed or NotYet.  None of them may change what stock recovery
would end in.  Some end the server: recovery then begins anew, as an administrator
would have it.

Of the clocks of one process, Linux lets only those be set that do not tell the time
of day, and only before it starts: a daemon comes back with other clocks.  A stopped
daemon that goes on sees all of its clocks jump.
"""
import contextlib
import errno
import mmap
import os
import random
import signal
from dataclasses import dataclass, field

from bench import host, postgres

from . import workload
from .stage import SOCKET, ring_mapping, wait_until

MB = 1 << 20
LEAST_WITH_SERVER = 160         # MB of memory for the daemon and the server
ENDED = ('', 'Z', 'X')          # states of a process that has ended

HOSTILE = ('closes silent refuses short-reply garbage-reply wrong-version disconnects dead idle chatters '
           'tail-beyond tail-when-full huge scribbles truncates punches never-awake '
           'blocks-wakeups').split()

# Parts of the ring, in bytes: see userspace/common/redoahead_abi.h.
RING = {'constants': (0, 64), 'server': (64, 192), 'daemon': (192, 320), 'references': (320, None),
        'all': (0, None)}

RELOADS = {
    'lookahead': ('64', '100', '8192', '1048576'),
    'decode_buffer_size': ('512kB', '32MB', '128MB'),
    'prefault': ('0', '1MB', '64MB'),
    'defer_checkpoint': ('off', 'on'),
    'socket': ('', '/nowhere/redoahead.sock', SOCKET),
}


class Missed(Exception):
    """A fault that could not happen; the message says why."""


class NotYet(Exception):
    """A fault that cannot happen now, but may later."""


@dataclass(frozen=True)
class Fault:
    """A fault as a round knows it."""
    act: object                 # function(stage, value)
    draw: object                # function(random) that returns the value
    kinds: tuple = workload.KINDS       # recoveries that it may happen to
    device: str = None          # it needs that one
    settings: dict = field(default_factory=dict)    # of the extension, without which it cannot happen
    weight: int = 2             # how often it is drawn

    def fits(self, kind, device):
        return kind in self.kinds and self.device in (None, device)


FAULTS = {}


def fault(draw, **more):
    """Make a function a fault of its name."""
    def note(act):
        FAULTS[act.__name__] = Fault(act, draw, **more)
        return act
    return note


def seconds(*choices):
    return lambda dice: dice.choice(choices)


def state_of(pid):
    """The letter of a process's state; nothing if it has gone."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            return file.read().rpartition(')')[2].split()[0]
    except OSError:
        return ''


def kill_between_writes(pid):
    """Kill a process of a server.

    A signal that kills ends a write between two pages of memory, and this WAL has no image to
    repair a block with: stock would not recover either.  One that stops lets the write end.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        wait_until('the stop of the process', lambda: state_of(pid) in 'TZX')
        os.kill(pid, signal.SIGKILL)


# ---------- the daemon ----------

def running_daemon(stage):
    if not stage.daemon:
        raise Missed('there was none')
    return stage.daemon


@fault(seconds(None, 0, 0.05, 0.5), weight=4)
def kill_daemon(stage, back):
    running_daemon(stage)
    stage.end_daemon()
    return bring_back(stage, back)


@fault(seconds(None, 0, 0.2))
def end_daemon(stage, back):
    running_daemon(stage)
    stage.end_daemon(signal.SIGTERM)
    return bring_back(stage, back)


def bring_back(stage, back, wrapper=()):
    if back is None:
        return 'for good'
    stage.after(back, lambda: None if stage.daemon or stage.fake else stage.start_daemon(wrapper))
    return f'back after {back} s'


@fault(seconds(0.02, 0.3, 1.5, 2.5), weight=4)
def stop_daemon(stage, duration):
    daemon = running_daemon(stage)
    daemon.child.send_signal(signal.SIGSTOP)
    stage.after(duration, lambda: daemon.child.send_signal(signal.SIGCONT) if daemon.running() else None)
    return f'for {duration} s'


@fault(lambda dice: None, weight=1)
def hang_up_daemon(stage, value):
    running_daemon(stage).child.send_signal(signal.SIGHUP)
    return 'SIGHUP'


@fault(lambda dice: (dice.choice((0, 3, 8, 16, 40)), dice.choice((0.1, 0.5, 60))))
def few_descriptors_daemon(stage, value):
    most, duration = value
    daemon = running_daemon(stage)
    before = set_soft_limit(daemon.pid, most)

    def undo():
        with contextlib.suppress(Missed):
            if daemon.running():
                set_soft_limit(daemon.pid, before)
    stage.after(duration, undo)
    return f'{most} for {duration} s'


def set_soft_limit(pid, most):
    """Set RLIMIT_NOFILE by the process's own user, for root may lack CAP_SYS_RESOURCE; returns what it was."""
    limits = host.first_line(f'/proc/{pid}/limits', 'Max open files')
    if not limits:
        raise Missed('it had gone')
    soft, hard = map(int, limits.split()[:2])
    try:
        postgres.run(['prlimit', '--pid', str(pid), f'--nofile={min(most, hard)}:'])
    except postgres.PostgresError:
        if state_of(pid) in ENDED:
            raise Missed('it had gone') from None
        raise
    return soft


@fault(seconds(0.1, 0.5, 60))
def fill_files(stage, duration):
    """No space for the daemon's statistics, timeline and block log."""
    ballast = os.path.join(stage.files, 'ballast')
    try:
        with host.create(ballast, 'wb', buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    stage.after(duration, lambda: os.unlink(ballast) if os.path.exists(ballast) else None)
    return f'for {duration} s'


@fault(lambda dice: dice.choice((32, 48, 96, 160)))
def limit_memory(stage, megabytes):
    stage.may_end |= stage.plan.server_limited
    if stage.plan.server_limited:
        megabytes = max(megabytes, LEAST_WITH_SERVER)
    name = 'memory.max' if stage.limit.version == 2 else 'memory.limit_in_bytes'
    try:
        stage.limit.set(name, megabytes * MB)
    except OSError as error:
        raise Missed(f'{megabytes} MB refused: {error.strerror}') from None
    return f'{megabytes} MB'


@fault(lambda dice: (dice.choice(HOSTILE), dice.choice((0.2, 1.2, 60))), weight=6)
def hostile_daemon(stage, value):
    mode, duration = value
    if stage.fake:
        raise Missed('there was one')
    stage.end_daemon()
    stage.start_fake(mode)
    stage.after(duration, stage.end_fake)
    return f'{mode} for {duration} s'


@fault(lambda dice: (dice.choice(list(RING)), dice.randrange(1 << 32), dice.choice((1, 20))),
       weight=6)
def scribble_ring(stage, value):
    """Random bytes in the memory that server and daemon share."""
    part, seed, times = value
    noise = random.Random(seed)
    mapping = ring_mapping(stage.server.startup_pid())
    if not mapping:
        raise Missed('there was no ring')
    try:
        with open(mapping, 'r+b') as file, mmap.mmap(file.fileno(), 0) as ring:
            start, end = RING[part]
            end = min(end or len(ring), MB)     # more would take as long as a recovery
            for _ in range(times):
                ring[start:end] = noise.randbytes(end - start)
    except OSError as error:            # it has just gone
        raise Missed(f'no ring: {error.strerror}') from None
    return f'{part}, {times} times'


@fault(seconds(-100, 86400, 10 ** 8), weight=1)
def other_clocks(stage, offset):
    stage.end_daemon()
    if stage.fake:
        raise Missed('there was a hostile one')
    return bring_back(stage, 0, ['unshare', '--time', f'--monotonic={offset}', f'--boottime={offset}', '--'])


# ---------- the server ----------

@fault(lambda dice: dice.choice(('postmaster', 'startup')), weight=5)
def kill_server(stage, which):
    startup = stage.server.startup_pid()
    if not startup:     # a postmaster that is killed while it starts leaves an empty lock file
        raise Missed('there was no startup process')
    pid = stage.server.pid if which == 'postmaster' else startup
    stage.may_end = True
    kill_between_writes(pid)
    return which


@fault(seconds(0.05, 0.5, 1.5), weight=1)
def stop_startup(stage, duration):
    pid = stage.server.startup_pid()
    if not pid:
        raise Missed('it had gone')
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        raise Missed('it had gone') from None
    stage.allowance += duration

    def go_on():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    stage.after(duration, go_on)
    return f'for {duration} s'


# The least look-ahead with which there is a decoder, for WAL is short here.
DECODER = {'kinds': ('crash',), 'settings': {'decoder': 'on', 'lookahead': '4096'}, 'weight': 4}


def signal_decoder(stage, number):
    """Send the decoder a signal; returns its process ID."""
    decoder = stage.server.decoder_pid()
    if not decoder:
        raise NotYet
    try:
        os.kill(decoder, number)
    except ProcessLookupError:
        raise NotYet from None
    return decoder


@fault(seconds(0.05, 0.5, 1.5), **DECODER)
def stop_decoder(stage, duration):
    decoder = signal_decoder(stage, signal.SIGSTOP)

    def go_on():
        with contextlib.suppress(ProcessLookupError):
            os.kill(decoder, signal.SIGCONT)
    stage.allowance += 0.3
    stage.after(duration, go_on)
    return f'for {duration} s'


@fault(lambda dice: dice.choice(('SIGTERM', 'SIGKILL')), **DECODER)
def end_decoder(stage, name):
    signal_decoder(stage, signal.Signals[name])
    # The server begins recovery anew when a process of its own is killed.
    stage.may_end = stage.may_end or name == 'SIGKILL'
    return name


@fault(lambda dice: (name := dice.choice(list(RELOADS)), dice.choice(RELOADS[name])), weight=5)
def reload(stage, value):
    stage.settings(**{value[0]: value[1]})
    return '='.join(value)


@fault(lambda dice: dice.randrange(8, 16), weight=1)
def few_descriptors_server(stage, more):
    pid = stage.server.startup_pid()
    if not pid:
        raise Missed('it had gone')
    try:
        most = len(os.listdir(f'/proc/{pid}/fd')) + more
    except OSError:
        raise Missed('it had gone') from None
    set_soft_limit(pid, most)
    return str(most)


# ---------- files and devices ----------

@fault(lambda dice: None)
def drop_caches(stage, value):
    workload.evict(stage.data, written=False)
    return 'of the cluster'


@fault(lambda dice: (dice.choice(('deleted', 'renamed', 'truncated')), dice.randrange(60)),
       kinds=('crash',), weight=5)
def damage_victim(stage, value):
    """A file that later WAL drops: recovery goes on, or ends and begins anew."""
    how, blocks = value
    stage.may_end = True
    path = os.path.join(stage.data, stage.site.workload(stage.plan.workload).victim)
    try:
        if how == 'deleted':
            os.unlink(path)
        elif how == 'renamed':
            os.rename(path, os.path.join(stage.directory, 'renamed'))
        elif os.path.getsize(path) > blocks * 8192:
            postgres.run(['truncate', '-c', f'--size={blocks * 8192}', '--', path])
        else:
            raise Missed('it was shorter')
    except FileNotFoundError:
        raise Missed('it had gone') from None
    return f'{how} {blocks}' if how == 'truncated' else how


@fault(lambda dice: dice.choice((1, 5, 50, 500)), device='model', weight=12)
def fail_reads(stage, number):
    stage.may_end = True
    stage.site.lab.control(f'fail {number}')
    stage.after(1, lambda: stage.site.lab.control('fail 0'))
    return f'the next {number}'


@fault(seconds(0.05, 0.3, 1.2), device='model', weight=12)
def stall_device(stage, duration):
    stage.site.lab.control(f'stall {int(duration * 1000)}')
    stage.allowance += duration
    return f'for {duration} s'

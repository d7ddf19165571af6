"""Faults of the soak test: what happens when, by a seed.

The time is divided into two phases.  In each, one of the two daemons is not ended, so
that it lives long enough for its growth to show; all else may happen to it.
"""
import contextlib
import os
import random
import signal
from dataclasses import dataclass

from rounds import stage
from rounds.faults import state_of

DAEMONS = ('serve', 'follow')   # spared in the first phase, in the second
MEAN_SECONDS = 5                # between two faults
WEIGHTS = {
    'kill_daemon': 12, 'terminate_daemon': 8, 'stop_daemon': 12, 'hang_up_daemon': 8,
    'kill_postmaster': 8, 'kill_startup': 6, 'restart_fast': 4, 'restart_immediate': 4,
    'restart_primary_fast': 1, 'restart_primary_immediate': 1,
}
ENDS_DAEMON = ('kill_daemon', 'terminate_daemon')
STOPS = (0.3, 1.5, 5)           # seconds


@dataclass(frozen=True)
class Planned:
    """A fault that is to happen."""
    at: float                   # seconds since the phase began
    name: str
    target: str                 # serve or follow: the daemon or its standby; or primary
    value: float                # drawn for it, 0 to 1


def make_plan(seed, seconds):
    """Faults of each phase, in the order of their times."""
    dice = random.Random(f'soak {seed}')
    plan = []
    for spared in DAEMONS:
        at, planned = 0.0, []
        while (at := at + dice.expovariate(1 / MEAN_SECONDS)) < seconds / len(DAEMONS):
            name, = dice.choices(list(WEIGHTS), list(WEIGHTS.values()))
            target, value = dice.choice(DAEMONS), dice.random()
            if name in ENDS_DAEMON:
                target = DAEMONS[1 - DAEMONS.index(spared)]
            elif 'primary' in name:
                target = 'primary'
            planned.append(Planned(round(at, 2), name, target, round(value, 3)))
        plan.append(planned)
    return plan


# ---------- daemons ----------

def kill_daemon(soak, planned):
    daemon = soak.daemons[planned.target]
    if not daemon.running():
        return False
    daemon.kill()
    return True


def terminate_daemon(soak, planned):
    daemon = soak.daemons[planned.target]
    if not daemon.running():
        return False
    daemon.terminate()
    return True


def stop_daemon(soak, planned):
    """Stop it, and have it go on later."""
    daemon = soak.daemons[planned.target]
    if not daemon.running():
        return False
    process = daemon.process
    process.child.send_signal(signal.SIGSTOP)
    soak.after(STOPS[int(planned.value * len(STOPS))],
               lambda: process.child.send_signal(signal.SIGCONT) if process.running() else None)
    return True


def hang_up_daemon(soak, planned):
    daemon = soak.daemons[planned.target]
    # One that is starting does not handle it yet.
    if not daemon.running() or not daemon.up():
        return False
    daemon.process.child.send_signal(signal.SIGHUP)
    return True


# ---------- servers ----------

def kill_process(soak, planned, postmaster):
    """Kill a process of a standby; it starts again, half of the times from a cold cache."""
    node = soak.standbys[planned.target]
    # A postmaster that is killed while it starts leaves an empty lock file.
    startup = node.running() and not node.expected and node.server.startup_pid()
    if not startup:
        return False
    pid = node.server.pid if postmaster else startup
    node.expected, node.cold = True, planned.value < 0.5
    # One that is stopped first ends a write between two pages of memory: a block of the
    # visibility map that is half written is not repaired by redo.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        stage.wait_until('the stop of the process', lambda: state_of(pid) in 'TZX')
        os.kill(pid, signal.SIGKILL)
    return True


def kill_postmaster(soak, planned):
    return kill_process(soak, planned, True)


def kill_startup(soak, planned):
    return kill_process(soak, planned, False)


def restart(node, number, cold=False):
    if not node.running() or node.expected or not (node.server.startup_pid() or node.accepts()):
        return False
    node.expected, node.cold = True, cold
    node.server.child.send_signal(number)
    return True


def restart_fast(soak, planned):
    return restart(soak.standbys[planned.target], signal.SIGINT, planned.value < 0.5)


def restart_immediate(soak, planned):
    return restart(soak.standbys[planned.target], signal.SIGQUIT, planned.value < 0.5)


def restart_primary_fast(soak, planned):
    return restart(soak.primary, signal.SIGINT)


def restart_primary_immediate(soak, planned):
    return restart(soak.primary, signal.SIGQUIT)


FAULTS = {name: globals()[name] for name in WEIGHTS}

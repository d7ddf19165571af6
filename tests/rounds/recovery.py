"""A round: it is planned from its seed and number, run, and checked."""
import contextlib
import os
import random
import shutil
import signal
import time
from dataclasses import dataclass

from bench import compare, host, postgres

from . import checks, faults, stage, workload

LATEST = 0.8                    # share of stock's time until which faults happen: redoahead is faster
SLOWER = 1.05                   # a recovery takes at most so many times as long as stock's
SLACK = 1.0                     # and so many seconds more
STUCK_AFTER = 5                 # seconds after which the background writer may be killed
MOST_STARTS = 12                # of a server that faults end again and again
PACES = (0, 0, 0.05)            # seconds that an archive takes for each segment
OPTIONS = ((), (), (), ('--backend=fadvise',), ('--io-depth=4',), ('--files=3',), ('--readahead-limit=64',))
SETTINGS = ({}, {}, {'lookahead': '64'}, {'lookahead': '1024'}, {'lookahead': '1048576'})


@dataclass(frozen=True)
class Planned:
    """A fault that is to happen."""
    at: float                   # share of the time that stock's recovery takes
    name: str
    value: object


@dataclass(frozen=True)
class Plan:
    """All that is decided about a round before it begins."""
    seed: int
    number: int
    workload: str
    kind: str                   # of recovery
    pace: float                 # seconds that the archive takes for each segment
    device: str                 # disk, or model: a modelled one
    options: tuple              # of the daemon
    settings: dict              # of the extension
    server_limited: bool        # is the server in the daemon's memory cgroup, too?
    faults: tuple               # in the order of their times

    @property
    def needs(self):
        return {each.name for each in self.faults}

    @property
    def case(self):
        """What stock's time depends on."""
        return self.workload, self.kind, self.pace, self.device

    def __str__(self):
        what = ' '.join(filter(None, [
            self.workload, self.kind, f'pace {self.pace}' if self.pace else '', self.device,
            *self.options, *(f'{name}={value}' for name, value in self.settings.items()),
            'server limited' if self.server_limited and 'limit_memory' in self.needs else '']))
        return f'round {self.number} of seed {self.seed}: {what}'


def make_plan(seed, number):
    """The plan of a round: a function of both, on every machine."""
    dice = random.Random(f'{seed}/{number}')
    kind = dice.choice(workload.KINDS)
    device = 'model' if kind != 'streaming' and dice.random() < 0.15 else 'disk'
    known = {name: fault for name, fault in faults.FAULTS.items() if fault.fits(kind, device)}
    names = dice.choices(list(known), [fault.weight for fault in known.values()], k=dice.choice((1, 1, 2, 2, 3, 5)))
    drawn = sorted((round(LATEST * dice.random(), 3), name, index) for index, name in enumerate(names))
    needed = {key: value for name in names for key, value in known[name].settings.items()}
    return Plan(seed, number, dice.choice(workload.NAMES), kind,
                dice.choice(PACES) if kind == 'archive' else 0, device,
                dice.choice(OPTIONS),
                {**dice.choice(SETTINGS), 'decoder': dice.choice(('off', 'on')), **needed}, dice.random() < 0.5,
                tuple(Planned(at, name, known[name].draw(dice)) for at, name, _ in drawn))


@dataclass
class Outcome:
    """How a round went."""
    plan: Plan
    wrong: list                 # what did not hold
    seconds: float              # that the recovery took, begun for the last time
    allowed: float              # seconds that it may take
    done: list                  # what the faults did
    happened: list              # names of the faults that did something
    connected: bool = False     # was there a connection to the daemon?

    @property
    def slow(self):
        return self.seconds > self.allowed

    def __str__(self):
        state = 'FAILED' if self.wrong else 'slow' if self.slow else 'ok'
        return '\n    '.join([f'{state}: {self.plan}; {self.seconds:.2f} s of {self.allowed:.2f}; '
                              + ', '.join(self.done), *self.wrong])


def run(site, plan):
    """Run a round; it leaves nothing, but the logs of one that failed in site.kept."""
    reference = site.stock(plan)
    directory = site.new_path(plan.device, f'round-{plan.number}')
    outcome = Outcome(plan, [], 0, 0, [], [])
    with stage.Stage(site, plan, directory) as there:
        outcome.done, outcome.happened = there.done, there.happened
        try:
            begin(there)
            outcome.seconds = recover(there, reference.seconds)
            outcome.wrong += finish(there, reference, outcome)
        except (postgres.PostgresError, host.HostError, compare.NotComparable, OSError) as error:
            outcome.wrong.append(str(error) or repr(error))
        outcome.allowed = SLOWER * reference.seconds + SLACK + there.allowance
        if outcome.wrong:
            keep(there, os.path.join(site.kept, f'{plan.seed}-{plan.number}'))
    if plan.device == 'model':
        site.lab.control('fail 0')
    return outcome


def begin(there):
    workload.add_settings(there.data, {'shared_preload_libraries': 'redoahead'})
    there.settings(**there.plan.settings)
    there.start_daemon()
    # It may come after the message that the daemon serves.
    stage.wait_until('the status socket',
                     lambda: os.path.exists(os.path.join(there.data, stage.STATUS_SOCKET)))
    there.idle = stage.wait_until('a daemon that has written its statistics',
                                  lambda: stage.idle_descriptors(there.daemon.pid))
    there.start_server()


def recover(there, stock_seconds):
    """Have faults happen until recovery ends; returns seconds since it was begun for the last time."""
    begun = time.monotonic()
    due = list(there.plan.faults)
    end = begun + stage.PATIENCE
    while not there.server.ready():
        now = time.monotonic()
        for each in due:
            # One at a time, for it may end the server.
            if now - begun >= each.at * stock_seconds and happen(there, each, (now - begun) / stock_seconds):
                due.remove(each)
                break
        there.do_due()
        if not there.server.running():
            restart(there)
        if now > end:
            raise postgres.PostgresError(f'recovery has not ended after {stage.PATIENCE} s')
        time.sleep(0.002)
    there.done += [f'too late for {each.name}' for each in due]
    return there.server.seconds()


def happen(there, planned, at):
    """Have one fault happen, at a share of stock's time; returns False if it must be tried again later."""
    fault = faults.FAULTS[planned.name]
    try:
        if planned.name in there.site.missing:
            raise faults.Missed(there.site.missing[planned.name])
        text = fault.act(there, planned.value)
        there.happened.append(planned.name)
    except faults.NotYet:
        return False
    except faults.Missed as why:
        text = f'left out: {why}'
    there.done.append(f'{at:.2f} {planned.name}: {text}')
    return True


def restart(there):
    """The server has gone: begin recovery anew, once all of its processes have gone, too."""
    if not there.may_end:
        raise postgres.PostgresError(f'the server ended: {there.server.read()[-3:]}')
    if len(there.servers) >= MOST_STARTS:
        raise postgres.PostgresError(f'the server ended {MOST_STARTS} times: {there.server.read()[-3:]}')
    wait_for_end(there)
    # A fault that ends a server at once, again and again, ends before the last start.
    there.do_due(all_of_it=len(there.servers) == MOST_STARTS - 1)
    there.done.append('recovery begun anew')
    there.start_server()


def wait_for_end(there):
    """Wait for the end of all processes of a server whose postmaster has gone.

    In stock, too, the background writer does not notice that while each of its writes fails.
    """
    def has_ended():
        there.do_due()
        return not there.server_processes()
    try:
        stage.wait_until('the end of the server', has_ended, STUCK_AFTER)
    except postgres.PostgresError:
        writers = [pid for pid, command in there.server_processes().items()
                   if command.startswith('postgres: background writer')]
        if 'damage_victim' in there.happened:
            for pid in writers:
                faults.kill_between_writes(pid)
                there.done.append('background writer that cannot write killed')
        stage.wait_until('the end of the server', has_ended)


def finish(there, reference, outcome):
    """End all that runs, and check what must hold."""
    there.do_due(all_of_it=True)
    wrong = checks.daemon_idle(there)
    there.server.end(signal.SIGINT)
    if there.server.child.returncode != 0:
        wrong.append(f'the server ended with {there.server.child.returncode}')
    there.end_daemon(signal.SIGTERM)
    for server in there.servers:
        outcome.connected |= any('redoahead: connected' in line for line in server.read())
        wrong += checks.server_log(server.read(), time.time() - server.begun, len(there.plan.faults))
    wrong += checks.daemon_logs(there, time.time() - there.servers[0].begun, len(there.plan.faults))
    wrong += checks.leftovers(there, reference.data, killed=len(there.servers) > 1)
    return wrong + checks.data(there, reference.data, killed=len(there.servers) > 1)


def keep(there, target):
    """Keep the logs of a round that failed."""
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for name in os.listdir(there.directory):
        if name.startswith('log'):
            shutil.copy(os.path.join(there.directory, name), target)
    with contextlib.suppress(OSError):
        shutil.copytree(there.files, os.path.join(target, 'files'))

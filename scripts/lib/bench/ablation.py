"""What each mechanism gains: recoveries with one of them switched off.

Daemon and extension switch off what the environment variable REDOAHEAD_ABLATE
names (pg-patch/redoahead/ablate.h).  A variant is recovered in turn with the
baseline, which switches nothing off and uses no probes, and is compared with the
baseline of the same round.
"""
import dataclasses
import math
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import time
from dataclasses import dataclass

from . import cgroup, config, dbt2, host, memory_case, postgres, recovery, script, workload

BASELINE = 'baseline'
EACH = 6                        # variants between two baselines of a round
PHASES = re.compile(r'phases on (\d+) in (\d+) us, CPU (\d+) us, off (\d+) in (\d+) us, '
                    r'CPU (\d+) us')
LARGE = 8 << 20                 # bytes of a file that is not copied anew
NEAR = 5                        # runs before, and after, that tell how fast the machine is
NEEDED = 1.03                   # ratio from which a mechanism pays

# Variants that are more than a name in REDOAHEAD_ABLATE.
WARM = 'warm_slots+warm_buffers+warm_pointers+warm_tuples'
STEPS = ('warm', 'warm_slots', 'warm_buffers', 'warm_pointers', 'warm_tuples', 'warm_queue')
EXTENSION = ('deferred', 'short', 'bufhints', 'prefault', 'implied', 'doubtful', *STEPS)
STOCK = ('default', 'try-200')

# Counters of the daemon that a run keeps.
KEPT = ('blocks_read', 'blocks_found', 'blocks_rechecked', 'blocks_reread', 'blocks_released',
        'blocks_stale', 'refs_taken', 'refs_late', 'requests', 'sweeps', 'known_missing',
        'in_flight_max')


@dataclass(frozen=True)
class Case:
    """One workload on one device."""
    name: str
    about: str                  # one line for the report
    workload: object            # what is in the WAL
    variants: tuple             # mechanisms that it is meant for
    device: str = 'ssd'         # as bench-recovery --device has it
    settings: dict = dataclasses.field(default_factory=dict)    # of recovery
    limit: int = None           # bytes of memory for server and daemon, or None
    warm: bool = False          # are all files in the page cache before?


# ---------- updates and inserts, six indexes ----------

def load_indexed(server, load):
    path = server.socket_directory + '/indexed.sql'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'\\set id random(1, {load.scale * 1000})\n'
                   '\\set device random(1, 1000000)\n'
                   'BEGIN;\n'
                   'UPDATE events SET device = :device, amount = amount + 1 WHERE id = :id;\n'
                   'INSERT INTO events (device, token, label, happened, amount) VALUES '
                   '(:device, gen_random_uuid(), md5(random()::text), clock_timestamp(), 1);\n'
                   'END;\n')
    return workload.run_transactions(server, load.amount, '-f', path)


def make_cases():
    """All cases by name."""
    memory = memory_case.make_case('small')
    updates = memory.workloads['off']
    indexed = workload.Workload(
        'indexed', '130000 transactions, each of an update and an insert, on a table of 2 million '
        'rows with six indexes, full_page_writes off', 2000, 130000,
        {'shared_buffers': '2GB', 'full_page_writes': 'off'}, workload.prepare_indexed,
        load_indexed)
    narrow = workload.narrow('ablation-narrow', 1200,
                             {'shared_buffers': '2GB', 'full_page_writes': 'off'})
    orders = dbt2.make_workload('ablation-dbt2', 12, 4000, 20, 100,
                                {'shared_buffers': '1GB', 'full_page_writes': 'off'})
    spindles = workload.Workload(
        'ablation-spindles', 'pgbench -N, scale 150, 8000 transactions, full_page_writes off', 150,
        8000, {'shared_buffers': '2GB', 'full_page_writes': 'off'}, workload.prepare_pgbench,
        workload.load_simple_update)
    images = dataclasses.replace(
        spindles, name='ablation-images', about='pgbench -N, scale 150, 20000 transactions, full_page_writes on', amount=20000,
        settings={**spindles.settings, 'full_page_writes': 'on'})
    daemons = ('outoforder', 'recheck', 'release', 'lookbefore', 'lookbefore+release', 'doubtful',
               'sizefit', 'depthfit', 'express', 'trials')
    cases = (
        Case('ssd', 'pgbench -N, all in order of keys, cold', updates,
             ('sweep', 'express', 'trials', 'ramp', 'groups', 'walahead', 'recheck', 'outoforder',
              'absent', 'gather', *EXTENSION, 'feedback')),
        Case('mixed', 'many indexes, cold', indexed,
             (*EXTENSION, 'sweep', 'express', 'absent', 'groups', 'outoforder')),
        Case('cached', 'all in the page cache', narrow,
             ('deferred', 'short', 'slack', *STEPS, 'bufhints', 'prefault', 'implied', 'gather',
              'groups'), warm=True),
        Case('memory', memory.about, updates, daemons, settings=memory.settings,
             limit=memory.memory_limit),
        Case('2008', 'DBT-2 with shared_buffers 32 MB, 128 MB of memory', orders, daemons,
             settings={'shared_buffers': '32MB'}, limit=128 << 20),
        Case('spindles', 'RAID0 of 8 modelled disks', spindles,
             ('express', 'trials', 'ramp', 'walahead', 'recheck', 'sweep', 'outoforder', 'gather'),
             device='raid0'),
        Case('images', 'RAID0 of 8 modelled disks, full-page images', images,
             ('walahead', 'express', 'ramp', 'trials'), device='raid0'),
        Case('gp3', 'a modelled volume with 3000 requests per second', spindles,
             ('express', 'trials', 'ramp', 'walahead', 'sweep'), device='gp3'),
    )
    return {case.name: case for case in cases}


# ---------- one recovery ----------

def config_of(case, variant):
    """The configuration, the daemon's options and REDOAHEAD_ABLATE of a variant."""
    if variant in STOCK:
        plain, off = config.CONFIGS[variant], ''
    else:
        plain = config.CONFIGS['no-prefault' if variant == 'prefault' else 'redoahead']
        off = {'warm': WARM}.get(variant, variant)
        if variant in (BASELINE, 'prefault', 'slack', 'feedback'):
            off = ''
        if variant == 'slack':
            plain = dataclasses.replace(plain, build='slack')
    options = ('--feedback', 'auto' if variant == 'feedback' else 'off')
    return (dataclasses.replace(plain, name=variant, warm=case.warm,
                                settings={**plain.settings, **case.settings}),
            options, off.replace('+', ','))


def hook(variable):
    """Run the command of an environment variable, if there is one."""
    command = os.environ.get(variable)
    if command:
        subprocess.run(shlex.split(command), check=True, stdin=subprocess.DEVNULL)


def recover(case, variant, stage, builds, program, place, phase=0):
    """One timed recovery; ends the server as soon as redo is done."""
    how, options, off = config_of(case, variant)
    with script.maybe(case.limit, cgroup.MemoryLimit) as limit:
        if keeps_files(case):
            restore(stage.image.directory, stage.directory)
        else:
            stage.copy(stage.image.directory, stage.directory)
        if case.warm:
            host.warm(stage.directory)
        os.sync()
        os.environ['REDOAHEAD_ABLATE'] = off
        if phase:
            os.environ['REDOAHEAD_ABLATE_PHASE'] = str(phase)
        try:
            hook('ABLATION_BEFORE')
            if not case.warm:
                host.chill(stage.directory)
            host.fetch(builds[how.build].program('postgres'))
            conditions = recovery.Conditions(limit=limit, options=options)
            if not how.daemon:
                return run_server(case, how, stage, builds, place, limit, None)
            with recovery.Daemon(program, stage.directory, os.path.join(place, 'stats.json'),
                                 os.path.join(place, 'daemon.log'), conditions) as daemon:
                return run_server(case, how, stage, builds, place, limit, daemon)
        finally:
            del os.environ['REDOAHEAD_ABLATE']
            os.environ.pop('REDOAHEAD_ABLATE_PHASE', None)
            with host.uninterrupted():
                hook('ABLATION_AFTER')


def keeps_files(case):
    """Does redo leave data files as they are, but for their ends?

    It does if shared buffers hold all that it changes, and neither the background
    writer nor a checkpoint writes.
    """
    return case.device == 'ssd' and not case.limit


def restore(source, target):
    """Make a copy that a recovery has used like new.  Large files only lose what was added."""
    if not os.path.isdir(target):
        postgres.copy_cluster(source, target)
        return
    kept = set()
    for path in host.files_below(source):
        name = os.path.relpath(path, source)
        if name.startswith('pg_wal/'):
            continue
        kept.add(name)
        copy = os.path.join(target, name)
        wanted = os.stat(path)
        found = os.stat(copy) if os.path.exists(copy) else None
        if found and (found.st_size, found.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns):
            continue
        if found and wanted.st_size >= LARGE:
            os.truncate(copy, wanted.st_size)
            os.utime(copy, ns=(wanted.st_atime_ns, wanted.st_mtime_ns))
        else:
            postgres.run(['cp', '-a', path, copy])
    for path in list(host.files_below(target)):
        name = os.path.relpath(path, target)
        if not name.startswith('pg_wal/') and name not in kept:
            os.remove(path)
    wal = os.path.join(target, 'pg_wal')
    for name in os.listdir(wal):
        if os.path.isfile(os.path.join(wal, name)):
            os.remove(os.path.join(wal, name))
    for name in os.listdir(os.path.join(source, 'pg_wal')):
        path = os.path.join(source, 'pg_wal', name)
        if not os.path.isfile(path):
            continue
        if os.stat(path).st_mode & 0o777 == postgres.SEALED:
            os.link(path, os.path.join(wal, name))
        else:
            postgres.run(['cp', '-a', '-t', wal, path])


def stop_checkpointer(server):
    """Let no checkpoint write what redo changed; returns its pid."""
    end = time.monotonic() + 10
    while server.running() and time.monotonic() < end:
        with open(f'/proc/{server.pid}/task/{server.pid}/children', encoding='ascii') as file:
            children = file.read().split()
        for pid in children:
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    found = file.read().startswith(b'postgres: checkpointer')
                # Elsewhere it may hold a lock that others wait for.
                with open(f'/proc/{pid}/wchan', encoding='ascii') as file:
                    found = found and 'epoll' in file.read()
            except OSError:
                continue
            if found:
                os.kill(int(pid), signal.SIGSTOP)
                return int(pid)
        time.sleep(0.002)
    raise recovery.RunRejected('the server has no checkpointer')


def run_server(case, how, stage, builds, place, limit, daemon):
    settings = {**recovery.RECOVERING, **stage.image.workload.settings, **how.settings}
    if keeps_files(case):
        settings['bgwriter_lru_maxpages'] = '0'
    with postgres.Server(builds[how.build], stage.directory, settings, place,
                         os.path.join(place, 'server.log'), limit) as server:
        stopped = stop_checkpointer(server) if keeps_files(case) else None
        found = recovery.watch_redo(server, lambda seconds, lsn: None)
        if daemon:
            cpu = host.process_cpu_seconds(daemon.pid)
        phases = phases_of(server) if 'REDOAHEAD_ABLATE_PHASE' in os.environ else {}
        if stopped:
            server.child.send_signal(signal.SIGQUIT)
            time.sleep(0.02)
            os.kill(stopped, signal.SIGCONT)
        server.stop('immediate')
    if found['attached'] != how.daemon:
        raise recovery.RunRejected(f'{how.name}: the daemon was {"not " if daemon else ""}attached')
    if postgres.parse_lsn(found['redo_done_lsn']) < stage.image.end_lsn - recovery.BLOCK * 16:
        raise recovery.RunRejected(f'{how.name}: redo ended at {found["redo_done_lsn"]}')
    run = {'workload': case.name, 'variant': how.name,
           'redo_seconds': found['redo_seconds'],
           'startup_cpu_seconds': found['startup_cpu_seconds'],
           'startup_system_seconds': found['startup_system_seconds'], **phases}
    if daemon:
        counters = daemon.stats()
        run.update(daemon_cpu_seconds=round(cpu, 2),
                   daemon={name: counters[name] for name in KEPT if name in counters})
    model = stage.model() if stage.model else None
    return {**run, **({'model_healthy': model['healthy']} if model and 'healthy' in model else {})}


def phases_of(server):
    """What phases without a mechanism took, divided by those with it, from the server's log."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        match = PHASES.search(server.text())
        if match:
            on, on_us, on_cpu, off, off_us, off_cpu = (int(text) for text in match.groups())
            return {'phases': off, 'phase_ratio': round((off_us / off) / (on_us / on), 4),
                    'phase_cpu_ratio': round((off_cpu / off) / (on_cpu / on), 4)}
        time.sleep(postgres.POLL)
    raise recovery.RunRejected(f'no phases in {server.log}')


def phase_table(runs):
    """Markdown of what phases told."""
    lines = ['### phases: mechanisms switched off and on every few milliseconds', '',
             '| workload | variant | median ratio of time | range | CPU | range | n | verdict |',
             '|---|---|---|---|---|---|---|---|']
    keys = dict.fromkeys((run['workload'], run['variant']) for run in runs)
    for case, variant in sorted(keys):
        found = [run['phase_ratio'] for run in runs if (run['workload'], run['variant']) ==
                 (case, variant)]
        middle = statistics.median(found)
        cpu = [run['phase_cpu_ratio'] for run in runs if (run['workload'], run['variant']) ==
               (case, variant) and 'phase_cpu_ratio' in run]
        lines.append(f'| {case} | {variant} | {middle:.3f} | {min(found):.3f}-{max(found):.3f} | ' +
                     (f'{statistics.median(cpu):.3f} | {min(cpu):.3f}-{max(cpu):.3f}' if cpu else '|')
                     + f' | {len(found)} | {"keep" if middle >= NEEDED else "cut"} |')
    return '\n'.join(lines) + '\n'


# ---------- the order, and what comes of it ----------

def order(variants, number):
    """What a round runs: the variants, in an order that each round has for itself, and baselines."""
    turned = list(variants)
    random.Random(number).shuffle(turned)
    tasks = []
    for i, variant in enumerate(turned):
        if i % EACH == 0:
            tasks.append((BASELINE, i // EACH))
        tasks.append((variant, 0))
    return [*tasks, (BASELINE, -(-len(turned) // EACH))]


def ratios(runs, measure):
    """{variant: [measure ÷ median of the baselines of its round]}."""
    base = {}
    for run in runs:
        if run['variant'] == BASELINE:
            base.setdefault(run['round'], []).append(run[measure])
    found = {}
    for run in runs:
        if run.get(measure) is not None and run['round'] in base:
            middle = statistics.median(base[run['round']])
            found.setdefault(run['variant'], []).append(run[measure] / max(0.01, middle))
    return found


def adjusted(runs, measure):
    """{variant: (ratio to the baseline, its standard error)}, by all runs nearby in time.

    The machine's speed changes from minute to minute.  How fast it is at a run is
    what the runs before and after it took, each divided by its own variant's ratio.
    """
    times = [math.log(max(0.01, run[measure])) for run in runs]
    effect = {run['variant']: 0.0 for run in runs}
    for _ in range(20):
        rest = {}
        for i, run in enumerate(runs):
            near = [times[j] - effect[runs[j]['variant']]
                    for j in range(max(0, i - NEAR), min(len(runs), i + NEAR + 1)) if j != i]
            if near:
                rest.setdefault(run['variant'], []).append(times[i] - statistics.mean(near))
        effect = {name: statistics.median(values) for name, values in rest.items()}
        effect = {name: value - effect[BASELINE] for name, value in effect.items()}
    away = [abs(value - statistics.median(values)) for values in rest.values()
            for value in values if len(values) > 2]
    spread = statistics.median(away) if away else math.inf
    return {name: (math.exp(effect[name]), 1.48 * 1.25 * spread / math.sqrt(len(values)))
            for name, values in rest.items()}


def verdict(name, ratio, error):
    if name in (BASELINE, *STOCK):
        return ''
    return ('keep' if ratio >= NEEDED else 'cut') + (' ?' if abs(ratio - NEEDED) < error else '')


def table(case, runs):
    """Markdown of one case."""
    runs = [run for run in runs if run['workload'] == case.name]
    redo, cpu = (ratios(runs, name) for name in ('redo_seconds', 'startup_cpu_seconds'))
    daemon = ratios([run for run in runs if 'daemon_cpu_seconds' in run], 'daemon_cpu_seconds')
    nearby = adjusted(runs, 'redo_seconds') if len(runs) > 2 * NEAR else {}
    nearby_cpu = adjusted(runs, 'startup_cpu_seconds') if len(runs) > 2 * NEAR else {}
    lines = [f'### {case.name}: {case.about}; {case.workload.about}', '',
             'Ratios to the baseline; removing is slower if > 1.  adjusted: by runs nearby in time.',
             '', '| variant | redo s | redo: paired median | range | adjusted | +- | startup CPU: paired '
             '| adjusted | daemon CPU | n | verdict |',
             '|---|---|---|---|---|---|---|---|---|---|---|']
    for name in sorted(nearby, key=lambda name: -nearby[name][0]):
        seconds = statistics.median(run['redo_seconds'] for run in runs if run['variant'] == name)
        ratio, error = nearby[name]
        lines.append(f'| {name} | {seconds:.2f} | {statistics.median(redo[name]):.3f} | '
                     f'{min(redo[name]):.2f}-{max(redo[name]):.2f} | {ratio:.3f} | {error:.3f} | '
                     f'{statistics.median(cpu[name]):.3f} | {nearby_cpu[name][0]:.3f} | ' +
                     (f'{statistics.median(daemon[name]):.2f}' if name in daemon else '') +
                     f' | {len(redo[name])} | {verdict(name, ratio, error)} |')
    return '\n'.join(lines) + '\n'

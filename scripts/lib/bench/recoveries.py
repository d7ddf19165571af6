"""Parts of a scenario that recover fresh copies of a crashed cluster.

A copy is recovered by each configuration in turn, on a device, under a memory limit if the
part has one.  A configuration may be traced meanwhile: by `redoahead trace`, or by the
kernel's page cache events.
"""
import contextlib
import dataclasses
import json
import os
import re
from dataclasses import dataclass, field

from . import archive, cgroup, config, host, pagecache, recovery, script, trace
from .scenario import Measure, Part

STARTUP = re.compile(r'\[(\d+)\] LOG:  redo starts at ')
LOOKAHEAD = re.compile(r'looking ahead (\d+) block references')

MEASURES = (
    Measure('redo_seconds', 'redo s', '{:.2f}'),
    Measure('ready_seconds', 'ready s', '{:.2f}'),
    Measure('startup_cpu_seconds', 'startup CPU', '{:.2f}'),
    Measure('daemon_cpu_seconds', 'daemon CPU', '{:.2f}'),
    Measure('blocks_read', 'blocks read', '{:.0f}'),
    Measure('coverage', 'coverage', '{:.1%}'),
)
OF_DEVICE = (
    Measure('device_read_bytes', 'device read MB', '{:.0f}', 1e-6),
    Measure('device_reads_per_second', 'reads/s', '{:.0f}'),
    Measure('mean_in_flight', 'in flight', '{:.1f}'),
)
UNTIL_READY = (
    Measure('before_redo_seconds', 'before redo s', '{:.2f}'),
    Measure('after_redo_seconds', 'after redo s', '{:.2f}'),
    Measure('checkpointed_seconds', 'checkpoint complete s', '{:.2f}'),
    Measure('checkpoint_buffers', 'checkpoint buffers', '{:.0f}'),
    Measure('device_written_bytes', 'device written MB', '{:.0f}', 1e-6),
    Measure('other_cpu_seconds', 'other CPU', '{:.2f}'),
)
OF_DAEMON = (
    Measure('daemon_us_per_block', 'daemon us/block', '{:.1f}'),
    Measure('emitted_per_block', 'emitted/block', '{:.2f}'),
    Measure('daemon_peak_rss_bytes', 'daemon RSS MB', '{:.1f}', 1e-6),
)
COMPARED = tuple((name, 'redoahead') for name in ('off', 'default', 'best', 'before'))
COMPARED_FOLLOW = (('default', 'follow'), ('best', 'follow'), ('follow', 'redoahead'))


@dataclass(frozen=True)
class Case:
    """What is special about the recoveries of a part."""
    configs: dict               # config.Config by name
    settings: dict = field(default_factory=dict)    # server settings beside the workload's
    memory_limit: int = None    # bytes for server and daemon, or None
    archived: bool = False      # is WAL restored from an archive (--archive-latency)?


def part(name, about, workload, configs, settings=None, memory_limit=None, archived=False,
         **more):
    """A part that recovers the image of a workload."""
    case = Case({each.name: each for each in configs}, settings or {}, memory_limit, archived)
    facts = {'memory_limit_bytes': memory_limit, 'settings': {
        each.name: {**recovery.RECOVERING, **workload.settings, **each.settings, **case.settings}
        for each in configs}}
    return Part(name, about, tuple(case.configs), opened, workload, facts=facts, details=case,
                missing=limit_missing if memory_limit else None, **more)


def limit_missing():
    """Why memory cannot be limited on this machine, in words; None if it can."""
    with contextlib.suppress(host.HostError):
        with cgroup.MemoryLimit(64 << 20):
            return None
    return 'there are no memory cgroups, or this is not root'


@contextlib.contextmanager
def opened(bench, part):
    """What the runner opens a part of recoveries with."""
    written = 0
    if part.details.archived:
        # The WAL is restored, and the checkpoint at the end writes all data to another place.
        written = bench.images[part.name].facts['data_bytes']
        bench.results.describe(part.name,
                               archive_latency_seconds=bench.options.archive_latency / 1e3)
    with bench.place('recovery') as place, bench.stage(part, written) as stage:
        def run(name, number):
            return recover(bench, part.details, name, stage, place)
        yield run


def recover(bench, case, name, stage, place):
    """One recovery; returns its figures."""
    chosen = case.configs[name]
    chosen = dataclasses.replace(chosen, settings={**chosen.settings, **case.settings})
    timeline = os.path.join(place, 'timeline') if bench.traces and chosen.daemon else None
    archived = archive.Archive(place, bench.options.archive_latency / 1e3) \
        if case.archived else None
    tracing = {'trace': TraceBeside, 'pages': PagesBeside}.get(chosen.traced, Beside)(
        bench.builds[chosen.build].daemon, place, stage)
    with script.maybe(case.memory_limit, cgroup.MemoryLimit) as limit, tracing, \
            trace.Watch(os.path.dirname(stage.directory), stage.image,
                        bench.show(stage.image), stage.model) as watch:
        run = recovery.recover(stage.image, chosen, bench.builds, place, watch.note,
                               conditions=recovery.Conditions(
                                   stage.directory, tracing.copy, limit, timeline,
                                   archive=archived))
    run.update(watch.figures(run), **tracing.figures())
    complete(run, stage.image)
    if bench.traces:
        os.makedirs(bench.traces, exist_ok=True)
        task = bench.task
        stem = trace.stem(bench.traces, {'case': task.part, 'config': name, 'round': task.round})
        watch.write(stem, run)
        if timeline:
            trace.keep_timeline(timeline, f'{stem}.daemon.tsv')
    return {key: value for key, value in run.items() if key not in ('workload', 'config')}


def complete(run, image):
    """Add what follows from the time of redo."""
    seconds = max(0.01, run['redo_seconds'])
    if 'device_reads' in run:
        run['device_reads_per_second'] = round(run['device_reads'] / seconds, 1)
    primary = image.facts['primary']
    if primary:
        run['replay_tx_per_minute'] = round(60 * primary['transactions'] / seconds, 1)
        run['replay_to_primary'] = round(primary['seconds'] / seconds, 3)


class Beside(contextlib.ExitStack):
    """Nothing beside a recovery."""

    def __init__(self, program, place, stage):
        super().__init__()
        self.program, self.place, self.stage = program, place, stage

    def copy(self, source, target):
        self.stage.copy(source, target)

    def figures(self):
        return {}


class TraceBeside(Beside):
    """`redoahead trace` beside a recovery, from when there is a copy."""

    def copy(self, source, target):
        from . import validate
        self.close()            # of an attempt that is repeated
        self.stage.copy(source, target)
        self.tracer = validate.Tracer(self.program, self.place)
        self.enter_context(self.tracer.beside(target))

    def figures(self):
        self.close()
        return {'trace': self.tracer.report,
                **{f'trace_{name}': self.tracer.report[name]
                   for name in ('coverage', 'late', 'wasted')}}


class PagesBeside(Beside):
    """The kernel's page cache events beside a recovery."""

    def __enter__(self):
        self.output = os.path.join(self.place, 'pages.trace')
        self.trace = self.enter_context(
            pagecache.Trace(os.path.dirname(self.stage.directory), self.output))
        return self

    def figures(self):
        """What became of the pages read ahead, and how far daemon and server looked ahead."""
        self.close()
        with open(os.path.join(self.place, 'stats.json'), encoding='utf-8') as file:
            stats = json.load(file)
        with open(os.path.join(self.place, 'server.log'), encoding='utf-8',
                  errors='replace') as file:
            log = file.read()
        lookahead = LOOKAHEAD.search(log)
        with open(self.output, encoding='utf-8', errors='replace') as file:
            pages = pagecache.judge(file, stats['pid'], int(STARTUP.search(log)[1]),
                                    pagecache.data_inodes(self.stage.directory))
        os.remove(self.output)
        return {'readahead_limit': stats['control']['readahead_limit'],
                'lookahead': int(lookahead[1]) if lookahead else None,
                'pages': {**pages, 'events_lost': self.trace.lost},
                'evicted_share': pages['evicted_share']}


def named(*names):
    """Configurations of config.CONFIGS."""
    return tuple(config.CONFIGS[name] for name in names)

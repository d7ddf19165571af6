"""The one runner: case by configuration by round, with an order, a time left, and resuming.

Parts follow each other; within a part, rounds are the outer loop, so that configurations take
turns.  A configuration that takes very long with prefetching off is run in the first round
only.  What a run does is not known here.
"""
import os
import statistics
import time
from dataclasses import dataclass

from . import device, host, image, postgres, results, script, usage

LONG = 240                      # seconds of redo after which `off` is not repeated
MEMORY = '/dev/shm'             # a tmpfs


@dataclass(frozen=True)
class Task:
    """One call of a part's function."""
    part: str
    round: int                  # from 1 on
    take: int                   # within the round, from 1 on
    number: int                 # of the take over all rounds, from 1 on
    config: object              # a name, or a tuple of all names where they run together

    def __str__(self):
        take = f' take {self.take}' if self.take > 1 else ''
        return f'{self.part} {self.config} {self.round}{take}'


def in_turn(configs, number):
    """Configurations in the order of a take.

    In as many takes as there are configurations, each is in each place once, and follows no
    other more than twice: a square of Williams, whose first row is 0, 1, -1, 2, -2 and so on.
    In as many takes more, which go backwards, each comes to follow each other twice.
    """
    count = len(configs)
    turn, shift = divmod(number - 1, max(1, count))
    row = [(at + 1) // 2 * (1 if at % 2 else -1) % count for at in range(count)]
    order = tuple(configs[row.index((each + shift) % count)] for each in row)
    return order[::-1] if turn % 2 else order


def tasks(part, configs, rounds):
    """All tasks of a part, in order."""
    found = []
    for number in range(1, (1 if part.once else rounds) * part.takes + 1):
        round_, take = divmod(number - 1, part.takes)
        order = in_turn(configs, number)
        found += [Task(part.name, round_ + 1, take + 1, number, each)
                  for each in ((order,) if part.together else order)]
    return found


def is_done(task, runs):
    """Is there nothing to do for a task?"""
    ours = [run for run in runs if run.get('part', run['case']) == task.part]
    if task.config == 'off' and task.round > 1 and any(
            run['config'] == 'off' and run.get('redo_seconds', 0) > LONG for run in ours):
        return True
    there = {run['config'] for run in ours
             if (run['round'], run['take']) == (task.round, task.take)}
    if isinstance(task.config, tuple):
        return bool(there) and there >= set(task.config)
    return task.config in there


class Bench:
    """What a part is opened with: the machine, the servers, and where to work."""

    def __init__(self, scenario, options, results_path):
        self.scenario, self.options = scenario, options
        self.progress = script.Progress()
        self.kept = script.work_root()          # where images are
        self.root = self.working_root()         # where copies are
        self.builds = {name: postgres.find_build(name) for name in scenario.builds}
        if scenario.daemon:
            self.builds['patched'] = script.find_patched()
        if options.before:
            self.builds['before'] = script.find_patched(os.path.abspath(options.before))
        self.device = device.find(options.device, self.root)
        self.images = {}        # of each part that needs one
        self.traces = None      # directory for what plots need, or None
        self.task = None        # under way
        self.left = lambda part, seconds: ''
        self.results = results.Results({
            'scenario': scenario.name, 'device_name': options.device, 'size': options.size,
            **results.facts(self.root, self.builds), **self.device.describe(),
            'options': {flag: getattr(options, flag.strip('-').replace('-', '_'))
                        for flag, _ in scenario.options},
            'rounds': options.rounds, 'cases': {}}, results_path)

    def working_root(self):
        """The directory of REDOAHEAD_BENCH_DIR, or one in that which --device names."""
        root = self.kept
        if self.options.device != 'ssd' and self.options.device not in device.ARRAYS:
            if not os.path.isdir(self.options.device):
                raise host.HostError(f'{self.options.device} is neither a directory nor one of '
                                     f'ssd, {", ".join(device.ARRAYS)}')
            root = script.claim(os.path.join(self.options.device, script.default_name()))
        host.require_space(root, (1 << 30) if self.options.size == 'small' else
                           self.scenario.space)
        return root

    def place(self, name, memory=False, **more):
        """A directory to work in, on tmpfs if requested; gone when the `with` block ends."""
        if memory and self.options.device == 'ssd':
            host.require_space(MEMORY, min(4 << 30, self.scenario.space))
            return script.work_place(os.path.join(MEMORY, script.default_name()), name,
                                     in_memory=True)
        return script.work_place(self.root, name, **more)

    def stage(self, part, written=0):
        """The device with the image of a part on it, and room for what recoveries write."""
        return self.device.stage(self.images[part.name], self.progress.say, written)

    def show(self, crashed):
        """A progress function for the recovery under way."""
        return self.progress.of_redo(str(self.task), crashed, self.left)


def chosen(bench, parts):
    """(parts to measure with their configurations, {part: why not})."""
    wanted, missing, options = [], {}, bench.options
    for part in parts:
        if options.case and part.name not in options.case:
            continue
        configs = part.configs
        if options.config:
            configs = (tuple(options.config) if part.unknown else
                       tuple(name for name in options.config if name in configs))
        if not options.before:
            configs = tuple(name for name in configs if name != 'before')
        reason = part.missing and part.missing()
        if reason and options.case:
            raise host.HostError(f'{part.name}: {reason}')
        if reason:
            missing[part.name] = reason
        elif configs or part.unknown:
            wanted.append((part, configs))
    if missing and not wanted:
        raise host.HostError('; '.join(f'{part}: {why}' for part, why in missing.items()))
    if not wanted:
        raise host.HostError(
            f'no run has both --case {",".join(options.case or ["(any)"])} and --config '
            f'{",".join(options.config or ["(any)"])}; configurations are: ' +
            '; '.join(f'{part.name}: {", ".join(part.configs)}' for part in parts
                      if part.name in (options.case or (part.name,))))
    return wanted, missing


def check_names(scenario, parts, options):
    """Raise for a case or a configuration that nobody knows."""
    known = dict.fromkeys(name for part in parts for name in part.configs)
    unknown = any(part.unknown for part in parts)
    for option, given, names in (('--case', options.case, [part.name for part in parts]),
                                 ('--config', options.config, () if unknown else known)):
        for name in given or ():
            if names and name not in names:
                raise host.HostError(f'{option} {name} is unknown to {scenario.name}; known are: '
                                     f'{", ".join(names)}')


def make_images(bench, wanted):
    """Make or find the crashed clusters that parts need, and describe their cases."""
    made = {}                   # {(workload's name, size): image}
    for part, _ in wanted:
        if not part.workload:
            continue
        size = part.image_size or bench.options.size
        key = (part.workload.name, size)
        if key not in made:
            made[key] = image.find_or_make(bench.kept, part.workload, size,
                                           bench.builds, bench.progress.say)
        bench.images[part.name] = made[key]
        bench.results.describe(part.name, image=made[key].facts)


class TimeLeft:
    """Expects of a task what those took that are most like it."""

    def __init__(self):
        self.took = []          # (task, seconds)

    def expected(self, task):
        def likeness(other):
            return (other.part == task.part, other.config == task.config)
        most = max(likeness(each) for each, _ in self.took)
        return statistics.mean(seconds for each, seconds in self.took if likeness(each) == most)

    def text(self, later, under_way=None, done=0, seconds=0):
        """In words: the time of later tasks, and of one under way, part of which is done."""
        enough = done >= 0.05   # to conclude from
        if self.took:
            total = sum(self.expected(each) for each in later)
            if under_way:
                total += seconds / done - seconds if enough else self.expected(under_way)
        elif enough:
            # Nothing was measured yet: all as long as this one.
            total = seconds / done - seconds + len(later) * seconds / done
        else:
            return 'time left unknown'
        return f'about {total / 60:.0f} min left' if total >= 90 else f'about {total:.0f} s left'


def records(task, found, wall_seconds, steal):
    """The runs that a call returned, each with all that it is known by, and its machine's steal."""
    runs = []
    for figures in found if isinstance(found, list) else [found]:
        run = {'case': task.part, 'config': task.config, 'round': task.round, 'take': task.take,
               **figures}
        if run['case'] != task.part:
            run['part'] = task.part
        runs.append({**run, 'wall_seconds': round(wall_seconds, 1), 'steal': round(steal, 3)})
    return runs


def parse(text, *keys):
    """Runs that a program printed: case, configuration and figures, a line for each round."""
    rounds, runs = {}, []
    for line in text.splitlines():
        case, config, *values = line.split('\t')
        rounds[case, config] = rounds.get((case, config), 0) + 1
        runs.append({'case': case, 'config': config, 'round': rounds[case, config],
                     **{key: float(value) for key, value in zip(keys, values)}})
    return runs


def outcome(scenario, runs):
    """The first measures of runs, in words."""
    return '; '.join(
        (f'{run["config"]}: ' if len(runs) > 1 else '') + ', '.join(
            f'{each.heading} {each.form.format(run[each.key] * each.factor)}'
            for each in scenario.measures if run.get(each.key) is not None)
        for run in runs[:4]) + (
            '; the disk model was NOT HEALTHY' if any(
                run.get('disk_model') and not run['disk_model']['healthy'] for run in runs) else '')


def measure(bench, wanted):
    """All tasks that are left."""
    left = [(part, configs, [task for task in tasks(part, configs, bench.options.rounds)
                             if not is_done(task, bench.results.runs)])
            for part, configs in wanted]
    all_left = [task for _, _, ours in left for task in ours]
    clock = TimeLeft()
    for part, _, ours in left:
        if not ours:
            continue
        with part.open(bench, part) as run:
            bench.results.header.update(bench.device.describe())
            for task in ours:
                later = [each for each in all_left if each != task and
                         not is_done(each, bench.results.runs)]
                if is_done(task, bench.results.runs):
                    continue
                bench.task = task
                bench.left = lambda done, seconds: clock.text(later, task, done, seconds)
                begun, steal = time.monotonic(), usage.Steal()
                found = run(task.config, task.number)
                clock.took.append((task, time.monotonic() - begun))
                runs = records(task, found, clock.took[-1][1], steal.share())
                bench.results.add(runs)
                bench.progress.say(f'{task}: {outcome(bench.scenario, runs)}; {clock.text(later)}')


def run(scenario, options, results_path=None, traces=None):
    """Measure a scenario; returns its results, or None if only images were wanted."""
    parts = scenario.parts(options.size)
    check_names(scenario, parts, options)
    options.rounds = options.rounds or scenario.rounds
    bench = Bench(scenario, options, results_path)
    bench.traces = traces
    wanted, missing = chosen(bench, parts)
    # What cannot be resumed is refused before an image is made, which may take an hour.
    if options.resume and bench.results.resume():
        bench.progress.say(f'{results_path} has {len(bench.results.runs)} runs already')
    for part, _ in wanted:
        bench.results.describe(part.name, about=part.about, **part.facts)
    make_images(bench, wanted)
    if options.images_only:
        return None
    if missing:
        bench.results.header['not_measured'] = missing
    measure(bench, wanted)
    return bench.results

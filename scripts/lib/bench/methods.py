"""The command of scenarios S1, S3, S4 and S5: what is common to them, from options
to report.  What they measure is in modules of their names."""
import contextlib
import datetime
import os

from . import compressed, host, loop, plot, postgres, recovery, report, s1, s1_slices, s3
from . import s3_report, s4, s4_report, s5, s5_report, script, suite, vacuum

MEMORY = '/dev/shm'             # a tmpfs
PLACE = 'redoahead-bench'       # directory in it, or in one that --device names


def given(name, value, known):
    """Those of the known ones that an option names; all if it names none."""
    if value is None:
        return known
    by_name = {getattr(each, 'name', each): each for each in known}
    wrong = [each for each in value if each not in by_name]
    if wrong:
        raise postgres.PostgresError(f'--config {wrong[0]} is unknown to {name}; known are: '
                                     f'{", ".join(by_name)}')
    return tuple(by_name[each] for each in value)


class Result:
    """The runs of a scenario with all facts, written again after each run."""

    def __init__(self, name, options, builds, root, facts, condense, compare=None):
        self.options, self.condense = options, condense
        self.compare = compare  # function(medians, runs) that returns ratios
        self.runs = []
        self.json = [path for path in (
            options.json, options.output and os.path.join(options.output, f'{name}.json')) if path]
        self.facts = {
            **host.describe(root, postgres.ROOT), 'scenario': name,
            'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
            'postgresql': {key: build.version for key, build in builds.items()},
            'size': options.size, 'rounds': options.rounds, **facts}
        self.facts['parameters'] = {
            'scenario': name, 'size': options.size, 'kernel': os.uname().release, **facts}

    def resume(self, progress):
        for path in self.json:
            if os.path.exists(path):
                self.runs = suite.resume(path, self.facts['parameters'])
                progress.say(f'{path} has {len(self.runs)} runs already')
                return

    def whole(self):
        middle = self.condense(self.runs)
        ratios = {'ratios': self.compare(middle, self.runs)} if self.compare else {}
        return {**self.facts, 'runs': self.runs, 'medians': middle, **ratios}

    def keep(self, *runs):
        self.runs += runs
        for path in self.json:
            report.write_json(path, self.whole())


def finish(name, options, text):
    if options.output:
        with open(os.path.join(options.output, f'{name}.md'), 'w', encoding='utf-8') as file:
            file.write(text)
    print(text)


def place_for(device, usual):
    """Where to work: the usual place, or below the directory that --device names."""
    if device != 'ssd' and not os.path.isdir(device):
        raise host.HostError(f'{device} is not a directory')
    place = usual if device == 'ssd' else os.path.join(os.path.abspath(device), PLACE)
    postgres.make_directory(place)
    return place


@contextlib.contextmanager
def memory_place(root, name):
    """script.work_place on tmpfs: memory keeps nothing, not even a lock."""
    held = False
    try:
        with script.work_place(root, name) as place:
            held = True
            yield place
    finally:
        if held:
            os.unlink(os.path.join(root, f'{name}.lock'))
            with contextlib.suppress(OSError):
                os.rmdir(root)


def find_builds(names=('stock', 'patched')):
    return {name: postgres.find_build(name) for name in names}


def run_s1(options):
    """Scenario S1, on the file system of REDOAHEAD_BENCH_DIR or a directory."""
    builds, progress = find_builds(), script.Progress()
    root = place_for(options.device, script.work_root())
    of = s1.scaled(options.size)
    host.require_space(root, (of['scale'] * 80 << 20) + (8 << 30 if of['scale'] > 10 else 1 << 30))
    result = Result('s1', options, builds, root, {
        'device_name': options.device, **of, 'programs': suite.programs(builds),
        'settings': {'load': s1.LOAD, 'replay': s1.RECOVERY}, 'slices': s1_slices.FACTS,
    }, s1.medians, lambda _, runs: s1_slices.ratios(runs))
    if options.resume:
        result.resume(progress)
    with script.work_place(root, 's1') as place:
        s1.measure(builds, root, place, options, given('s1', options.config, s1.PARTS),
                   result.runs, result.keep, progress)
    finish('s1', options, s1.markdown(result.whole()))


def run_s3(options):
    """Scenario S3, on tmpfs."""
    builds, progress = find_builds(), script.Progress()
    root = place_for(options.device, os.path.join(MEMORY, PLACE))
    host.require_space(root, 4 << 30)
    result = Result('s3', options, builds, root, {
        'rows': s3.rows_of(options.size), 'settings': s3.SETTINGS}, s3.medians)
    with memory_place(root, 's3') as place:
        s3.measure(builds, place, options, given('s3', options.config, s3.METHODS),
                   result.keep, progress)
    finish('s3', options, s3_report.markdown(result.whole()))


def run_s4(options):
    """Scenario S4, on the file system of REDOAHEAD_BENCH_DIR or a directory."""
    configs = given('s4', options.config, s4.CONFIGS)
    builds, progress, program = find_builds(s4.SERVERS), script.Progress(), script.find_daemon()
    root = place_for(options.device, script.work_root())
    if options.output:
        plot.require()
    crashed = s4.find_image(root, options.size, builds, progress.say)
    if options.images_only:
        return
    result = Result('s4', options, builds, root, {
        'device_name': options.device, 'programs': suite.programs(builds, program),
        'image': crashed.facts,
        'settings': {each.name: {**recovery.RECOVERING, **each.settings} for each in s4.CONFIGS},
    }, s4.medians, lambda middle, _: s4.ratios(middle))
    if options.resume:
        result.resume(progress)
    with script.work_place(root, 's4') as place:
        s4.measure(crashed, builds, program, place, options, configs, result, progress)
    whole = result.whole()
    pictures = s4_report.draw(whole, options.output) if options.output else []
    finish('s4', options, s4_report.markdown(whole, pictures))


def parts_of_s5(options):
    """What S5 measures, and what it does not: {part: why}."""
    parts = given('s5', options.config, s5.PARTS)
    missing = {part: compressed.missing(part) for part in parts if part in compressed.METHODS}
    missing = {part: reason for part, reason in missing.items() if reason}
    if options.config and missing:
        raise host.HostError('; '.join(f'{part}: {why}' for part, why in missing.items()))
    if not options.config and 'lz4' not in missing:
        missing['lzo'] = 'lz4 stands for fast compression'
    return [part for part in parts if part not in missing], missing


def run_s5(options):
    """Scenario S5: pgbench on tmpfs, the rest where S4 is."""
    parts, missing = parts_of_s5(options)
    builds, progress = find_builds(), script.Progress()
    root = place_for(options.device, script.work_root())
    of = s5.scaled(options.size)
    if options.output:
        plot.require()
    crashed = None
    if 'vacuum' in parts or options.images_only:
        crashed = s4.find_image(root, options.size, builds, progress.say)
    if options.images_only:
        return
    result = Result('s5', options, builds, root, {
        'device_name': options.device, **of,
        'programs': suite.programs(builds, script.find_daemon()), 'settings': {
            'pgbench': s5.LOAD, 'vacuum': vacuum.SETTINGS, 'disk': compressed.SETTINGS},
    }, s5.medians, s5.ratios)
    # Another part may be measured when it goes on.
    result.facts.update(not_measured=missing, image=crashed and crashed.facts)
    if options.resume:
        result.resume(progress)
    left = s5.tasks(options.rounds, parts, result.runs)
    keep = s5.keeper(result, progress, len(left))

    def ours(*names):
        return [task for task in left if task[0] in names]

    if ours('pgbench'):
        memory = place_for(options.device, os.path.join(MEMORY, PLACE))
        host.require_space(memory, 2 << 30)
        with memory_place(memory, 's5') as place:
            s5.measure_pgbench(builds['patched'], place, of, ours('pgbench'), keep)
    with script.work_place(root, 's5', loop.remove) as place:
        s5.measure_vacuum(builds['patched'], crashed, place, ours('vacuum'), keep)
        s5.measure_disk(builds['patched'], place, of, ours(*compressed.METHODS), keep)
    whole = result.whole()
    pictures = s5_report.draw(whole, options.output) if options.output else []
    finish('s5', options, s5_report.markdown(whole, pictures))

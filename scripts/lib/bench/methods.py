"""The command of scenarios S1 and S3: what is common to both, from options to
report.  What they measure is in s1.py and s3.py."""
import contextlib
import datetime
import os

from . import host, postgres, report, s1, s3, s3_report, script, suite

MEMORY = '/dev/shm'             # a tmpfs
PLACE = 'redoahead-bench'       # directory in it, or in one that --device names


def given(name, value, known):
    """Those of the known ones that an option names; all if it names none."""
    if value is None:
        return known
    by_name = {each.name: each for each in known}
    wrong = [each for each in value if each not in by_name]
    if wrong:
        raise postgres.PostgresError(f'--config {wrong[0]} is unknown to {name}; known are: '
                                     f'{", ".join(by_name)}')
    return tuple(by_name[each] for each in value)


class Result:
    """The runs of a scenario with all facts, written again after each run."""

    def __init__(self, name, options, builds, root, facts, condense):
        self.options, self.condense = options, condense
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
        return {**self.facts, 'runs': self.runs, 'medians': self.condense(self.runs)}

    def keep(self, run):
        self.runs.append(run)
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


def find_builds():
    return {name: postgres.find_build(name) for name in ('stock', 'patched')}


def run_s1(options):
    """Scenario S1, on the file system of REDOAHEAD_BENCH_DIR or a directory."""
    builds, progress = find_builds(), script.Progress()
    root = place_for(options.device, script.work_root())
    of = s1.scaled(options.size)
    host.require_space(root, (of['scale'] * 60 << 20) + (8 << 30 if of['scale'] > 10 else 1 << 30))
    result = Result('s1', options, builds, root, {
        'device_name': options.device, **of, 'settings': {'load': s1.LOAD, 'replay': s1.RECOVERY},
    }, s1.medians)
    if options.resume:
        result.resume(progress)
    with script.work_place(root, 's1') as place:
        s1.measure(builds, root, place, options, given('s1', options.config, s1.CONFIGS),
                   result.runs, result.keep, progress)
    finish('s1', options, s1.markdown(result.whole()))


def run_s3(options):
    """Scenario S3, on tmpfs."""
    builds, progress = find_builds(), script.Progress()
    root = place_for(options.device, os.path.join(MEMORY, PLACE))
    host.require_space(root, 4 << 30)
    result = Result('s3', options, builds, root, {
        'rows': s3.rows_of(options.size), 'settings': s3.SETTINGS}, s3.medians)
    held = False
    try:
        with script.work_place(root, 's3') as place:
            held = True
            s3.measure(builds, place, options, given('s3', options.config, s3.METHODS),
                       result.keep, progress)
    finally:
        # Memory keeps nothing, not even a lock.
        if held:
            os.unlink(os.path.join(root, 's3.lock'))
            with contextlib.suppress(OSError):
                os.rmdir(root)
    finish('s3', options, s3_report.markdown(result.whole()))

"""Results: JSON lines, a header with the facts of the machine, then one line for each run.

The header holds what host.describe() finds, the versions and checksums of the programs, the
settings, and `cases`, which describes each case.  A file is written anew after each run, in
one step, so that an interrupted benchmark leaves a whole one.
"""
import datetime
import json
import os

from . import host, postgres

# What a result is resumed with only if it is the same.
FIXED = ('scenario', 'device_name', 'size', 'options', 'kernel', 'cpus', 'cpu_model', 'programs')


class Results:
    """A header and runs; kept in a file if there is a path."""

    def __init__(self, header, path=None):
        self.header, self.path, self.runs = header, path, []

    def add(self, runs):
        """Keep runs, and the health of the disk model with them."""
        self.runs += runs
        health = [run['disk_model']['healthy'] for run in self.runs if run.get('disk_model')]
        if health:
            self.header['model_healthy'] = all(health)
        if self.path:
            write(self.path, '\n'.join(json.dumps(each) for each in (self.header, *self.runs)))

    def describe(self, case, **facts):
        """Add facts to a case's; those of runs that were taken over must be the same."""
        known = self.header['cases'].setdefault(case, {})
        for name, fact in facts.items():
            if self.runs:
                self.check(f'{name} of case {case}', known.get(name, fact), fact)
            known[name] = fact

    def check(self, name, old, new):
        if old != json.loads(json.dumps(new)):
            raise host.HostError(f'cannot resume {self.path}: its {name} was {old}, and is {new} '
                                 'now; begin anew without --resume, or with another directory')

    def resume(self):
        """Take over the runs that an interrupted benchmark left; returns how many."""
        if not self.path or not os.path.exists(self.path):
            return 0
        found = read(self.path)
        for name in FIXED:
            self.check(name, found.header.get(name, {} if name == 'options' else None),
                       self.header[name])
        # This run finds out itself what cannot be measured.
        found.header.pop('not_measured', None)
        self.header = {**found.header, **self.header, 'cases': found.header['cases']}
        self.runs = found.runs
        return len(self.runs)


def read(path):
    """The result in a file."""
    try:
        with open(path, encoding='utf-8') as file:
            header, *runs = [json.loads(line) for line in file]
        if 'scenario' not in header:
            raise ValueError('its first line is not the header of a result')
    except (OSError, ValueError, TypeError) as error:
        raise postgres.PostgresError(f'{path} is no result of a benchmark: {error}') from None
    found = Results(header, path)
    found.runs = runs
    return found


def write(path, text):
    """Write a text file in one step: a reader never sees half of it."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + '.tmp', 'w', encoding='utf-8') as file:
        file.write(text + '\n')
    os.replace(path + '.tmp', path)


def facts(directory, builds):
    """What every result begins with, of work in a directory with these programs."""
    return {
        **host.describe(directory, postgres.ROOT),
        'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
        'postgresql': {name: build.version for name, build in builds.items()},
        'programs': postgres.checksums(builds),
    }

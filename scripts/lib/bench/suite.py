"""The runs of a benchmark: their order, the time they take, and how it goes on
after an interruption.

A run is known by its case, full_page_writes, configuration and round.  Rounds
are the outer loop, so that configurations take turns.  What takes very long
with prefetching off is measured once only.
"""
import hashlib
import json
import os
import statistics
import time
from dataclasses import dataclass

from . import host, postgres

LONG = 240                      # seconds of redo after which `off` is not repeated


@dataclass(frozen=True)
class Key:
    """What a run is known by."""
    case: str
    images: str                 # full_page_writes
    config: str
    round: int                  # from 1 on

    def __str__(self):
        return f'{self.case} fpw {self.images} {self.config} {self.round}'

    @property
    def stem(self):
        """Its name in file names."""
        return f'{self.case}-fpw-{self.images}-{self.config}-{self.round}'


def key_of(run):
    return Key(run['case'], run['full_page_writes'], run['config'], run['round'])


class Suite:
    """Runs that were done and runs that are left."""

    def __init__(self, runs, wanted):
        self.runs = runs        # raw runs, in the order they were made
        self.wanted = wanted    # keys of all runs
        self.begun = None       # when the run under way began, monotonic time

    def done(self, key):
        """Is there nothing to do for this key?"""
        return any(key_of(run) == key for run in self.runs) or self.too_long(key)

    def too_long(self, key):
        """Is this another round of what took very long the first time?"""
        return key.config == 'off' and key.round > 1 and any(
            (run['case'], run['full_page_writes'], run['config'], run['redo_seconds'] > LONG) ==
            (key.case, key.images, 'off', True) for run in self.runs)

    def measured_once(self):
        """Names of what was not repeated, for the report."""
        return list(dict.fromkeys(f'{key.case}/{key.images}/{key.config}'
                                  for key in self.wanted if self.too_long(key)))

    def begin(self):
        self.begun = time.monotonic()

    def add(self, run):
        self.runs.append({**run, 'wall_seconds': round(time.monotonic() - self.begun, 1)})

    def expected(self, key):
        """Seconds that a run will take, by what those took that are most like it."""
        def likeness(run):
            return (run['full_page_writes'] == key.images, run['config'] == key.config,
                    run['case'] == key.case)
        most = max(likeness(run) for run in self.runs)
        return statistics.mean(run['wall_seconds'] for run in self.runs if likeness(run) == most)

    def time_left(self, key=None, part=0, seconds=0):
        """In words: how long all runs will take from here.

        A run may be under way, part of which took so many seconds of redo.
        """
        later = [each for each in self.wanted if each != key and not self.done(each)]
        long_enough = part >= 0.05      # to conclude from
        if self.runs:
            total = sum(self.expected(each) for each in later)
            if key:
                total += seconds / part - seconds if long_enough else self.expected(key)
        elif long_enough:
            # Nothing was measured yet: all as long as this one.
            total = seconds / part - seconds + len(later) * seconds / part
        else:
            return 'time left unknown'
        return f'about {total / 60:.0f} min left' if total >= 90 else f'about {total:.0f} s left'


# ---------- going on with what was begun ----------

def programs(builds, daemon=None):
    """Checksums of the programs that are measured: a result is of these alone.

    The extension is among them where there is a daemon.
    """
    paths = {name: build.program('postgres') for name, build in builds.items()}
    if daemon:
        libraries = postgres.run([builds['patched'].program('pg_config'), '--pkglibdir']).strip()
        paths.update(redoahead=daemon, extension=os.path.join(libraries, 'redoahead.so'))
    found = {}
    for name, path in paths.items():
        with open(path, 'rb') as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()[:16]
    return found


def resume(path, parameters):
    """The runs in a result that an interrupted benchmark with these parameters left."""
    result = read(path)
    for name, value in parameters.items():
        found = result.get('parameters', {}).get(name)
        if found != json.loads(json.dumps(value)):
            raise host.HostError(f'cannot resume {path}: its {name} was {found}, and is {value} '
                                 'now; begin anew without --resume, or with another file')
    return result['runs']


def read(path):
    """A result that was written with --json."""
    try:
        with open(path, encoding='utf-8') as file:
            result = json.load(file)
        if not isinstance(result, dict) or 'runs' not in result:
            raise ValueError('it has no runs')
    except (OSError, ValueError) as error:
        raise postgres.PostgresError(f'{path} is no result of a benchmark: {error}') from None
    return result

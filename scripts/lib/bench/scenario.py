"""What a scenario declares: its parts, its measures, and what is compared with what.

A scenario has parts, a part has configurations.  The runner makes one run for each part,
round, take and configuration; a run is a record with `case`, `config`, `round`, `take` and
figures in base units.  Nothing is run here.
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measure:
    """One figure of a run, and how a table shows it."""
    key: str                    # in the record of a run
    heading: str                # of its column, with the unit
    form: str                   # format of a value
    factor: float = 1           # from base units to the unit of the column


@dataclass(frozen=True)
class Part:
    """Runs that share what is set up for them, such as an image on a device."""
    name: str                   # the case of its runs, unless a run names another
    about: str                  # one line for the report
    configs: tuple              # names of the configurations, in the order of the first round
    # Context manager from (Bench, Part) that yields function(config, number), number being
    # that of the take from 1 on over all rounds.  The function returns the figures of a run,
    # or a list of such.
    open: object
    workload: object = None     # workload.Workload of the image that it needs, or None
    image_size: str = None      # size in the name of that image; None: that of the benchmark
    takes: int = 1              # runs of each configuration in a round
    together: bool = False      # one call runs all configurations; it is given their names
    once: bool = False          # only in the first round
    unknown: bool = False       # configs are not known in advance; () stands for all
    missing: object = None      # function() that returns why it cannot be measured, or None
    facts: dict = field(default_factory=dict)       # settings and sizes, for the header
    details: object = None      # what the module that opens it wants to know of it


@dataclass(frozen=True)
class Scenario:
    """A benchmark."""
    name: str
    about: str                  # one line
    parts: object               # function(size) that returns a tuple of parts
    measures: tuple             # of Measure, in the order of columns
    compared: tuple = ()        # pairs of configurations; the ratio is first ÷ second
    ratio_of: tuple = ()        # keys of the measures that ratios are made of
    published: tuple = ()       # rows of others: (case, label, {key: value})
    notes: tuple = ()           # paragraphs below the tables
    summary: object = None      # function(runs) that returns more lines of the report
    failed: object = None       # function(runs) that returns whether the exit status is 1
    builds: tuple = ('stock', 'patched')        # servers that it needs
    daemon: bool = False        # does it need the redoahead program?
    arrays: bool = False        # can it run on arrays of modelled disks?
    numbers: bool = True        # may its size be a number?
    rounds: int = 3             # unless set otherwise
    space: int = 1 << 30        # free bytes that it needs in its directory at full size
    options: tuple = ()         # more options of the command: (flag, arguments of argparse)

    def has_before(self):
        """Can it measure the recoveries of another checkout, too?"""
        return any('before' in part.configs for part in self.parts('small'))


def scale_of(size):
    """The factor of a size, which is `small`, `full` or a number; None for small."""
    return {'small': None, 'full': 1.0}[size] if size in ('small', 'full') else float(size)

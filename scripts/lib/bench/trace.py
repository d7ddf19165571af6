"""What happened in the course of a recovery: its progress, its devices, its daemon.

A Watch samples the block devices ten times a second, from a thread, and is
called with redo's progress.  All times are seconds since redo began.  What it saw
becomes a few figures for the record of a run, and tables for plots: text files
with a header line and tab-separated columns.

    NAME.progress.tsv   seconds, percent of the WAL that is replayed
    NAME.devices.tsv    seconds, in_flight (reads of all devices), reads_per_second, mb_per_second
    NAME.daemon.tsv     seconds, and what else redoahead serve --timeline writes
"""
import os
import time

from . import host, usage

INTERVAL = 0.1                  # seconds between two samples of the devices
MODEL_EVERY = 3                 # samples between two of the disk model


class Watch(host.Sampler):
    """Samples of devices and of redo, as long as the `with` block lasts."""

    def __init__(self, directory, image, show, model=None):
        super().__init__(INTERVAL)
        self.model = model      # function() that returns the state of the disk model, or None
        self.models = []        # (monotonic time, what that returned)
        self.disks = host.devices_below(directory)
        self.image = image
        self.show = show        # function(seconds, lsn) that is called with progress, too
        self.start_of_redo = None       # monotonic time
        self.last_seconds = 0.0 # seconds of redo at the last call
        self.samples = []       # (monotonic time, [in flight], [(reads, bytes)]) by disk
        self.progress = []      # (seconds, lsn)

    def sample(self):
        self.samples.append((time.monotonic(),
                             [usage.disk_in_flight(disk) for disk in self.disks],
                             [usage.disk_counters(disk) for disk in self.disks]))
        if self.model and len(self.samples) % MODEL_EVERY == 0:
            self.models.append((self.samples[-1][0], self.model()))

    def note(self, seconds, lsn):
        """The progress function for recovery.recover."""
        if self.start_of_redo is None or seconds < self.last_seconds:
            # the first time, or another attempt after a suspension
            self.start_of_redo = time.monotonic() - seconds
            self.progress = []
        self.last_seconds = seconds
        if lsn is not None and (not self.progress or lsn != self.progress[-1][1]):
            self.progress.append((seconds, lsn))
        self.show(seconds, lsn)

    def during_redo(self, run):
        """The samples taken while redo ran, with seconds since its start."""
        if self.start_of_redo is None:
            return []
        found = [(at - self.start_of_redo, *rest) for at, *rest in self.samples]
        return [each for each in found if 0 <= each[0] <= run['redo_seconds']]

    def model_at_end(self, run):
        """The disk model at the end of redo: the checkpoint that follows is not to be judged."""
        if not self.model:
            return None
        end = self.start_of_redo + run['redo_seconds']
        return ([state for at, state in self.models if at <= end] or [self.model()])[-1]

    def figures(self, run):
        """For the record of a run: the disk model, and reads in flight on average."""
        samples = self.during_redo(run)
        found = {'disk_model': self.model_at_end(run)}
        if not samples or not self.disks:
            return found
        each = [sum(in_flight[disk] for _, in_flight, _ in samples) / len(samples)
                for disk in range(len(self.disks))]
        return {**found, 'mean_in_flight': round(sum(each), 2),
                'disk_mean_in_flight': [round(value, 2) for value in each],
                'disk_reads': [last[0] - first[0]
                               for first, last in zip(samples[0][2], samples[-1][2])]}

    def write(self, stem, run):
        """Write tables for plots to STEM.progress.tsv and STEM.devices.tsv."""
        first, total = self.image.redo_lsn, self.image.end_lsn - self.image.redo_lsn
        rows = [(0, 0)]
        rows += [(f'{seconds:.2f}', f'{100 * min(1, max(0, (lsn - first) / total)):.2f}')
                 for seconds, lsn in self.progress if seconds < run['redo_seconds']]
        write_table(f'{stem}.progress.tsv', ('seconds', 'percent'),
                    rows + [(run['redo_seconds'], 100)])
        rows = []
        samples = self.during_redo(run)
        for (before, _, old), (now, in_flight, new) in zip(samples, samples[1:]):
            reads, size = (sum(after[field] - earlier[field] for earlier, after in zip(old, new))
                           / (now - before) for field in (0, 1))
            rows.append((f'{now:.2f}', sum(in_flight), f'{reads:.0f}', f'{size / 1e6:.2f}'))
        write_table(f'{stem}.devices.tsv',
                    ('seconds', 'in_flight', 'reads_per_second', 'mb_per_second'), rows)


def stem(directory, run):
    """The path of a run's tables, without what distinguishes them."""
    return os.path.join(directory, f'{run["case"].replace("/", "-")}-{run["config"]}-'
                        f'{run["round"]}')


def write_table(path, columns, rows):
    with open(path, 'w', encoding='ascii') as file:
        for row in (columns, *rows):
            file.write('\t'.join(str(value) for value in row) + '\n')


def read_table(path):
    """Rows of a table as {column: text}; none if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding='ascii') as file:
        columns, *lines = [line.rstrip('\n').split('\t') for line in file] or [[]]
    return [dict(zip(columns, line)) for line in lines if len(line) == len(columns)]


def keep_timeline(source, target):
    """Keep the daemon's timeline with seconds since it began, which is when redo did."""
    rows = read_table(source)
    if rows:
        start = float(rows[0]['seconds'])
        write_table(target, list(rows[0]), [
            [f'{float(row["seconds"]) - start:.2f}', *list(row.values())[1:]] for row in rows])

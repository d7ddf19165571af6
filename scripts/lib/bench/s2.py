"""Scenario S2: prefetch off, stock's default, stock at its best, and redoahead.

The measurement of 2008 (DBT-2, 20 GB, RAID0 of 8 disks, 2 GB of memory) on
today's PostgreSQL, with and without full-page images, in three cases:

    2008       shared_buffers 32 MB, and a memory cgroup that holds a tenth of
               the database, for server and daemon together
    modern     the same WAL with shared_buffers 2 GB and all the memory there is
    spindles   16000 transactions of pgbench -N over scale 300, shared_buffers 4 GB

The first two replay a load like DBT-2's with think time (dbt2.py), beginning
before three of its checkpoints, as after restoring a base backup.  Stock at
its best is the fastest of those of config.STOCK_COLD; all are run.
"""
import dataclasses
from dataclasses import dataclass

from . import config as configs
from . import dbt2, workload

IMAGES = ('off', 'on')          # full_page_writes
CONFIGS = configs.STOCK_COLD + ('redoahead',)

# What is condensed to a median, beside what every recovery has.
MEASURES = ('ready_seconds', 'device_read_bytes', 'device_reads', 'device_reads_per_second',
            'replay_tx_per_minute', 'replay_to_primary', 'mean_in_flight')


@dataclass(frozen=True)
class Case:
    """Recoveries that can be compared with each other."""
    name: str
    about: str                  # one line for the report
    workloads: dict             # by full_page_writes
    settings: dict              # server settings of recovery, beside the workload's
    memory_limit: int = None    # bytes for server and daemon, or None

    def config(self, name):
        """A configuration with the settings of the case."""
        plain = configs.CONFIGS[name]
        return dataclasses.replace(plain, settings={
            **plain.settings, **self.settings, 'log_startup_progress_interval': '100ms'})


def scaled(size):
    """Sizes of the data and of the loads: `small`, `full`, or a factor for full's loads."""
    if size == 'small':
        return {'warehouses': 2, 'orders': 400, 'clients': 10, 'think_ms': 100,
                'limit': 128 << 20, 'scale': 20, 'updates': 800, 'buffers': '512MB'}
    factor = 1 if size == 'full' else float(size)
    return {'warehouses': 40, 'orders': int(2400 * factor), 'clients': 20, 'think_ms': 1600,
            'limit': 400 << 20, 'scale': 300, 'updates': int(16000 * factor), 'buffers': '4GB'}


def make_cases(size):
    """All cases of a size by name."""
    of = scaled(size)
    orders, spindles = {}, {}
    for images in IMAGES:
        orders[images] = dbt2.make_workload(
            f'dbt2-{images}', of['warehouses'], of['orders'], of['clients'], of['think_ms'],
            {'shared_buffers': '2GB', 'full_page_writes': images})
        spindles[images] = workload.Workload(
            f'spindles-{images}', f'pgbench -N, scale {of["scale"]}, {of["updates"]} '
            'transactions without think time', of['scale'], of['updates'],
            {'shared_buffers': of['buffers'], 'full_page_writes': images},
            workload.prepare_pgbench, workload.load_simple_update)
    cases = (
        Case('2008', f'shared_buffers 32 MB, {of["limit"] >> 20} MB of memory for server and '
             'daemon', orders, {'shared_buffers': '32MB'}, of['limit']),
        Case('modern', 'shared_buffers 2 GB, no memory limit', orders, {}),
        Case('spindles', f'shared_buffers {of["buffers"]}, no memory limit', spindles, {}),
    )
    return {case.name: case for case in cases}


def complete(run, case, images, image):
    """Add to the record of a run what follows from its case and its image."""
    seconds = max(0.01, run['redo_seconds'])
    run.update(workload=f'{case.name}/{images}', case=case.name, full_page_writes=images)
    if 'device_reads' in run:
        run['device_reads_per_second'] = round(run['device_reads'] / seconds, 1)
    primary = image.facts['primary']
    run['replay_tx_per_minute'] = round(60 * primary['transactions'] / seconds, 1)
    run['replay_to_primary'] = round(primary['seconds'] / seconds, 3)
    return run


def ratios_by_case(ratios):
    """{case: {full_page_writes: {'a/b': ratio}}} of report.ratios."""
    found = {}
    for name, pairs in ratios.items():
        case, images = name.split('/')
        found.setdefault(case, {})[images] = pairs
    return found

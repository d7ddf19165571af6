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

# Rows of 2008: full_page_writes, prefetch, seconds, MB read, transactions per minute.
IN_2008 = (
    ('off', 'no', 6611, 5435, 402),
    ('off', 'yes', 1161, 5543, 2290),
    ('on', 'no', 1683, 801, 1458),
    ('on', 'yes', 1415, 2157, 1733),
)


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


# ---------- the report ----------

MEASURES = ('ready_seconds', 'device_read_bytes', 'device_reads', 'device_reads_per_second',
            'replay_tx_per_minute', 'replay_to_primary', 'mean_in_flight')

HEADINGS = ('archive', 'FPW', 'prefetch', 'recovery s', 'physical read MB', 'TX/min',
            'of the primary\'s rate', 'startup CPU s', 'daemon CPU s', 'coverage')

CELLS = (
    ('redo_seconds', '{:.1f}', 1),
    ('device_read_bytes', '{:.0f}', 1e-6),
    ('replay_tx_per_minute', '{:.0f}', 1),
    ('replay_to_primary', '{:.2f}', 1),
    ('startup_cpu_seconds', '{:.1f}', 1),
    ('daemon_cpu_seconds', '{:.1f}', 1),
    ('coverage', '{:.1%}', 1),
)


def line(cells):
    return '| ' + ' | '.join(str(cell) for cell in cells) + ' |'


def case_markdown(result, case):
    """The table of one case, with those of 2008 where they belong."""
    lines = [f'### {case.name}: {case.about}', '']
    for images in IMAGES:
        image = result['images'].get(f'{case.name}/{images}')
        if image:
            primary = image['primary']
            lines.append(f'FPW {images}: {image["about"]}; the primary did '
                         f'{60 * primary["transactions"] / primary["seconds"]:.0f} TX/min. '
                         f'{image["data_bytes"] >> 20} MB, of which {image["wal_bytes"] >> 20} MB '
                         'of WAL are replayed.\n')
    lines += [line(HEADINGS), '|' + '---|' * len(HEADINGS)]
    for images in IMAGES:
        for name, row in result['medians'].get(f'{case.name}/{images}', {}).items():
            cells = [form.format(row[key] * factor) if row.get(key) is not None else '–'
                     for key, form, factor in CELLS]
            once = f'{case.name}/{images}/{name}' in result['measured_once']
            cells[0] += ' (one run)' if once else ''
            lines.append(line(['cp', images, configs.CONFIGS[name].about, *cells]))
    if case.name == '2008':
        lines += [line(['cp', images, f'*{prefetch} (2008)*', seconds, size, rate] + ['–'] * 4)
                  for images, prefetch, seconds, size, rate in IN_2008]
    lines += ['', line(['FPW', *RATIOS]), '|---' + '|---' * len(RATIOS) + '|']
    for images in IMAGES:
        found = result['ratios'].get(case.name, {}).get(images)
        if found:
            lines.append(line([images, *(f'{found[name]:.2f}' if name in found else '–'
                                         for name in RATIOS)]))
    return '\n'.join(lines)


RATIOS = ('off/redoahead', 'default/redoahead', 'best/redoahead')


def ratios_by_case(ratios):
    """{case: {full_page_writes: {'a/b': ratio}}} of report.ratios."""
    found = {}
    for name, pairs in ratios.items():
        case, images = name.split('/')
        found.setdefault(case, {})[images] = pairs
    return found


def markdown(result, cases, plots):
    """The whole report; plots is {case name: names of picture files}."""
    health = {None: 'no disk model', True: 'the disk model was in good health in every run',
              False: '**the disk model was NOT healthy in every run: do not trust this**'}
    lines = [f'## S2 on {result["device_name"]}, size {result["size"]}', '',
             f'{result["device"]}; {result["cpus"]} × {result["cpu_model"]}, '
             f'{result["memory_bytes"] >> 20} MB, {result["kernel"]}; PostgreSQL '
             f'{result["postgresql"]["stock"]}; commit {result["commit"]}; {result["date"]}. '
             f'Medians of up to {result["rounds"]} runs; {health[result["model_healthy"]]}.', '']
    for name in result['ratios']:
        lines += [case_markdown(result, cases[name]), '']
        lines += [f'![{each}]({each})' for each in plots.get(name, ()) if each.endswith('.svg')]
        lines.append('')
    lines += ['Recovery is the time of redo. Physical reads are what the block devices read in it. '
              'TX/min is transactions in the WAL by time of redo, whether they wrote anything or '
              'not. Ratios are of recovery seconds within this result; more than 1 means that '
              'redoahead is faster.', '',
              'Figures of 2008: DBT-2 over 20 GB for an hour, RAID0 of 8 disks, 2 GB of memory, '
              'PostgreSQL 8.4. The rows *lesslog* of that table have no counterpart: nothing '
              'removes full-page images from archived WAL any more; for redo such WAL is what '
              'full_page_writes = off writes. Its CPU time, coverage and the primary\'s rate are '
              'not known.', '']
    if any(name == 'spindles' for name in result['ratios']):
        lines += ['In the case *spindles* sessions do not think, so that the primary\'s rate '
                  'only tells how fast this machine wrote the WAL, without fsync.', '']
    if result['measured_once']:
        lines += ['(one run): more than four minutes with prefetching off are not repeated.', '']
    return '\n'.join(lines)

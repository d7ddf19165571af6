"""Two results of the same benchmark side by side, old and new."""
from . import report

MEASURES = (
    ('redo_seconds', 'recovery s', '{:.2f}'),
    ('device_read_bytes', 'bytes read', '{:.0f}'),
    ('startup_cpu_seconds', 'startup CPU', '{:.2f}'),
    ('daemon_cpu_seconds', 'daemon CPU', '{:.2f}'),
    ('vacuum_seconds', 'VACUUM s', '{:.3f}'),
    ('vacuum_cpu_seconds', 'its CPU', '{:.3f}'),
    ('tps', 'tps', '{:.0f}'),
    ('cpu_us_per_transaction', 'CPU us/tx', '{:.0f}'),
    ('wal_bytes_per_transaction', 'WAL bytes/tx', '{:.0f}'),
    ('replay_seconds', 'replay s', '{:.2f}'),
    ('disk_bytes', 'bytes on disk', '{:.0f}'),
)

# What two results should have in common: keys, and what it is called.
COMMON = (
    ('scenario', 'scenario'),
    ('device_name', 'device'),
    ('size', 'size'),
    ('kernel', 'kernel'),
    ('cpus', 'number of CPUs'),
    ('cpu_model', 'CPU'),
    ('postgresql', 'PostgreSQL version'),
    ('settings', 'settings'),
    ('slices', 'slices of S1'),
)


def warnings(old, new):
    """Lines that say why the two may not be comparable."""
    found = []
    for key, name in COMMON:
        if old.get(key) == new.get(key):
            continue
        detail = '' if isinstance(old.get(key), dict) else f': {old.get(key)}, {new.get(key)}'
        found.append(f'different {name}{detail}')
    for name, result in (('old', old), ('new', new)):
        if result.get('model_healthy') is False:
            found.append(f'the disk model was not healthy in a run of the {name} result')
    return found


def table(old, new):
    """A text table of the medians of both, and new ÷ old."""
    lines = []
    for workload, rows in new['medians'].items():
        before = old['medians'].get(workload, {})
        width = max([len(name) for name in {**before, **rows}] + [len(workload)])
        lines += ['', f'{workload:{width}}  {"":12}  {"old":>14}  {"new":>14}  {"new/old":>8}']
        for config in {**before, **rows}:
            for key, title, form in MEASURES:
                a, b = (row.get(config, {}) for row in (before, rows))
                if a.get(key) is None and b.get(key) is None:
                    continue
                ratio = f'{b[key] / a[key]:8.3f}' if a.get(key) and b.get(key) is not None else '-'
                lines.append(f'{config:{width}}  {title:12}  {report.cell(a, key, form):>14}  '
                             f'{report.cell(b, key, form):>14}  {ratio:>8}')
    missing = [name for name in old['medians'] if name not in new['medians']]
    if missing:
        lines += ['', f'only in the old result: {", ".join(missing)}']
    return '\n'.join(lines[1:])

"""The report of scenario S2 in Markdown: the table of 2008, on today's PostgreSQL.

The rows of 2008 stand below those of the case that is like it.
"""
from . import config as configs
from . import s2

RATIOS = ('off/redoahead', 'default/redoahead', 'best/redoahead')

# Rows of 2008: full_page_writes, prefetch, seconds, MB read, transactions per minute.
IN_2008 = (
    ('off', 'no', 6611, 5435, 402),
    ('off', 'yes', 1161, 5543, 2290),
    ('on', 'no', 1683, 801, 1458),
    ('on', 'yes', 1415, 2157, 1733),
)

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

# Footnotes.
ALWAYS = (
    'Recovery is the time of redo. Physical reads are what the block devices read from the start '
    'of the server to the end of redo. TX/min is the number of transactions, whether they wrote '
    'anything or not, by the time of redo. Ratios are of recovery seconds within this result; '
    'more than 1 means that redoahead is faster.',
)
OF_2008 = (
    'The rows of 2008: DBT-2 over 20 GB for an hour, RAID0 of 8 disks, 2 GB of memory, '
    'PostgreSQL 8.4. CPU time, coverage and the primary\'s rate were not given. The rows '
    '*lesslog* have no counterpart: nothing removes full-page images from archived WAL any more; '
    'for redo, such WAL is what full_page_writes = off writes.')
OF_SPINDLES = (
    'In the case *spindles* sessions do not think, so that the primary\'s rate only tells how '
    'fast this machine wrote the WAL, without fsync.')
OF_ONE_RUN = '(one run): more than four minutes with prefetching off are not repeated.'

HEALTH = {
    None: 'there was no disk model',
    True: 'the disk model was in good health in every run',
    False: '**the disk model was NOT healthy in every run: do not trust this**',
}


def line(cells):
    return '| ' + ' | '.join(str(cell) for cell in cells) + ' |'


def case_markdown(result, case):
    """The table of one case, with those of 2008 where they belong."""
    lines = [f'### {case.name}: {case.about}', '']
    for images in s2.IMAGES:
        image = result['images'].get(f'{case.name}/{images}')
        if image:
            primary = image['primary']
            lines.append(f'FPW {images}: {image["about"]}; the primary did '
                         f'{60 * primary["transactions"] / primary["seconds"]:.0f} TX/min. '
                         f'{image["data_bytes"] / 1e6:.0f} MB, with {image["wal_bytes"] / 1e6:.1f} '
                         'MB of WAL to replay.\n')
    lines += [line(HEADINGS), '|' + '---|' * len(HEADINGS)]
    for images in s2.IMAGES:
        for name, row in result['medians'].get(f'{case.name}/{images}', {}).items():
            cells = [form.format(row[key] * factor) if row.get(key) is not None else '–'
                     for key, form, factor in CELLS]
            once = f'{case.name}/{images}/{name}' in result['measured_once']
            cells[0] += ' (one run)' if once else ''
            lines.append(line(['cp', images, configs.CONFIGS[name].about, *cells]))
    if case.name == '2008':
        lines += [line(['cp', images, f'*{prefetch} (2008)*', seconds, size, rate] + ['–'] * 4)
                  for images, prefetch, seconds, size, rate in IN_2008]
    ratios = [line([images, *(f'{found[name]:.2f}' if name in found else '–' for name in RATIOS)])
              for images, found in result['ratios'][case.name].items() if found]
    if ratios:
        lines += ['', line(['FPW', *RATIOS]), '|' + '---|' * (1 + len(RATIOS)), *ratios]
    return '\n'.join(lines) + '\n'


def markdown(result, cases, plots):
    """The whole report; plots is {case name: names of picture files}."""
    lines = [f'## S2 on {result["device_name"]}, size {result["size"]}', '',
             f'{result["device"]}; {result["cpus"]} × {result["cpu_model"]}, '
             f'{result["memory_bytes"] >> 20} MB, {result["kernel"]}; PostgreSQL '
             f'{result["postgresql"]["stock"]}; commit {result["commit"]}; {result["date"]}. '
             f'Medians of up to {result["rounds"]} runs; {HEALTH[result["model_healthy"]]}.', '']
    for name in result['ratios']:
        lines.append(case_markdown(result, cases[name]))
        lines += [f'![{each}]({each})\n' for each in plots.get(name, ()) if each.endswith('.svg')]
    notes = [*ALWAYS]
    if '2008' in result['ratios']:
        notes.append(OF_2008)
    if 'spindles' in result['ratios']:
        notes.append(OF_SPINDLES)
    if result['measured_once']:
        notes.append(OF_ONE_RUN)
    return '\n'.join(lines + [f'{note}\n' for note in notes])

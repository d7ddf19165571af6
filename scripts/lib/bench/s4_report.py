"""The report of scenario S4: the figures of 2020 on today's PostgreSQL, and plots."""
import os

from . import plot, s4

# Rows of 2020: server, seconds of recovery, seconds of VACUUM.
IN_2020 = (('PostgreSQL 13', 148, 4.1), ('PostgreSQL 14', 60.8, 2.9))

COLUMNS = (
    ('redo', 'redo_seconds', 'recovery s', '{:.2f}'),
    ('redo', 'startup_cpu_seconds', 'startup CPU s', '{:.2f}'),
    ('redo', 'updates_per_second', 'updates/s', '{:.0f}'),
    ('redo', 'daemon_cpu_seconds', 'daemon CPU s', '{:.2f}'),
    ('vacuum', 'vacuum_seconds', 'VACUUM s', '{:.3f}'),
    ('vacuum', 'vacuum_cpu_seconds', 'its CPU s', '{:.3f}'),
)
HEADINGS = {'redo_seconds': 'recovery', 'startup_cpu_seconds': 'startup CPU',
            'vacuum_seconds': 'VACUUM', 'vacuum_cpu_seconds': 'its CPU'}
ABOUT = {each.name: each.about for each in s4.CONFIGS}
NOTE = ('Recovery is the time of redo from a warm page cache, into shared buffers that hold '
        'everything; VACUUM is by one backend, after the load and a restart, with the table and '
        'its index in shared buffers. PostgreSQL 13\'s way is stock 18 that sorts the tuples of '
        'a page again. The rows of 2020 are from another machine, at full size. Ratios of more '
        'than 1 mean that the second takes less.\n')


def line(cells):
    return '| ' + ' | '.join(str(cell) for cell in cells) + ' |'


def cell(middle, what, name, measure, form):
    value = middle.get(what, {}).get(name, {}).get(measure)
    return '–' if value is None else form.format(value)


def markdown(result, pictures):
    """The whole report."""
    middle, load = result['medians'], result['image']
    lines = [f'## S4 on {result["device_name"]}, size {result["size"]}', '',
             f'{result["device"]}; {result["cpus"]} × {result["cpu_model"]}, {result["kernel"]}; '
             f'PostgreSQL {result["postgresql"]["stock"]}; commit {result["commit"]}; '
             f'{result["date"]}. {load["about"]}: {load["wal_bytes"] / 1e6:.0f} MB of WAL; medians '
             f'of {result["rounds"]} rounds.', '',
             line(['server', *(heading for _, _, heading, _ in COLUMNS)]),
             '|' + '---|' * (1 + len(COLUMNS))]
    for name in ABOUT:
        if name in middle.get('redo', {}):
            lines.append(line([ABOUT[name], *(cell(middle, what, name, measure, form)
                                              for what, measure, _, form in COLUMNS)]))
    lines += [line([f'*{server} (2020)*', seconds, '–', '–', '–', vacuum, '–'])
              for server, seconds, vacuum in IN_2020]
    pairs = list(dict.fromkeys(pair for found in result['ratios'].values() for pair in found))
    if pairs:
        lines += ['', line(['', *HEADINGS.values()]), '|' + '---|' * (1 + len(HEADINGS))]
        lines += [line([pair, *(f'{result["ratios"][name][pair]:.2f}'
                                if pair in result['ratios'][name] else '–' for name in HEADINGS)])
                  for pair in pairs]
    lines += ['', *(f'![{each}]({each})\n' for each in pictures if each.endswith('.svg')), NOTE]
    return '\n'.join(lines)


def nearest(result, name):
    """The round whose recovery was nearest to the median."""
    middle = result['medians']['redo'][name]['redo_seconds']
    return min((run for run in result['runs'] if (run['measure'], run['config']) == ('redo', name)),
               key=lambda run: abs(run['redo_seconds'] - middle))['round']


def draw(result, output):
    """Plots into a directory; returns the names of the files."""
    rows = result['medians']['redo']
    title = f's4, size {result["size"]}'
    pictures = plot.bars(os.path.join(output, 's4-bars'), title, {
        heading: {ABOUT[name]: row[measure] for name, row in rows.items()}
        for heading, measure in (('redo', 'redo_seconds'), ('startup CPU', 'startup_cpu_seconds'))})
    pictures += plot.bars(os.path.join(output, 's4-vacuum'), f'{title}: VACUUM', {
        heading: {ABOUT[name]: row[measure]
                  for name, row in result['medians'].get('vacuum', {}).items()}
        for heading, measure in (('elapsed', 'vacuum_seconds'), ('CPU', 'vacuum_cpu_seconds'))},
        'VACUUM, seconds') if result['medians'].get('vacuum') else []
    pictures += plot.redo(os.path.join(output, 's4-redo'), title, {
        ABOUT[name]: s4.stem(output, name, nearest(result, name)) for name in rows})
    return pictures

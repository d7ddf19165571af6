"""The report of scenario S5: what clearing costs, and what it saves."""
import os

from . import plot, s5

# 2021: transactions per second in 12 hours of pgbench on ZFS.
IN_2021 = {'off': 14179.6, 'on': 14050.2}
NOTES = (
    'pgbench -N on tmpfs without fsync: only the CPU counts. Half of the sessions of one server '
    'run with off and half with on, at the same time; ratios are medians of those of slices. '
    'VACUUM is that of S4. The ratio of bytes on disk is off to on, all others are on to off.',
    'The table on btrfs: each row was updated about six times while an old transaction was open, '
    'then VACUUM removed the dead versions. In 2021 segments of 1 GB shrank from over 400 to 30 to '
    '60 MB; how much of them was live was not told.')


def line(cells):
    return '| ' + ' | '.join(str(cell) for cell in cells) + ' |'


def rows_of(middle, ratios):
    """(what, off, on, ratio) of all that was measured."""
    def both(part, name, form, factor=1):
        return [form.format(middle[part][setting][name] * factor) for setting in s5.SETTINGS]
    if set(middle.get('pgbench', {})) == set(s5.SETTINGS):
        for name, title in zip(s5.LOAD_MEASURES, ('s', 's of CPU time')):
            if f'{name} on/off' in ratios:
                yield (f'pgbench, transactions/{title}', *both('pgbench', name, '{:.0f}'),
                       f'{ratios[f"{name} on/off"]:.3f}')
    if set(middle.get('vacuum', {})) == set(s5.SETTINGS):
        for name, title in (('vacuum_seconds', 'VACUUM, s'), ('vacuum_cpu_seconds', 'its CPU, s')):
            yield title, *both('vacuum', name, '{:.3f}'), f'{ratios[f"{name} on/off"]:.3f}'
    for part in s5.PARTS[2:]:
        if set(middle.get(part, {})) == set(s5.SETTINGS):
            row = middle[part]['off']
            title = (f'{row["table_bytes"] / 1e6:.0f} MB of a table on btrfs, {part}, '
                     f'{row["live_bytes"] / row["table_bytes"]:.0%} live: MB on disk')
            yield (title, *both(part, 'disk_bytes', '{:.1f}', 1e-6),
                   f'{ratios[f"{part} disk_bytes off/on"]:.1f}')


def markdown(result, pictures):
    """The whole report."""
    lines = [f'## S5 on {result["device_name"]}, size {result["size"]}', '',
             f'{result["device"]}; {result["cpus"]} × {result["cpu_model"]}, {result["kernel"]}; '
             f'PostgreSQL {result["postgresql"]["patched"]}; commit {result["commit"]}; '
             f'{result["date"]}. pgbench: scale {result["scale"]}, slices of '
             f'{result["seconds"]} s; medians of {result["rounds"]} rounds.', '',
             line(['clear_page_space', *s5.SETTINGS, 'ratio']), '|---|---|---|---|']
    lines += [line(row) for row in rows_of(result['medians'], result['ratios'])]
    lines.append(line(['*pgbench, transactions/s (2021, ZFS)*',
                       *(f'{IN_2021[setting]:.0f}' for setting in s5.SETTINGS),
                       f'{IN_2021["on"] / IN_2021["off"]:.3f}']))
    lines += ['', *(f'Not measured, {part}: {reason}.\n'
                    for part, reason in result['not_measured'].items())]
    lines += [f'![{each}]({each})\n' for each in pictures if each.endswith('.svg')]
    return '\n'.join(lines + [f'{note}\n' for note in NOTES])


def draw(result, output):
    """Bars of bytes on disk; returns the names of the files."""
    groups = {f'clear_page_space {setting}': {
        part: rows[setting]['disk_bytes'] / 1e6 for part, rows in result['medians'].items()
        if part in s5.PARTS[2:] and setting in rows} for setting in s5.SETTINGS}
    if not any(groups.values()):
        return []
    return plot.bars(os.path.join(output, 's5-disk'), f's5, size {result["size"]}: table on btrfs',
                     groups, 'on disk, MB')

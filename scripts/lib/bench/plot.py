"""Plots of a recovery benchmark, drawn by gnuplot as PNG and SVG.

    CASE-bars           seconds by configuration, such as full_page_writes off and on
    CASE-IMAGES-redo    redo's progress over time, a line for each configuration
    CASE-IMAGES-device  reads in flight, and reads per second, over time
    CASE-IMAGES-daemon  what the daemon did over time: its limits, and what they let it do

For what goes over time, the run nearest to the median of each configuration is
shown.  Seconds are on a logarithmic scale where the slowest configuration
takes many times as long as the fastest.
"""
import os
import shutil
import subprocess

from . import host, trace

SIZE = (960, 600)               # pixels
COLORS = ('#777777', '#4477aa', '#66ccee', '#228833', '#cc3311')
BACKGROUND = '#ffffff'

# Columns of the daemon's timeline, and what they are called; limits are dashed.
DAEMON_LINES = (
    ('queued', 'not submitted yet', ''),
    ('ahead', 'ahead of redo', ''),
    ('readahead_limit', 'most ahead of redo', 'dt 2'),
    ('in_flight', 'in flight', ''),
    ('io_depth', 'most in flight', 'dt 2'),
)


def require():
    if shutil.which('gnuplot') is None:
        raise host.HostError('gnuplot is missing, which plots need; run scripts/bootstrap, '
                             'or use --json instead of --output')


def draw(path, commands):
    """Run gnuplot commands once for each format; returns the files' names."""
    width, height = SIZE
    for suffix, terminal in (('png', f'pngcairo size {width},{height} background "{BACKGROUND}"'),
                             ('svg', f'svg size {width},{height} background "{BACKGROUND}"')):
        script = f'set terminal {terminal} noenhanced\nset output "{path}.{suffix}"\n{commands}\n'
        done = subprocess.run(['gnuplot', '-'], input=script, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0 or not os.path.exists(f'{path}.{suffix}'):
            raise host.HostError(f'gnuplot failed for {path}.{suffix}: {done.stdout.strip()}')
    return [f'{os.path.basename(path)}.{suffix}' for suffix in ('png', 'svg')]


def block(name, rows):
    """A table inside a gnuplot script."""
    lines = '\n'.join(' '.join(str(value) for value in row) for row in rows)
    return f'${name} << EOD\n{lines}\nEOD\n'


# For the lowest panel: what the time axis is, and what the lines are.
LEGEND = "set xlabel 'seconds since redo began'\nset key outside bottom center horizontal\n"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def bars(path, title, groups, axis='recovery, seconds'):
    """Bars with their values: groups is {group: {label: value}}."""
    labels = list(dict.fromkeys(label for values in groups.values() for label in values))
    width = 0.8 / len(groups)
    script, parts = '', []
    for number, (group, values) in enumerate(groups.items()):
        shift = (number - (len(groups) - 1) / 2) * width
        script += block(f'bars{number}', [(labels.index(label) + shift, f'{value:.2f}')
                                          for label, value in values.items()])
        parts += [f'$bars{number} using 1:2:({width * 0.92}) with boxes '
                  f'lc rgb "{COLORS[1 + 3 * number]}" title {quoted(group)}',
                  f'$bars{number} using 1:2:(sprintf("%.3g", $2)) with labels offset 0,0.7 notitle']
    ticks = ', '.join(f'{quoted(label)} {at}' for at, label in enumerate(labels))
    return draw(path, script + f'''set title {quoted(title)}
set ylabel {quoted(axis)}
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set style fill solid
set xrange [-0.6:{len(labels) - 0.4}]
set xtics ({ticks}) scale 0
set key top right
set grid ytics
plot {", ".join(parts)}''')


def spread(series):
    """Commands for the time axis, for all series of [(seconds, ...)] together."""
    ends = [rows[-1][0] for rows in series if rows]
    if ends and max(ends) > 4 * min(ends):
        first = max(0.1, min(ends) / 50)
        return f'set logscale x\nset xrange [{first:.2f}:{max(ends) * 1.1:.2f}]\n'
    return f'set xrange [0:{max(ends, default=1) * 1.02:.2f}]\n'


def rows_of(table, *columns):
    return [tuple(float(row[column]) for column in columns) for row in table]


def over_time(path, title, series, panels):
    """Panels over one another, on the same time axis: (column, its name, range)."""
    series = {label: rows for label, rows in series.items() if len(rows) > 1}
    if not series:
        return []
    script = ''.join(block(f'rows{number}', rows) for number, rows in enumerate(series.values()))
    script += spread(list(series.values()))
    script += 'set grid\nset lmargin 10\n'
    script += f'set multiplot layout {len(panels)},1 title {quoted(title)}\n'
    for number, (column, name, limits) in enumerate(panels):
        if number < len(panels) - 1:
            script += 'unset key\n'
        else:
            script += LEGEND
        script += f'set ylabel {quoted(name)}\nset yrange [{limits}]\nplot ' + ', '.join(
            f'$rows{each} using 1:{column} with lines lw 2 lc rgb "{COLORS[each % len(COLORS)]}" '
            f'title {quoted(label)}' for each, label in enumerate(series)) + '\n'
    return draw(path, script + 'unset multiplot')


def redo(path, title, stems):
    """Progress of redo: stems is {label: where trace.Watch wrote its tables}."""
    series = {label: rows_of(trace.read_table(f'{stem}.progress.tsv'), 'seconds', 'percent')
              for label, stem in stems.items()}
    return over_time(path, title, series, [(2, 'replayed, % of the WAL', '0:105')])


def device(path, title, stems):
    """Reads in flight and per second."""
    series = {label: rows_of(trace.read_table(f'{stem}.devices.tsv'), 'seconds', 'in_flight',
                             'reads_per_second') for label, stem in stems.items()}
    return over_time(path, title, series, [
        (2, 'reads in flight', '0:*'), (3, 'reads per second', '0:*')])


def daemon(path, title, stem):
    """The daemon's limits and what it had under way."""
    table = trace.read_table(f'{stem}.daemon.tsv')
    if len(table) < 2:
        return []
    # A logarithmic scale has no place for 0.
    series = rows_of(table, 'seconds', *(column for column, _, _ in DAEMON_LINES))
    series = [(row[0], *(max(0.5, value) for value in row[1:])) for row in series]
    plots = ', '.join(f'$daemon using 1:{at + 2} with lines lw 2 lc rgb "{color}" {dashes} '
                      f'title {quoted(label)}'
                      for at, ((_, label, dashes), color) in enumerate(zip(DAEMON_LINES, (
                          COLORS[0], COLORS[1], COLORS[1], COLORS[4], COLORS[4]))))
    return draw(path, block('daemon', series) + LEGEND + f'''set title {quoted(title)}
set grid
set logscale y
set ylabel 'blocks (0 is shown as 0.5)'
set xrange [0:{max(0.1, series[-1][0]):.2f}]
plot {plots}''')

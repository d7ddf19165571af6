"""Plots of a result by matplotlib, as SVG and PNG.  Nobody else imports matplotlib.

    SCENARIO-CASE-bars      the first measure by configuration
    SCENARIO-CASE-redo      redo's progress over time, a line for each configuration
    SCENARIO-CASE-standby   lag and latency of a standby over time
    SCENARIO-CASE-device    reads in flight, and reads per second, over time
    SCENARIO-CASE-daemon    what the daemon did over time: its limits, and what they let it do

For what goes over time, the run nearest to the median of each configuration is shown.
"""
import os

from . import host, report, trace

# Columns of the daemon's timeline, what they are called, and how they are drawn.
DAEMON_LINES = (('queued', 'not submitted yet', '-'), ('ahead', 'ahead of redo', '-'),
                ('readahead_limit', 'most ahead of redo', '--'), ('in_flight', 'in flight', '-'),
                ('io_depth', 'most in flight', '--'))


def require():
    """matplotlib.pyplot, without a display."""
    try:
        import matplotlib
        matplotlib.use('Agg')
        from matplotlib import pyplot
    except ImportError:
        raise host.HostError('matplotlib is missing, which plots need; run scripts/bootstrap, '
                             'or leave out --plots') from None
    return pyplot


def save(figure, path):
    """Write a figure in both formats; returns the name of the one for Markdown."""
    figure.tight_layout()
    for suffix in ('svg', 'png'):
        figure.savefig(f'{path}.{suffix}')
    require().close(figure)
    return f'{os.path.basename(path)}.svg'


def bars(path, title, measure, rows):
    figure, axes = require().subplots(figsize=(9, 5))
    shown = {name: row[measure.key] * measure.factor for name, row in rows.items()
             if measure.key in row}
    axes.bar_label(axes.bar(list(shown), list(shown.values()), width=0.7), fmt='%.3g')
    axes.set(title=title, ylabel=measure.heading)
    axes.tick_params(axis='x', rotation=20 if len(shown) > 6 else 0)
    return save(figure, path)


def over_time(path, title, tables, panels):
    """Panels one above the other: tables is {label: rows}, a panel (column, its name)."""
    tables = {label: rows for label, rows in tables.items() if len(rows) > 1}
    if not tables:
        return None
    figure, all_axes = require().subplots(len(panels), sharex=True, squeeze=False,
                                          figsize=(9, 2.5 + 2.5 * len(panels)))
    ends = [float(rows[-1]['seconds']) for rows in tables.values()]
    for axes, (column, name) in zip(all_axes[:, 0], panels):
        for label, rows in tables.items():
            axes.plot([float(row['seconds']) for row in rows],
                      [float(row[column]) for row in rows], label=label)
        axes.set(ylabel=name)
        axes.grid(True)
        if column.endswith('_ms'):
            axes.set_yscale('log')
        if max(ends) > 4 * min(ends):
            axes.set_xscale('log')
            axes.set_xlim(left=max(0.1, min(ends) / 50))
    axes.set(xlabel='seconds since redo began')
    axes.legend()
    figure.suptitle(title)
    return save(figure, path)


def daemon(path, title, rows):
    """The daemon's limits and what it had under way."""
    if len(rows) < 2:
        return None
    figure, axes = require().subplots(figsize=(9, 5))
    seconds = [float(row['seconds']) for row in rows]
    for column, label, style in DAEMON_LINES:
        axes.plot(seconds, [float(row[column]) for row in rows], style, label=label)
    axes.set_yscale('symlog')
    axes.set(title=title, xlabel='seconds since redo began', ylabel='blocks')
    axes.grid(True)
    axes.legend()
    return save(figure, path)


def nearest(runs, case, name, median):
    """The run of a configuration that is nearest to its median."""
    return min((run for run in runs if (run['case'], run['config']) == (case, name)),
               key=lambda run: abs(run['redo_seconds'] - median))


def draw(scenario, result, directory):
    """All plots of a result into a directory; returns names of files, for Markdown."""
    found = []
    for case, rows in report.medians(result.runs, scenario.measures).items():
        path = os.path.join(directory, f'{scenario.name}-{case.replace("/", "-")}')
        title = f'{scenario.name} {case} on {result.header["device_name"]}'
        measure = next((each for each in scenario.measures
                        if any(each.key in row for row in rows.values())), None)
        if measure:
            found.append(bars(f'{path}-bars', title, measure, rows))
        stems = {name: trace.stem(os.path.join(directory, 'traces'),
                                  nearest(result.runs, case, name, row['redo_seconds']))
                 for name, row in rows.items() if 'redo_seconds' in row}
        for kind, column, panels in (
                ('redo', 'progress', [('percent', 'replayed, % of the WAL')]),
                ('device', 'devices', [('in_flight', 'reads in flight'),
                                       ('reads_per_second', 'reads per second')]),
                ('standby', 'standby', [('lag_mb', 'not replayed, MB'), ('tps', 'tps'),
                                        ('p50_ms', 'p50, ms'), ('p99_ms', 'p99, ms'),
                                        ('max_ms', 'max, ms')])):
            found.append(over_time(f'{path}-{kind}', title, {
                name: trace.read_table(f'{stem}.{column}.tsv')
                for name, stem in stems.items()}, panels))
        if 'redoahead' in stems:
            found.append(daemon(f'{path}-daemon', f'{title}: the daemon',
                                trace.read_table(f'{stems["redoahead"]}.daemon.tsv')))
    return [each for each in found if each]

"""Medians, ratios, tables and JSON of raw runs.

A result is what bench-prefetch and later benchmarks write with --json:
facts of the machine, the settings of each configuration, every raw run, and
medians and ratios of the runs of one workload, all in base units.
"""
import json
import os
import statistics

from . import config as configs

# What is condensed to a median, with the heading and format of its column.
COLUMNS = (
    ('redo_seconds', 'redo s', '{:.2f}'),
    ('startup_cpu_seconds', 'startup CPU', '{:.2f}'),
    ('daemon_cpu_seconds', 'daemon CPU', '{:.2f}'),
    ('blocks_read', 'blocks read', '{:.0f}'),
    ('coverage', 'coverage', '{:.1%}'),
)

# The same for what is said of the daemon below a table.
COSTS = (
    ('daemon_us_per_block', 'us of CPU time per block', '{:.1f}'),
    ('emitted_per_block', 'references emitted per block read', '{:.2f}'),
    ('daemon_peak_rss_bytes', 'bytes resident at most', '{:.0f}'),
)


def medians(runs, more=()):
    """{workload: {config: {measure: median}}} of raw runs; more names further measures."""
    result = {}
    for workload in dict.fromkeys(run['workload'] for run in runs):
        result[workload] = {}
        ours = [run for run in runs if run['workload'] == workload]
        for config in dict.fromkeys(run['config'] for run in ours):
            rows = [run for run in ours if run['config'] == config]
            values = {name: [row[name] for row in rows if row.get(name) is not None]
                      for name in (*(name for name, _, _ in COLUMNS + COSTS), *more)}
            result[workload][config] = {name: statistics.median(found)
                                        for name, found in values.items() if found}
            result[workload][config]['runs'] = len(rows)
    return result


def medians_by(runs, group, measures):
    """{value of group: {config: {measure: median}}} of raw runs."""
    found = {}
    for run in runs:
        row = found.setdefault(run[group], {}).setdefault(run['config'], {})
        for name in measures:
            if run.get(name) is not None:
                row.setdefault(name, []).append(run[name])
    return {value: {config: {name: statistics.median(values) for name, values in row.items()}
                    for config, row in rows.items()} for value, rows in found.items()}


def ratios(middle):
    """{workload: {'a/b': redo time of a ÷ redo time of b}} of medians.

    More than 1 means that b is faster.  `best` is stock's fastest cold
    configuration of those that were run.
    """
    result = {}
    for workload, of_config in middle.items():
        seconds = {name: row['redo_seconds'] for name, row in of_config.items()}
        cold = [seconds[name] for name in configs.STOCK_COLD if name in seconds]
        if cold:
            seconds['best'] = min(cold)
        pairs = [(reference, candidate)
                 for candidate in ('redoahead', 'killed', 'stopped', 'absent', 'unset', 'patched')
                 for reference in ('best', *configs.STOCK_COLD)]
        found = {f'{a}/{b}': round(seconds[a] / seconds[b], 3)
                 for a, b in pairs if a in seconds and b in seconds and seconds[b] > 0}
        for warm in ('off', 'default'):
            if 'redoahead' in seconds and seconds.get(f'{warm}-warm'):
                found[f'redoahead_cold/{warm}_warm'] = round(
                    seconds['redoahead'] / seconds[f'{warm}-warm'], 3)
            for name in ('patched-warm', 'redoahead-warm'):
                if seconds.get(name) and seconds.get(f'{warm}-warm'):
                    found[f'{warm}-warm/{name}'] = round(seconds[f'{warm}-warm'] / seconds[name], 3)
        result[workload] = found
    return result


def cell(row, name, form):
    return form.format(row[name]) if row.get(name) is not None else '-'


def table(rows, labels, columns=COLUMNS):
    """Text table of medians or runs: rows is {config: measures}."""
    width = max(len(label) for label in labels.values())
    lines = [' ' * width + ''.join(f'  {title:>{max(8, len(title))}}' for _, title, _ in columns)]
    for name, row in rows.items():
        lines.append(f'{labels[name]:{width}}' + ''.join(
            f'  {cell(row, key, form):>{max(8, len(title))}}' for key, title, form in columns))
    return '\n'.join(lines)


def summary(middle, shares, workloads):
    """The text printed at the end of a benchmark."""
    labels = {config.name: config.name for config in configs.CONFIGS.values()}
    parts = []
    for workload, rows in middle.items():
        count = max(row['runs'] for row in rows.values())
        lines = [f'{workload}: {workloads[workload].about}',
                 f'(medians of {count} run{"s" if count > 1 else ""} each)', '',
                 table(rows, labels)]
        lines += [f'{name}: ' + ', '.join(f'{cell(row, key, form)} {text}'
                                          for key, text, form in COSTS if key in row)
                  for name, row in rows.items() if any(key in row for key, _, _ in COSTS)]
        if shares[workload]:
            lines += ['', 'redo time ratios:']
            lines += [f'    {name:28}{value:8.3f}' for name, value in shares[workload].items()]
        parts.append('\n'.join(lines))
    return '\n\n'.join(parts)


def write_json(path, value):
    """Write JSON in one step: a reader never sees half of it."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    scratch = path + '.tmp'
    with open(scratch, 'w', encoding='utf-8') as file:
        json.dump(value, file, indent=2)
        file.write('\n')
    os.replace(scratch, path)

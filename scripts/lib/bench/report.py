"""Medians, paired ratios and Markdown tables of a result.

A ratio is the median of the ratios of runs of the same round and take, with the least and
the greatest: whatever the machine does from minute to minute, neighbours share it.  `best`
stands for stock's cold configuration with the least median of the measure that is compared.
"""
import statistics

from . import config as configs
from . import host
from .scenario import Measure

HEALTH = {True: 'the disk model was healthy in every run',
          False: '**the disk model was NOT healthy in every run: do not trust this**'}

# What two results should have in common, and what it is called.
COMMON = (('scenario', 'scenario'), ('device_name', 'device'), ('size', 'size'),
          ('kernel', 'kernel'), ('cpus', 'number of CPUs'), ('cpu_model', 'CPU'),
          ('postgresql', 'PostgreSQL version'), ('cases', 'cases'))


# ---------- figures ----------

def medians(runs, measures):
    """{case: {configuration: {key: median, 'runs': how many}}}."""
    found = {}
    for run in runs:
        found.setdefault(run['case'], {}).setdefault(run['config'], []).append(run)
    return {case: {name: {'runs': len(rows), **{
        each.key: statistics.median(values) for each in measures
        if (values := [row[each.key] for row in rows if row.get(each.key) is not None])}}
        for name, rows in of_config.items()} for case, of_config in found.items()}


def best(rows, key):
    """Name of stock's cold configuration with the least of a measure in {configuration: medians},
    or None."""
    cold = [name for name in configs.STOCK_COLD if key in rows.get(name, ())]
    return min(cold, key=lambda name: rows[name][key], default=None)


def ratio(runs, case, first, second, key):
    """(median, least, greatest) of first ÷ second within rounds and takes, or None."""
    takes = {}
    for run in runs:
        if run['case'] == case and run.get(key) is not None:
            takes.setdefault((run['round'], run['take']), {})[run['config']] = run[key]
    each = [take[first] / take[second] for take in takes.values()
            if first in take and take.get(second)]
    return (statistics.median(each), min(each), max(each)) if each else None


def ratios(scenario, runs, case):
    """{(first, second, key): ratio} of all that a scenario compares in a case."""
    rows = medians(runs, scenario.measures)[case]
    found = {}
    for first, second in scenario.compared:
        for key in scenario.ratio_of:
            value = ratio(runs, case, best(rows, key) if first == 'best' else first, second, key)
            if value:
                found[first, second, key] = value
    return found


# ---------- tables ----------

def table(rows):
    """Lines of a Markdown table whose columns are aligned; the first row is the heading."""
    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]
    lines = ['| ' + ' | '.join(f'{cell!s:{width}}' if at == 0 else f'{cell!s:>{width}}'
                               for at, (cell, width) in enumerate(zip(row, widths))) + ' |'
             for row in rows]
    return [lines[0], '|' + '|'.join('-' * (width + 2) for width in widths) + '|', *lines[1:]]


def cell(row, measure):
    value = row.get(measure.key)
    return '–' if value is None else measure.form.format(value * measure.factor)


def case_lines(scenario, result, case, rows):
    """The tables of one case."""
    about = result.header['cases'].get(case, {}).get('about', '')
    columns = [each for each in scenario.measures
               if any(each.key in row for row in rows.values())]
    count = max(row['runs'] for row in rows.values())
    body = [['', *(each.heading for each in columns)]]
    for name, row in rows.items():
        label = name if row['runs'] == count else f'{name} ({row["runs"]} of {count} runs)'
        body.append([label, *(cell(row, each) for each in columns)])
    body += [[f'*{label}*', *(values.get(each.key, '–') for each in columns)]
             for of, label, values in scenario.published if of == case]
    lines = [f'### {case}: {about}' if about else f'### {case}', '', *table(body), '']
    found = ratios(scenario, result.runs, case)
    if found:
        keys = list(dict.fromkeys(key for _, _, key in found))
        headings = {each.key: each.heading for each in scenario.measures}
        pairs = list(dict.fromkeys((first, second) for first, second, _ in found))
        lines += [*table([['ratio', *(headings[key] for key in keys)], *(
            [f'{first} / {second}', *(
                '{:.3f} ({:.2f} to {:.2f})'.format(*found[first, second, key])
                if (first, second, key) in found else '–' for key in keys)]
            for first, second in pairs)]), '']
    return lines


def steal(runs):
    """How much CPU time the host gave to others, in words; nothing where no run has that."""
    shares = [run['steal'] for run in runs if 'steal' in run]
    return (f' The host gave {statistics.median(shares):.0%} of the wanted CPU time to others, '
            f'{max(shares):.0%} in the worst run.' if shares else '')


def markdown(scenario, result, pictures=()):
    """The whole report."""
    header = result.header
    machine = (f'{header["device"]}; {header["cpus"]} × {header["cpu_model"]}, '
               f'{header["memory_bytes"] >> 20} MB, {header["kernel"]}; PostgreSQL '
               f'{header["postgresql"].get("stock", "–")}; commit {header["commit"]}; '
               f'{header["date"]}')
    lines = [f'## {scenario.name}: {scenario.about}', '',
             f'Device {header["device_name"]}, size {header["size"]}. {machine}. Medians; ratios '
             'are medians of those within rounds, with the least and the greatest' +
             (f'; {HEALTH[header["model_healthy"]]}' if 'model_healthy' in header else '') + '.' +
             steal(result.runs) +
             (' The kernel may have evicted pages that looked cold, though memory was free (DAMON).'
              if header.get('proactive_reclaim') else ''), '']
    for case, rows in medians(result.runs, scenario.measures).items():
        lines += case_lines(scenario, result, case, rows)
    if scenario.summary and result.runs:
        lines += [*scenario.summary(result.runs), '']
    lines += [f'Not measured, {part}: {reason}.\n'
              for part, reason in header.get('not_measured', {}).items()]
    lines += [f'![{name}]({name})\n' for name in pictures]
    return '\n'.join(lines + [f'{note}\n' for note in scenario.notes])


# ---------- two results ----------

def warnings(old, new):
    """Lines that describe why two results may not be comparable."""
    found = []
    for key, name in COMMON:
        a, b = old.header.get(key), new.header.get(key)
        if a != b:
            found.append(f'different {name}' + ('' if isinstance(a, dict) else f': {a}, {b}'))
    for name, result in (('old', old), ('new', new)):
        if result.header.get('model_healthy') is False:
            found.append(f'the disk model was not healthy in a run of the {name} result')
    return found


def comparison(scenario, old, new):
    """A table of the medians of two results, and new ÷ old."""
    before, after = (medians(result.runs, scenario.measures) for result in (old, new))
    rows = [['', 'old', 'new', 'new/old']]
    for case in {**before, **after}:
        for name in {**before.get(case, {}), **after.get(case, {})}:
            a, b = (middle.get(case, {}).get(name, {}) for middle in (before, after))
            for each in scenario.measures:
                if each.key in a or each.key in b:
                    share = f'{b[each.key] / a[each.key]:.3f}' if a.get(each.key) and \
                        each.key in b else '–'
                    rows.append([f'{case} {name}: {each.heading}', cell(a, each), cell(b, each),
                                 share])
    return '\n'.join(table(rows))


# ---------- the table of README.md ----------

REDO = Measure('redo_seconds', 'redo s', '{:.1f}')
SHOWN = (*configs.STOCK_COLD, 'redoahead')


def summary_table(result):
    """Lines of the table of redo times that README.md has: one row for each case.

    Its ratios are of the medians beside them, so that a reader can check them.
    """
    rows = [['workload', *(name.removeprefix('try-') for name in SHOWN), 'default', 'best']]

    def shares(found, *names):
        return [f'{found[name][REDO.key] / found["redoahead"][REDO.key]:.1f} ×'
                if name in found and 'redoahead' in found else '' for name in names]

    for case, found in medians(result.runs, [REDO]).items():
        cells = {name: cell(row, REDO) for name, row in found.items()}
        rows.append([result.header['cases'].get(case, {}).get('about', case),
                     *(cells.get(name, '') for name in SHOWN),
                     *shares(found, 'default', best(found, REDO.key))])
        warm = [name for name in found if name.endswith('-warm')]
        if 'redoahead' in found and warm:
            least = min(warm, key=lambda name: found[name][REDO.key])
            rows.append(['the same, stock from a warm cache',
                         *(cells.get(f'{name}-warm', '') for name in SHOWN), '',
                         *shares(found, least)])
    return table(rows)


def put_into(text, path, result):
    """The text with the table of a results file between the markers of its major release."""
    if result.header['size'] != 'full' or result.header['rounds'] < 3:
        raise host.HostError(f'{path} has {result.header["rounds"]} rounds of size '
                             f'{result.header["size"]}; README.md shows 3 of size full at least')
    major = result.header['postgresql']['stock'].partition('.')[0]
    first, last = (f'<!-- results of PostgreSQL {major}: {each} -->' for each in ('begin', 'end'))
    head, begin, rest = text.partition(first)
    _, end, tail = rest.partition(last)
    if not begin or not end:
        raise host.HostError(f'there are no lines {first} and {last}')
    return '\n'.join([head + begin, f'<!-- made by: scripts/bench readme {path} -->',
                      *summary_table(result), end + tail])

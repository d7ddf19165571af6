"""What recoveries with and without probes say, in tables."""
import statistics

from .trace import read_table

SETTLED = 2.0                   # seconds of redo after which the limits must be found


def by_hand(depth):
    return ('--io-depth', str(depth), '--start-depth', str(depth), '--feedback', 'off')


BAD = ('--start-depth', '4', '--start-window', '64')
STARTS = {
    'hand-64': by_hand(64),
    'hand-256': by_hand(256),
    'hand-1024': by_hand(1024),
    'default': (),
    'default-own': ('--feedback', 'off'),
    'bad-start': (*BAD, '--feedback', 'on'),
    'bad-start-own': (*BAD, '--feedback', 'off'),
}


def limits(timeline):
    """What the daemon had found after two seconds of redo, and how fast it read from then on."""
    rows = [{name: float(row[name]) for name in ('seconds', 'io_depth', 'readahead_limit', 'blocks_read')}
            for row in read_table(timeline)]
    later = [row for row in rows if row['seconds'] - rows[0]['seconds'] >= SETTLED]
    end = [row for row in later if row['blocks_read'] < 0.99 * rows[-1]['blocks_read']]
    if not end or end[-1]['seconds'] == later[0]['seconds']:
        return None
    first, last = later[0], end[-1]
    return {'io_depth': first['io_depth'], 'readahead_limit': first['readahead_limit'],
            'blocks_per_second': (last['blocks_read'] - first['blocks_read']) /
            (last['seconds'] - first['seconds'])}


def median(runs, name, function):
    values = [function(run) for run in runs if run['config'] == name]
    return statistics.median(values) if values and None not in values else None


def feedback_table(runs):
    """Lines of text."""
    names = [name for name in STARTS if any(run['config'] == name for run in runs)]
    best = min((median(runs, name, lambda run: run['redo_seconds'])
                for name in names if name.startswith('hand')), default=None)
    fastest = max((median(runs, name, lambda run: run['found'] and
                          run['found']['blocks_per_second']) or 0
                   for name in names if name.startswith('hand')), default=0)
    yield f'(medians; rates from {SETTLED:g} s of redo on)'
    yield ''
    yield (f'{"":<15}{"redo s":>8}{"of best":>9}{"depth":>7}{"window":>8}{"blocks/s":>10}{"of best":>9}')
    for name in names:
        redo = median(runs, name, lambda run: run['redo_seconds'])
        line = f'{name:<15}{redo:>8.2f}' + (f'{redo / best:>9.1%}' if best else f'{"":>9}')
        if all(run['found'] for run in runs if run['config'] == name):
            rate = median(runs, name, lambda run: run['found']['blocks_per_second'])
            line += f'{median(runs, name, lambda run: run["found"]["io_depth"]):>7.0f}' \
                    f'{median(runs, name, lambda run: run["found"]["readahead_limit"]):>8.0f}{rate:>10.0f}'
            line += f'{rate / fastest:>9.1%}' if fastest else ''
        yield line


def pairs_table(runs):
    """Lines of text."""
    pairs = list(zip(*([run for run in runs if run['config'] == name] for name in ('off', 'on'))))
    ratios = [on['redo_seconds'] / off['redo_seconds'] for off, on in pairs]
    yield 'pair  off, redo s  on, redo s    cost  coverage    late  wasted'
    for number, ((off, on), ratio) in enumerate(zip(pairs, ratios), 1):
        report = on['trace']
        yield (f'{number:>4}{off["redo_seconds"]:>13.2f}{on["redo_seconds"]:>12.2f}{ratio - 1:>8.1%}'
              f'{report["coverage"]:>10.2%}{report["late"]:>8.2%}{report["wasted"]:>8.2%}')
    off, on = (median(runs, name, lambda run: run['redo_seconds']) for name in ('off', 'on'))
    yield ''
    yield (f'cost of tracing: {statistics.median(ratios) - 1:.1%} (median of {len(pairs)} pairs); '
          f'medians {off:.2f} and {on:.2f} s, {on / off - 1:.1%}')
    ratios = [on['startup_cpu_seconds'] / off['startup_cpu_seconds'] for off, on in pairs]
    off, on = (median(runs, name, lambda run: run['startup_cpu_seconds']) for name in ('off', 'on'))
    yield (f'CPU time of the startup process: {statistics.median(ratios) - 1:.1%}; '
          f'medians {off:.2f} and {on:.2f} s')

"""A hot standby that serves queries while it replays: how fast it is, and what queries wait.

Cases are named after where the WAL comes from, and the queries beside:

    archive      all is in an archive, on the device of the data
    streaming    sent as fast as the standby takes it: more than replay can keep up with
    paced        sent at a rate (--wal-rate), which replay may just keep up with

    select       pgbench -S, 4 clients, at a rate (--query-rate)
    report       one client that reads the whole table, over and over, without parallel workers
    none         no queries

No primary runs, so that it takes no CPU time from the standby: a thread sends WAL that was made
before (wal_sender.py).  For reports the WAL is that of a primary with hot_standby_feedback:
otherwise replay would wait for each report to end, and that would be what is measured.

A configuration `redoahead:OPTION[:OPTION]` is redoahead with options: those that begin with
-- are the daemon's, others are settings of the server.  So is `follow:OPTION[:OPTION]`.
`default-warm` has all files in the page cache: what queries wait where neither they nor redo read
from a device.
"""
import contextlib
import dataclasses
import os
import statistics

from .. import config, host, recovery, report, script, standby, trace, workload
from ..scenario import Measure, Part, Scenario, scale_of

SOURCES = {
    'archive': (standby.Case('select'), 'from an archive'),
    'streaming': (standby.Case('select', streamed=True), 'streamed as fast as it is taken'),
    'paced': (standby.Case('select', streamed=True, paced=True), 'streamed at a rate'),
}
QUERIES = {'select': 'pgbench -S at a rate', 'report': 'sequential scans', 'none': 'no queries'}
CONFIGS = (*config.STOCK_COLD, 'default-warm', 'redoahead', 'follow', 'before')


def load_of(size, queries):
    factor = scale_of(size)
    scale = 10 if factor is None else 80
    transactions = 16000 if factor is None else round(120000 * factor)
    # A quarter of the data.
    settings = {'shared_buffers': f'{4 * scale}MB', 'full_page_writes': 'off'}
    feedback = queries == 'report'
    if feedback:
        settings['max_prepared_transactions'] = '1'
    return workload.Workload(
        'standby-feedback' if feedback else 'standby',
        f'pgbench -N, scale {scale}, {transactions} transactions, full_page_writes off' +
        (', no row removed' if feedback else ''), scale, transactions, settings,
        workload.prepare_pgbench,
        workload.load_with_feedback if feedback else workload.load_simple_update,
        from_base=True, clean_base=True)


def configured(name):
    """(config.Config, options of the daemon) of a name."""
    base, *more = name.split(':')
    if base not in CONFIGS or (more and not config.CONFIGS[base].daemon) or any(
            '=' not in each for each in more):
        raise host.HostError(f'--config {name} is unknown to standby; known are: '
                             f'{", ".join(CONFIGS)}; redoahead and follow also with '
                             ':--OPTION=VALUE and :SETTING=VALUE')
    settings = dict(each.split('=', 1) for each in more if not each.startswith('--'))
    chosen = config.CONFIGS[base]
    return (dataclasses.replace(chosen, name=name, settings={**chosen.settings, **settings}),
            tuple(each for each in more if each.startswith('--')))


@contextlib.contextmanager
def opened(bench, part):
    for name in bench.options.config or ():
        configured(name)
    bench.results.describe(part.name, queries_per_second=bench.options.query_rate,
                           wal_bytes_per_second=bench.options.wal_rate * 1000)
    with bench.place('recovery') as place, bench.stage(part) as stage:
        yield lambda name, number: measure(bench, part, name, number, stage, place)


def measure(bench, part, name, number, stage, place):
    """One run; returns its figures."""
    chosen, options = configured(name)
    timeline = os.path.join(place, 'timeline') if bench.traces and chosen.daemon else None
    with trace.Watch(os.path.dirname(stage.directory), stage.image, bench.show(stage.image),
                     stage.model) as watch:
        run = standby.run_once(standby.Setup(
            part.details, chosen, recovery.Conditions(timeline=timeline, options=options), stage,
            bench.builds, place, os.path.join(bench.images[part.name].directory, 'pg_wal'), watch,
            bench.options.query_rate, bench.options.wal_rate * 1000, number))
    run.update(watch.figures(run))
    if bench.traces:
        os.makedirs(bench.traces, exist_ok=True)
        stem = trace.stem(bench.traces, {'case': part.name, 'config': name,
                                         'round': bench.task.round})
        watch.write(stem, run)
        write_slices(f'{stem}.standby.tsv', run['slices'])
        if timeline:
            trace.keep_timeline(timeline, f'{stem}.daemon.tsv')
    return run


def write_slices(path, slices):
    """A table for plots."""
    def scaled(value, factor):
        return 'nan' if value is None else f'{value * factor:.4f}'
    trace.write_table(path, ('seconds', 'lag_mb', 'p50_ms', 'p99_ms', 'max_ms', 'tps'), [
        (each['seconds'], scaled(each['lag_bytes'], 1e-6), *(
            scaled(each[name], 1e3) for name in ('p50', 'p99', 'max')), each['tps'])
        for each in slices])


def parts(size):
    found = []
    for source, (case, about) in SOURCES.items():
        for queries, what in QUERIES.items():
            load = load_of(size, queries)
            found.append(Part(
                f'{source}/{queries}', f'{load.about}; {about}, beside {what}', CONFIGS, opened,
                load, unknown=True, details=dataclasses.replace(case, queries=queries),
                facts={'settings': {**standby.STANDBY, **load.settings}}))
    return tuple(found)


# What is compared with stock at its best as a ratio.
PAIRED = (('redo_seconds', 'replay rate'), ('query_p50_seconds', 'p50'),
          ('query_p95_seconds', 'p95'), ('query_p99_seconds', 'p99'))


def differences(runs, case, first, second, key):
    """second - first within rounds."""
    found = {}
    for run in runs:
        if run['case'] == case and key in run:
            found.setdefault((run['round'], run['take']), {})[run['config']] = run[key]
    return [each[second] - each[first] for each in found.values()
            if first in each and second in each]


def spread(values, form):
    return f'{form} ({form} to {form})'.format(statistics.median(values), min(values), max(values))


def summary(runs):
    """Lines of a table: each configuration but cold ones of stock against stock at its best."""
    rows = [['against stock at its best', *(heading for _, heading in PAIRED),
             'longest stall, ms more']]
    for case, of in report.medians(runs, MEASURES).items():
        best = report.best(of, 'redo_seconds')
        for name in of if best else ():
            if name in config.STOCK_COLD:
                continue
            cells = []
            for key, _ in PAIRED:
                # Replay that takes less time is faster; latency that is higher is worse.
                first, second = (best, name) if key == 'redo_seconds' else (name, best)
                found = report.ratio(runs, case, first, second, key)
                cells.append('{:.2f} ({:.2f} to {:.2f})'.format(*found) if found else '–')
            stalls = differences(runs, case, best, name, 'longest_stall_seconds')
            cells.append(spread([1e3 * each for each in stalls], '{:.0f}') if stalls else '–')
            rows.append([f'{case}: {name} / {best}', *cells])
    return report.table(rows) if len(rows) > 1 else []


MEASURES = (
    Measure('redo_seconds', 'replay s', '{:.2f}'),
    Measure('replay_bytes_per_second', 'WAL MB/s', '{:.1f}', 1e-6),
    Measure('tps', 'tps', '{:.1f}'),
    *(Measure(f'query_{name}_seconds', f'{name} ms', '{:.2f}', 1e3)
      for name, _ in standby.SHARES),
    Measure('longest_stall_seconds', 'stall ms', '{:.0f}', 1e3),
    Measure('lag_mean_bytes', 'lag MB', '{:.1f}', 1e-6),
    Measure('lag_max_seconds', 'lag s', '{:.2f}'),
    Measure('device_read_bytes', 'device read MB', '{:.0f}', 1e-6),
    Measure('startup_cpu_seconds', 'startup CPU', '{:.2f}'),
    Measure('blocks_read', 'blocks read', '{:.0f}'),
    Measure('blocks_read_by_queries', 'by queries', '{:.0f}'),
    Measure('blocks_read_again', 'again', '{:.0f}'),
    Measure('conflicts', 'conflicts', '{:.0f}'),
    Measure('promote_seconds', 'promote ms', '{:.0f}', 1e3),
)

SCENARIO = Scenario(
    'standby', 'queries of a hot standby while it replays', parts, MEASURES,
    notes=(
        'Latency counts from when a transaction was scheduled (with schedule lag); those that '
        'ended from when the standby accepted connections until all WAL was replayed. A stall is '
        'a time in which no query ended. Lag is WAL received, or in the archive, and not replayed, '
        'on average; in seconds, the most since it was sent. Blocks read again are reads of the '
        'device beyond those of each block that is in the page cache in the end.',),
    summary=summary, daemon=True, arrays=True, rounds=5, space=6 << 30,
    options=(('--query-rate', {'type': script.positive, 'default': 1500, 'metavar': 'N',
                               'help': 'standby: transactions per second of select (1500)'}),
             ('--wal-rate', {'type': script.positive, 'default': 5000, 'metavar': 'KB',
                             'help': 'standby: kB of WAL per second in paced cases (5000)'})))

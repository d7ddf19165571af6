"""Recovery under memory pressure: a working set many times what the page cache may hold.

Server and daemon share a memory cgroup, and shared_buffers is 32 MB, as in 2008.  Redo
touches nearly every block of a table that is much larger, once or a few times, at random,
and no record has a full-page image.  The configuration `pages` records the kernel's page
cache events, too, which cost time: it shows how many of the pages that were read ahead were
evicted before redo used them.
"""
from .. import recoveries, workload
from ..config import STOCK_COLD
from ..scenario import Measure, Scenario


def parts(size):
    # Full has the WAL and the image of prefetch's pgbench-off.
    full = size == 'full'
    scale, transactions = (300, 1200000) if full else (70, 150000)
    limit = (256 if full else 160) << 20
    load = workload.Workload(
        'pgbench-off' if full else 'memory',
        f'pgbench -N, scale {scale}, {transactions} transactions, full_page_writes off',
        scale, transactions, {'shared_buffers': '4GB', 'full_page_writes': 'off'},
        workload.prepare_pgbench, workload.load_simple_update)
    return (recoveries.part(
        'memory', f'{load.about}; shared_buffers 32 MB, {limit >> 20} MB of memory for server '
        'and daemon', load, recoveries.named(*STOCK_COLD, 'redoahead', 'before', 'pages'),
        {'shared_buffers': '32MB'}, limit),)


def summary(runs):
    """Lines about the pages that were read ahead."""
    for run in runs:
        pages = run.get('pages')
        if pages:
            yield (f'Pages read ahead: {pages["added"]}; evicted before redo used them: '
                   f'{pages["evicted"]} ({pages["evicted_share"]:.2%}); not used: '
                   f'{pages["left"]}. Pages that redo had to read itself: {pages["missed"]}, of '
                   f'those evicted before: {pages["missed_after_eviction"]}.' +
                   (f' {pages["events_lost"]} EVENTS WERE LOST.' if pages['events_lost'] else ''))


SCENARIO = Scenario(
    'memory', 'recovery under memory pressure', parts,
    recoveries.MEASURES + recoveries.OF_DEVICE + (
        Measure('evicted_share', 'evicted unused', '{:.2%}'),),
    recoveries.COMPARED, ('redo_seconds',), summary=summary, daemon=True, arrays=True,
    numbers=False, space=12 << 30)

"""Point-in-time recovery: all WAL is in an archive whose command takes a while for each segment.

A copy of a cluster from before the load, which was shut down, is recovered to the end of the WAL
and begins a new timeline.  The archive is beside the data and cold, too; its command sleeps
--archive-latency milliseconds before it copies.  No queries are served meanwhile (hot_standby is
off): with them, the daemon of redoahead would spare the device.

    follow              stock, recovery_prefetch = off, `redoahead restore` and `redoahead follow`
    follow-cp           the same with the plain command
    restore             stock's default, and `redoahead restore`
    redoahead           patched, with extension and daemon, with the plain command
    redoahead-restore   the same with `redoahead restore`
"""
import dataclasses

from .. import config, recoveries, script, workload
from ..scenario import Measure, Scenario, scale_of


def variant(base, name, about, **more):
    return dataclasses.replace(config.CONFIGS[base], name=name, about=about, **more)


CONFIGS = (
    *recoveries.named(*config.STOCK_COLD),
    variant('follow', 'follow', 'stock, off, redoahead follow and restore', restore=True),
    variant('follow', 'follow-cp', 'stock, off, redoahead follow'),
    variant('default', 'restore', 'stock default, redoahead restore', restore=True),
    *recoveries.named('redoahead'),
    variant('redoahead', 'redoahead-restore', 'redoahead, and redoahead restore', restore=True),
)
OURS = ('follow', 'redoahead-restore')


def load_of(size):
    """Data and WAL grow alike: each block is changed about as often in each size."""
    factor = scale_of(size)
    scale, transactions = (10, 200000) if factor is None else (
        max(1, round(300 * factor)), round(7000000 * factor))
    return workload.Workload(
        'pitr', f'pgbench -N, scale {scale}, {transactions} transactions, full_page_writes off',
        scale, transactions,
        {'shared_buffers': f'{max(128, round(13.65 * scale))}MB', 'full_page_writes': 'off'},
        workload.prepare_pgbench, workload.load_simple_update, from_base=True, clean_base=True)


def parts(size):
    load = load_of(size)
    return (recoveries.part('archive', load.about, load, CONFIGS, {'hot_standby': 'off'},
                            archived=True),)


SCENARIO = Scenario(
    'pitr', 'recovery from an archive whose command takes a while', parts, (
        *(each for each in recoveries.MEASURES if each.key != 'coverage'),
        Measure('machine_cpu_seconds', 'all CPU', '{:.2f}'),
        Measure('daemon_blocks_read', 'by the daemon', '{:.0f}'), *recoveries.OF_DEVICE),
    tuple((stock, ours) for ours in OURS for stock in ('off', 'default', 'best')) + (
        ('follow-cp', 'follow'), ('default', 'restore'), ('redoahead', 'redoahead-restore')),
    ('redo_seconds',), notes=(
        'Redo waits for each segment that is not there, which is part of its time. Startup CPU is '
        'without the commands that the server runs, daemon CPU without `redoahead restore`; all '
        'CPU is that of the whole machine until the end of redo.',),
    daemon=True, arrays=True, space=20 << 30,
    options=(('--archive-latency', {
        'type': script.positive, 'default': 200, 'metavar': 'MS',
        'help': 'pitr: milliseconds until a segment begins to come from the archive (200)'}),))

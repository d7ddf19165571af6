"""Recoveries of one crashed cluster for each kind of WAL: stock against redoahead."""
from .. import recoveries, workload
from ..config import STOCK_COLD
from ..scenario import Scenario

CONFIGS = {
    'pgbench-off': STOCK_COLD + ('redoahead', 'follow', 'off-warm', 'default-warm', 'patched', 'unset',
                                 'absent', 'killed', 'stopped', 'no-prefault', 'decoder', 'no-defer',
                                 'before'),
    'pgbench-fpw': STOCK_COLD + ('redoahead', 'follow', 'no-defer', 'before'),
    'insert-index': STOCK_COLD + ('redoahead', 'follow', 'off-warm', 'follow-warm', 'decoder',
                                  'no-defer', 'before'),
    'documents': STOCK_COLD + ('redoahead', 'follow', 'no-defer', 'before'),
    'queues': STOCK_COLD + ('redoahead', 'follow', 'no-defer', 'before'),
    'cached': ('off', 'default', 'redoahead', 'follow', 'decoder', 'no-defer', 'before'),
}


def parts(size):
    loads = workload.make_workloads(size)
    return tuple(recoveries.part(name, loads[name].about, loads[name],
                                 recoveries.named(*names)) for name, names in CONFIGS.items())


SCENARIO = Scenario(
    'prefetch', 'prefetching during crash recovery, by kind of WAL', parts,
    recoveries.MEASURES + recoveries.UNTIL_READY + recoveries.OF_DAEMON,
    recoveries.COMPARED + recoveries.COMPARED_FOLLOW + tuple(('default', name) for name in (
        'killed', 'stopped', 'absent', 'unset', 'patched')) + (
        ('off-warm', 'redoahead'), ('default-warm', 'redoahead'), ('no-prefault', 'redoahead'),
        ('redoahead', 'decoder'), ('no-defer', 'redoahead'),
        ('off-warm', 'follow'), ('off-warm', 'follow-warm')),
    ('redo_seconds', 'ready_seconds', 'after_redo_seconds', 'startup_cpu_seconds'), daemon=True, arrays=True, numbers=False,
    space=12 << 30)

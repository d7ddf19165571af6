"""What `redoahead trace` costs: recoveries with and without it, in turn.

The load is prefetch's pgbench-off, or s2's spindles, which suits arrays of modelled disks.
"""
from .. import recoveries, workload
from ..scenario import Measure, Scenario
from . import s2


def parts(size):
    loads = workload.make_workloads(size)
    configs = recoveries.named('redoahead', 'traced')
    spindles = s2.spindles(size, 'off')
    return (recoveries.part('pgbench-off', loads['pgbench-off'].about, loads['pgbench-off'],
                            configs),
            recoveries.part('spindles', spindles.about, spindles, configs,
                            image_size=f's2-{size}'))


SCENARIO = Scenario(
    'trace', 'what redoahead trace costs', parts, recoveries.MEASURES + (
        Measure('trace_coverage', 'traced: coverage', '{:.2%}'),
        Measure('trace_late', 'late', '{:.2%}'), Measure('trace_wasted', 'wasted', '{:.2%}')),
    (('traced', 'redoahead'),), ('redo_seconds', 'startup_cpu_seconds'), daemon=True,
    arrays=True, numbers=False, rounds=5, space=12 << 30)

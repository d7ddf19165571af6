"""The ablation of 2026: recoveries with one mechanism of daemon or extension switched off.

Only for `scripts/bench report`: the switches are gone, so this cannot be run.  A ratio is that
to the baseline of the same round, which switches nothing off.  In the cases named "phases" the
extension switched the mechanism off and on every few milliseconds within one recovery.
"""
from ..scenario import Measure, Scenario

SCENARIO = Scenario(
    'ablation', 'what each mechanism gains', lambda size: (), (
        Measure('redo_seconds', 'redo s', '{:.2f}'),
        Measure('redo_ratio', 'redo / baseline', '{:.3f}'),
        Measure('startup_cpu_ratio', 'startup CPU / baseline', '{:.3f}'),
        Measure('daemon_cpu_ratio', 'daemon CPU / baseline', '{:.2f}'),
        Measure('phase_ratio', 'off / on, within a recovery', '{:.3f}')))

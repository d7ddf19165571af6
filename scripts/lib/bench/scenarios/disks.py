"""The disk model against its targets, with fio as the judge.

Makes one spindle, eight spindles and one gp3-like volume with scripts/disklab, one after the
other, and reads their block devices with fio.  Random reads are of 8 kB and go to the first
two thirds of each disk, as on a disk in service.  The disks are empty, so little is read from
the device that they are on.
"""
import contextlib
import json
import os

from .. import device, host, loop, report
from ..scenario import Measure, Part, Scenario

SECONDS = 20                    # of a run of fio
DISK_BYTES = 6 << 30
NO_LIMIT = float('inf')

# Case: model, disks, {configuration: (fio's rw, bytes of a read, reads in flight,
# {figure: (least, most)})}
LABS = {
    'spindle': ('hdd', 1, {
        'random, depth 1': ('randread', 8192, 1, {'iops': (70, 130)}),
        'random, depth 32': ('randread', 8192, 32, {'iops': (200, 250)}),
        'sequential': ('read', 262144, 4, {'mb': (100, 165)})}),
    'eight spindles': ('hdd', 8, {
        'random, depth 64': ('randread', 8192, 64, {'iops': (1000, NO_LIMIT)}),
        'random, depth 256': ('randread', 8192, 256, {'iops': (1400, NO_LIMIT),
                                                      'core': (0, 15)})}),
    'gp3-like volume': ('gp3', 1, {
        'random, depth 1': ('randread', 8192, 1, {'latency': (0.8, 1.0)}),
        'random, depth 32': ('randread', 8192, 32, {'iops': (2850, 3150)})}),
}
MEASURES = (Measure('iops', 'IOPS', '{:.0f}'), Measure('mb', 'MB/s', '{:.0f}'),
            Measure('latency', 'ms', '{:.2f}'), Measure('core', '% of a core', '{:.1f}'))


def status(directory):
    """What disklab reports; its exit status does not matter, because health is in it."""
    return json.loads(loop.command(device.DISKLAB, 'status', '--json', '--dir', directory,
                                   check=False))


@contextlib.contextmanager
def array(bench, part):
    """An array that is gone at the end whatever the end is.

    It is beside the place, which belongs to the servers' user and only keeps other runs away.
    """
    model, disks, checks = LABS[part.name]
    lab = device.Array(part.name, os.path.join(bench.root, 'disks-lab'))
    with bench.place('disks'):
        lab.lab('down', '--force')      # what a killed run left
        try:
            lab.lab('up', '--model', model, '--raid', '0' if disks > 1 else 'single',
                    '--disks', str(disks), '--size', str(disks * DISK_BYTES))
            devices = status(lab.state)['loops']
            yield lambda name, number: run_fio(checks[name], devices, lab)
        finally:
            with host.uninterrupted():
                lab.lab('down', '--force')


def run_fio(check, devices, lab):
    """Figures of one run, and the health of the model during it."""
    kind, block, depth, _ = check
    lab.lab('run')
    output = loop.command(      # --thread: no process is left when it is killed
        'fio', '--name=validate', '--thread', '--readonly', '--direct=1', '--ioengine=libaio',
        '--filename=' + ':'.join(devices), f'--filesize={DISK_BYTES * 2 // 3}',
        '--file_service_type=random', '--norandommap', '--time_based', f'--runtime={SECONDS}',
        f'--rw={kind}', f'--bs={block}', f'--iodepth={depth}', '--output-format=json')
    read = json.loads(output)['jobs'][0]['read']
    health = status(lab.state)['health']
    return {'iops': read['iops'], 'mb': read['bw_bytes'] / 1e6,
            'latency': read['clat_ns']['mean'] / 1e6,
            'core': 100 * health['cpu_seconds'] / (read['runtime'] / 1e3), 'disk_model': health}


def verdicts(runs):
    """[(case, configuration, figure, median, least, most)] of all targets."""
    return [(case, name, key, row[key], *limits)
            for case, rows in report.medians(runs, MEASURES).items()
            for name, row in rows.items() for key, limits in LABS[case][2][name][3].items()]


def summary(runs):
    rows = [['target', 'least', 'most', 'measured', 'verdict']]
    headings = {each.key: each.heading for each in MEASURES}
    for case, name, key, value, least, most in verdicts(runs):
        rows.append([f'{case}, {name}: {headings[key]}', least,
                     '–' if most == NO_LIMIT else most, f'{value:.4g}',
                     'ok' if least <= value <= most else 'MISSED'])
    return report.table(rows)


def failed(runs):
    """Did the model miss a target, or was it not healthy?"""
    return any(not least <= value <= most for _, _, _, value, least, most in verdicts(runs)) or \
        not all(run['disk_model']['healthy'] for run in runs)


def parts(size):
    return tuple(Part(name, f'{disks} × {model}', tuple(checks), array)
                 for name, (model, disks, checks) in LABS.items())


SCENARIO = Scenario('disks', 'the disk model against its targets, by fio', parts, MEASURES,
                    summary=summary, failed=failed, builds=(), numbers=False, rounds=1,
                    space=8 << 30)

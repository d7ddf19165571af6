"""S2: prefetch off, stock's default, stock at its best, redoahead, and stock with follow.

The measurement of 2008 (DBT-2, 20 GB, RAID0 of 8 disks, 2 GB of memory) on today's
PostgreSQL, with and without full-page images, in three cases:

    2008       shared_buffers 32 MB, and a memory cgroup that holds a tenth of the
               database, for server and daemon together
    modern     the same WAL with shared_buffers 2 GB and all the memory there is
    spindles   16000 transactions of pgbench -N over scale 300, shared_buffers 4 GB

A third kind of WAL, lesslog, has been archived without its full-page images.

The first two replay a load like DBT-2's with think time (dbt2.py), beginning before three of
its checkpoints, as after restoring a base backup.
"""
import dataclasses

from .. import dbt2, recoveries, workload
from ..config import STOCK_COLD
from ..scenario import Measure, Scenario, scale_of

CONFIGS = recoveries.named(*STOCK_COLD, 'redoahead', 'follow', 'before')


def scaled(size):
    """Sizes of the data and of the loads: `small`, `full`, or a factor for full's loads."""
    factor = scale_of(size)
    if factor is None:
        return {'warehouses': 2, 'orders': 400, 'clients': 10, 'think_ms': 100,
                'limit': 128 << 20, 'scale': 20, 'updates': 800, 'buffers': '512MB'}
    return {'warehouses': 40, 'orders': int(2400 * factor), 'clients': 20, 'think_ms': 1600,
            'limit': 400 << 20, 'scale': 300, 'updates': int(16000 * factor), 'buffers': '4GB'}


def with_images(load, images):
    """A load with full_page_writes on or off, or on and archived by `redoahead lesslog`."""
    if images != 'lesslog':
        return dataclasses.replace(load, settings={**load.settings, 'full_page_writes': images})
    return dataclasses.replace(
        load, settings={**load.settings, 'full_page_writes': 'on'}, build='patched',
        making={'wal_keep_block_data': 'on'}, without_images=True)


def spindles(size, images):
    of = scaled(size)
    return with_images(workload.Workload(
        f'spindles-{images}', f'pgbench -N, scale {of["scale"]}, {of["updates"]} transactions '
        'without think time', of['scale'], of['updates'], {'shared_buffers': of['buffers']},
        workload.prepare_pgbench, workload.load_simple_update), images)


def parts(size):
    of = scaled(size)
    found = []
    for images in ('off', 'on', 'lesslog'):
        orders = with_images(dbt2.make_workload(
            f'dbt2-{images}', of['warehouses'], of['orders'], of['clients'], of['think_ms'],
            {'shared_buffers': '2GB'}), images)
        more = {'configs': CONFIGS, 'image_size': f's2-{size}'}
        found += [
            recoveries.part(f'2008/{images}', f'{orders.about}; shared_buffers 32 MB, '
                            f'{of["limit"] >> 20} MB of memory for server and daemon', orders,
                            settings={'shared_buffers': '32MB'}, memory_limit=of['limit'],
                            **more),
            recoveries.part(f'modern/{images}', f'{orders.about}; shared_buffers 2 GB, no memory '
                            'limit', orders, **more),
            recoveries.part(f'spindles/{images}', f'{spindles(size, images).about}; '
                            f'shared_buffers {of["buffers"]}', spindles(size, images), **more)]
    return tuple(sorted(found, key=lambda part: part.name))


# 2008: DBT-2 over 20 GB for an hour, RAID0 of 8 disks, 2 GB of memory, PostgreSQL 8.4.
IN_2008 = tuple((f'2008/{images}', f'{prefetch} (2008)', {
    'redo_seconds': seconds, 'device_read_bytes': megabytes, 'replay_tx_per_minute': rate})
    for images, prefetch, seconds, megabytes, rate in (
        ('off', 'no prefetch', 6611, 5435, 402), ('off', 'prefetch', 1161, 5543, 2290),
        ('on', 'no prefetch', 1683, 801, 1458), ('on', 'prefetch', 1415, 2157, 1733),
        ('lesslog', 'no prefetch', 6644, 5090, 369), ('lesslog', 'prefetch', 1196, 5369, 2051)))

SCENARIO = Scenario(
    's2', 'prefetching during recovery, as measured in 2008', parts,
    recoveries.MEASURES + recoveries.OF_DEVICE + (
        Measure('replay_tx_per_minute', 'TX/min', '{:.0f}'),
        Measure('replay_to_primary', "of the primary's rate", '{:.2f}')),
    recoveries.COMPARED + recoveries.COMPARED_FOLLOW, ('redo_seconds',), IN_2008, (
        'The name of a case ends with full_page_writes, or with lesslog: on, and full-page images '
        'have been removed from WAL. Recovery is the time of redo; device '
        'reads are those from the start of the server to the end of redo. In the case spindles '
        'sessions do not think, so that the primary\'s rate only shows how fast this machine '
        'wrote the WAL, without fsync.',),
    daemon=True, arrays=True, space=12 << 30)

"""S4: defragmenting pages, as measured in 2020 for PostgreSQL 14.

Ten million rows of two integers, twelve million updates of single rows all over them: crash
recovery of that load with all in memory, and VACUUM of the table as the load left it.
Servers take turns: stock, the patched one alone and with extension and daemon, and stock
that defragments pages as PostgreSQL 13 did (scripts/build-postgresql pg13-compactify).
"""
import contextlib

from .. import config, recoveries, vacuum, workload
from ..scenario import Measure, Part, Scenario, scale_of

CONFIGS = (
    config.Config('pg13', 'PostgreSQL 13\'s way', 'pg13-compactify', config.STOCK_DEFAULT,
                  warm=True),
    config.Config('stock', 'stock', 'stock', config.STOCK_DEFAULT, warm=True),
    config.Config('patched', 'patched', 'patched', config.STOCK_DEFAULT, warm=True),
    config.Config('redoahead', 'patched, extension, daemon', 'patched', config.EXTENSION,
                  daemon=True, warm=True),
    config.Config('before', 'redoahead of --before', 'before', config.EXTENSION, daemon=True,
                  warm=True),
)
SERVERS = {each.name: each.build for each in CONFIGS if not each.daemon}
TAKES = 5                       # VACUUMs of each server in a round


def load_of(size):
    """The load, whose image S5 uses, too."""
    factor = scale_of(size)
    thousands = 50 if factor is None else max(50, round(10000 * factor))
    return workload.narrow('narrow', thousands, {
        'shared_buffers': '512MB' if size == 'small' else '4GB', 'full_page_writes': 'off'},
        from_base=True, keep_end=True)


@contextlib.contextmanager
def vacuums(bench, part):
    with bench.place('s4') as place:
        yield lambda name, number: vacuum.run_once(
            bench.builds[SERVERS[name]], bench.images[part.name], {}, place)


def parts(size):
    load = load_of(size)
    return (recoveries.part('redo', load.about, load, CONFIGS),
            Part('vacuum', 'VACUUM of the table as the load left it, by one backend',
                 tuple(SERVERS), vacuums, load, takes=TAKES,
                 facts={'settings': vacuum.SETTINGS}))


SCENARIO = Scenario(
    's4', 'defragmenting pages, as measured in 2020', parts,
    recoveries.MEASURES + (
        Measure('replay_tx_per_minute', 'updates/min', '{:.0f}'),
        Measure('vacuum_seconds', 'VACUUM s', '{:.3f}'),
        Measure('vacuum_cpu_seconds', 'its CPU s', '{:.3f}')),
    (('stock', 'patched'), ('stock', 'redoahead'), ('pg13', 'stock'), ('pg13', 'patched'),
     ('pg13', 'redoahead'), ('before', 'redoahead')),
    ('redo_seconds', 'startup_cpu_seconds', 'vacuum_seconds', 'vacuum_cpu_seconds'),
    tuple((case, f'{server} (2020)', {key: value}) for server, redo, vacuumed in (
        ('PostgreSQL 13', 148, 4.1), ('PostgreSQL 14', 60.8, 2.9))
        for case, key, value in (('redo', 'redo_seconds', redo),
                                 ('vacuum', 'vacuum_seconds', vacuumed))),
    ('Recovery is the time of redo from a warm page cache, into shared buffers that hold '
     'everything; VACUUM is by one backend, after the load and a restart, with the table and its '
     'index in shared buffers. PostgreSQL 13\'s way is stock 18 that sorts the tuples of a page '
     'again. The rows of 2020 are from another machine, at full size.',),
    builds=('stock', 'patched', 'pg13-compactify'), daemon=True, space=12 << 30)

"""What a table takes on a file system that compresses: btrfs on a loop device.

A table is filled, and its rows are updated many times over while an old
transaction keeps every version, as happens under a long report.  Then that ends,
and VACUUM removes the dead rows: most of each page.  compsize prints how many
bytes of the disk the files of the table take after that.
"""
import os
import re
import shutil

from . import host, loop, postgres

FEATURES = '/sys/fs/btrfs/features'     # what the kernel's btrfs can do
METHODS = ('zstd', 'lzo')       # of btrfs: slow and fast
PASSES = 12                     # updates of half of the rows each, in random order
ROW_BYTES = 120                 # about, with header and line pointer
SMALLEST = 256 << 20            # bytes of a file system

SETTINGS = {'shared_buffers': '512MB', 'max_prepared_transactions': '2', 'autovacuum': 'off',
            'fsync': 'off', 'full_page_writes': 'off', 'max_wal_size': '1GB',
            'checkpoint_timeout': '1d'}
# Each row has its own text, and a new one with each update.
LABEL = "md5({0}::text) || md5({0}::text || 'b')"


def missing(method):
    """Why the kernel or the machine cannot do that, in words; None if it can."""
    if os.geteuid() != 0:
        return 'must be root to mount a file system'
    if shutil.which('compsize') is None:
        return 'compsize is not installed (Debian: btrfs-compsize; scripts/bootstrap installs it)'
    if shutil.which('mkfs.btrfs') is None:
        return 'mkfs.btrfs is not installed (Debian: btrfs-progs)'
    if not os.path.isdir(FEATURES):
        try:
            loop.command('modprobe', 'btrfs')
        except (host.HostError, OSError) as error:
            return f'the kernel has no btrfs: {error}'
    if not os.path.exists(f'{FEATURES}/compress_{method}'):
        return f'the btrfs of this kernel does not compress with {method}'
    return None


def table_bytes(rows):
    """About how large the table is at the end."""
    return rows * ROW_BYTES * (1 + PASSES // 2)


def filesystem(place, method, rows):
    """A file system for the table, empty, as loop.filesystem makes it."""
    return loop.filesystem(place, SMALLEST + 2 * table_bytes(rows), ('mkfs.btrfs', '-q', '-K'),
                           f'noatime,compress-force={method}')


def stress(server, rows):
    """Fill the table and update it, then VACUUM."""
    server.sql('CREATE TABLE stress (id int, touched int, label text) TABLESPACE compressed')
    server.sql(f'INSERT INTO stress SELECT i, 0, {LABEL.format("i")} '
               f'FROM generate_series(1, {rows}) i')
    # Versions that an older transaction could see stay.
    server.sql("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'old'")
    for number in range(1, PASSES + 1):
        server.sql(f'UPDATE stress SET touched = touched + 1, label = '
                   f'{LABEL.format(f"(id + {number} * {rows})")} '
                   f'WHERE hashint4extended(id, {number}) % 2 = 0')
    server.sql("COMMIT PREPARED 'old'")
    server.sql('VACUUM stress')
    server.sql('CHECKPOINT')


def disk_bytes(paths):
    """What compsize prints of files: bytes on disk, and bytes in them."""
    text = loop.command('compsize', '-b', *paths)
    match = re.search(r'^TOTAL\s+\d+%\s+(\d+)\s+(\d+)', text, re.MULTILINE)
    if not match:
        raise host.HostError(f'compsize printed no total:\n{text}')
    return {'disk_bytes': int(match[1]), 'extent_bytes': int(match[2])}


def segments(directory, relation):
    """The files of the main fork of a relation, given by the path of the first."""
    first = os.path.realpath(os.path.join(directory, relation))
    where, name = os.path.split(first)
    return [os.path.join(where, each) for each in sorted(os.listdir(where))
            if each == name or re.fullmatch(re.escape(name) + r'\.\d+', each)]


def run_once(build, clear, method, rows, place):
    """The table on a new file system, with clear_page_space on or off."""
    directory = os.path.join(place, 'data')
    postgres.remove_tree(directory)
    postgres.initialize(build, directory)
    with filesystem(place, method, rows) as point, \
            postgres.serving(build, directory, {**SETTINGS, 'clear_page_space': clear},
                             place) as server:
        space = os.path.join(point, 'space')
        postgres.make_directory(space)
        server.sql(f"CREATE TABLESPACE compressed LOCATION '{space}'")
        stress(server, rows)
        loop.command('btrfs', 'filesystem', 'sync', point)
        paths = segments(directory, server.sql("SELECT pg_relation_filepath('stress')")[0][0])
        found = {'table_bytes': sum(map(os.path.getsize, paths)), **disk_bytes(paths)}
        server.sql('CREATE EXTENSION pgstattuple')
        live, free = server.sql("SELECT tuple_len, free_space FROM pgstattuple('stress')")[0]
        server.stop('immediate')
    postgres.remove_tree(directory)
    return {**found, 'live_bytes': int(live), 'free_bytes': int(free)}

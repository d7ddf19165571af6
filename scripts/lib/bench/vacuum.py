"""VACUUM of a table by one backend, all of it in shared buffers.

The table is that of S4 as its load left it, shut down cleanly.  Each VACUUM is of
a fresh copy of that, by a server that was just started and has loaded the table
and its index without reading a row: whoever does, prunes.
"""
import os
import re

from . import postgres, recovery

TABLE = 'narrow'
CATALOGS = 16                   # blocks of catalogs that VACUUM may have to read

# Nothing of VACUUM waits for a disk: not for fsync, nor for room for its WAL.
SETTINGS = {**recovery.RECOVERING, 'fsync': 'off', 'wal_init_zero': 'off', 'vacuum_buffer_usage_limit': '0'}

# What the backend has used so far: CPU time in ns, and the time in s.
USED = ("SELECT 'used', split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), "
        "' ', 1), extract(epoch FROM clock_timestamp())")
# In what VACUUM VERBOSE prints of the table; until PostgreSQL 17, reads were misses.
FIGURES = {
    'pages': re.compile(r'^pages: .* (\d+) scanned \(', re.MULTILINE),
    'tuples_removed': re.compile(r'^tuples: (\d+) removed', re.MULTILINE),
    'buffers_read': re.compile(r'^buffer usage: \d+ hits, (\d+) (?:reads|misses)', re.MULTILINE),
    'wal_bytes': re.compile(r'^WAL usage: .* (\d+) bytes', re.MULTILINE),
}


def figures(text):
    """What psql printed of one VACUUM between two readings of what was used."""
    before, after = (line.split('\t') for line in text.splitlines() if line.startswith('used\t'))
    found = {'vacuum_seconds': round(float(after[2]) - float(before[2]), 4),
             'vacuum_cpu_seconds': round((int(after[1]) - int(before[1])) / 1e9, 4)}
    for name, pattern in FIGURES.items():
        match = pattern.search(text)
        if not match:
            raise postgres.PostgresError(f'VACUUM VERBOSE printed no {name}:\n{text[-2000:]}')
        found[name] = int(match[1])
    if found['buffers_read'] > CATALOGS:
        raise recovery.RunRejected(f'VACUUM read {found["buffers_read"]} blocks, which were to be '
                                   'in shared buffers; shared_buffers is too small')
    return found


def run_once(build, image, settings, place):
    """VACUUM a copy of what an image's load left; returns what it took."""
    directory = os.path.join(place, 'data')
    postgres.copy_cluster(image.end, directory)
    settings = {**SETTINGS, **image.workload.settings, **settings}
    with postgres.serving(build, directory, settings, place) as server:
        server.prewarm(TABLE)
        text = server.session([USED, f'VACUUM (VERBOSE, PARALLEL 0) {TABLE}', USED])
        server.stop('immediate')
    postgres.remove_tree(directory)
    return figures(text)

"""The end of a soak: everything is replayed, nothing is damaged, all data is the primary's.

The standbys' files are compared with each other, to the byte but for the holes of pages:
one was replayed by the patched server beside `serve`, one by stock beside `follow`, and no
query has touched either.  The visibility map is left out, as in rounds.checks: redo that
begins anew does not set again what it had set.  With the primary's the files cannot be
compared: it sets hint bits, which WAL does not have.  So each server dumps all its data,
in the order in which it is stored, and checksums of the dumps are compared.
"""
import hashlib
import re
import subprocess
import time

from bench import compare, postgres
from rounds import stage

REPLAY_SECONDS = 600            # until a standby must have replayed all
IGNORED = re.compile(rb'\\(un)?restrict ')      # lines of dumps with random keys


def settle(soak):
    """Stop all that writes WAL by itself; returns the LSN up to which standbys must replay."""
    server = soak.primary.server
    server.session(["alter system set autovacuum = off", 'select pg_reload_conf()'])
    stage.wait_until('the end of autovacuum', lambda: server.sql(
        "select count(*) from pg_stat_activity where backend_type = 'autovacuum worker'") == [['0']], REPLAY_SECONDS)
    server.session(['checkpoint'])
    return server.sql("select pg_logical_emit_message(false, '', '', flush => true)")[0][0]


def wait_replayed(soak, lsn):
    """Wait until standbys have replayed up to an LSN; returns the seconds that it took."""
    begun = time.monotonic()
    query = f"select application_name from pg_stat_replication where replay_lsn >= '{lsn}' order by 1"
    names = sorted([node.name] for node in soak.standbys.values())

    def replayed():
        soak.tend()
        return soak.primary.server.sql(query) == names
    stage.wait_until('replay of all WAL', replayed, REPLAY_SECONDS)
    return time.monotonic() - begun


def dump_checksum(build, node):
    """Checksum of all data of a running server."""
    command = [build.program('pg_dumpall'), '-h', node.data, '--no-sync']
    digest, size = hashlib.sha256(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, **postgres.as_owner()) as child:
        for line in child.stdout:
            if not IGNORED.match(line):
                digest.update(line)
                size += len(line)
    if child.returncode != 0:
        raise postgres.PostgresError(f'pg_dumpall of {node.name} failed')
    return digest.hexdigest(), size


def amcheck(build, node):
    """What pg_amcheck finds wrong; indexes are compared with their tables, too."""
    try:
        postgres.run([build.program('pg_amcheck'), '-h', node.data, '--heapallindexed', '--all'])
    except postgres.PostgresError as error:
        return [f'{node.name}: {error}']
    return []


def checksums(build, node):
    """What pg_checksums finds wrong in a server that has been stopped."""
    try:
        text = postgres.run([build.program('pg_checksums'), '--check', '-D', node.data])
    except postgres.PostgresError as error:
        return [f'{node.name}: {error}']
    return [] if re.search(r'Bad checksums: +0\n', text) else [f'{node.name}: {text}']


def compare_standbys(soak):
    """What differs between the files of the standbys."""
    first, second = (node.data for node in soak.standbys.values())
    result = compare.compare_clusters(first, second)
    differences = [line for line in result.differences if not re.match(r'\S+_vm(\.\d+)?: ', line)]
    return {'files': result.files, 'blocks': result.blocks, 'blocks_differ_in_hole': result.holes,
            'differences': differences[:20]}


def verify(soak, lsn):
    """All of it, with servers that have been stopped; returns (figures, what is wrong)."""
    build = soak.primary.build
    compared = compare_standbys(soak)
    wrong = [f'standbys differ: {line}' for line in compared['differences']]
    dumps, nodes = {}, [soak.primary, *soak.standbys.values()]
    for node in nodes:
        node.start()
        if node is soak.primary:
            stage.wait_until('the primary', node.accepts)
        else:
            stage.wait_until(f'{node.name}', lambda: 'ready to accept read-only' in node.server.text())
            stage.wait_until(f'replay of {node.name}', lambda: node.server.sql(
                f"select pg_last_wal_replay_lsn() >= '{lsn}'") == [['t']], REPLAY_SECONDS)
        dumps[node.name] = dump_checksum(build, node)
        wrong += amcheck(build, node)
        node.stop()
        wrong += checksums(build, node)
    identical = len(set(dumps.values())) == 1 and not compared['differences']
    if len(set(dumps.values())) != 1:
        wrong.append(f'dumps differ: {dumps}')
    return {'identical': identical, 'dumped_bytes': dumps['primary'][1], 'compared': compared}, wrong

"""What is recovered: small clusters and their WAL, made once for all rounds.

A workload is a base, a cluster that was shut down, and the WAL that a server
wrote from there until it was killed.  Each kind of recovery starts from the base:

    crash      all WAL lies in pg_wal, and pg_control is that of a running server:
               a machine that lost power before anything but WAL was written
    archive    restore_command copies the WAL, until there is no more
    streaming  a standby gets it from a primary, up to its end

So no file holds anything of later WAL, and all redo has to read is there to be
read.  In each, the table "victim" is changed all the time and dropped at the end:
what happens to its files in a crash recovery leaves no trace.
"""
import os
from dataclasses import dataclass

from bench import postgres

KINDS = ('crash', 'archive', 'streaming')
NAMES = ('update', 'insert', 'ddl')
EVICTED_BYTES = 64 * 1024       # smaller files stay in the page cache

SETTINGS = {
    'listen_addresses': '', 'autovacuum': 'off', 'fsync': 'off', 'full_page_writes': 'off',
    'shared_buffers': '4MB', 'max_wal_size': '20GB', 'wal_keep_size': '20GB',
    'checkpoint_timeout': '1d', 'max_logical_replication_workers': '0',
    'max_prepared_transactions': '10', 'allow_in_place_tablespaces': 'on',
    'hot_standby': 'off', 'wal_retrieve_retry_interval': '100ms', 'log_line_prefix': '%p ',
}
FAST = {'shared_buffers': '256MB', 'synchronous_commit': 'off'}

# Of parallel_schedule: what creates, changes, truncates, rewrites and drops relations.
REGRESS = ('test_setup copy insert_conflict create_index create_view inherit vacuum update prepared_xacts '
           'brin matview misc create_table_like cluster foreign_key tablespace temp truncate alter_table '
           'sequence largeobject with reloptions hash_part indexing compression').split()

VICTIM = """create table victim (id int primary key, filler text) with (fillfactor = 50);
insert into victim select i, repeat('v', 200) from generate_series(1, 4000) i;"""
CHANGE_VICTIM = ("update victim set filler = repeat('{0}', 200) where id % 8 = {0}; "
                 'delete from victim where id % 97 = {0}; '
                 'insert into victim select i, \'\' from generate_series({0}0001, {0}0600) i')

INDEXED = """create table indexed (id int, h int, j jsonb, t text);
insert into indexed select i, i % 999, jsonb_build_array(i % 500, i % 7), md5(i::text)
    from generate_series(1, 20000) i;
create index on indexed (t); create index on indexed (h, id); create index on indexed using hash (h);
create index on indexed using gin (j);"""
INSERTS = ("insert into indexed select i, i % 999, jsonb_build_array(i % 500, i % 7), md5(i::text) "
           'from generate_series({0}00001, {0}07000) i')


@dataclass(frozen=True)
class Workload:
    """A base and its WAL, in one directory."""
    name: str
    home: str                   # has base/, archive/ (WAL), pg_control (of a running server)
    victim: str                 # file of table "victim", relative to a data directory
    end: str                    # LSN up to which a standby replays

    def path(self, name):
        return os.path.join(self.home, name)

    def segments(self):
        return sorted(os.listdir(self.path('archive')))


def add_settings(directory, settings):
    """Add settings to a cluster; the last one of a name counts."""
    postgres.append(os.path.join(directory, 'postgresql.auto.conf'),
                    ''.join(f"{name} = '{value}'\n" for name, value in settings.items()))


def copy_tree(source, target):
    postgres.run(['cp', '-a', '--reflink=auto', '-T', source, target])


def server(build, directory, log, settings=None):
    """A server that does its work undisturbed, for a `with` block."""
    return postgres.Server(build, directory, settings or {}, directory, log)


# ---------- making them ----------

def make_update(running):
    """Random updates of a pgbench database."""
    running.session([CHANGE_VICTIM.format(1)])
    for seed in range(2, 6):
        postgres.run([running.build.program('pgbench'), '-n', '-N', '-c', '2', '-t', '2500', '-M', 'prepared',
                      f'--random-seed={seed}', '-h', running.socket_directory, 'postgres'])
        running.session([CHANGE_VICTIM.format(seed), 'vacuum pgbench_accounts'])


def make_insert(running):
    """Rows at random places of many indexes."""
    for number in range(1, 6):
        running.session([CHANGE_VICTIM.format(number), INSERTS.format(number),
                         f'delete from indexed where id % 50 = {number}'])
    running.session(['vacuum indexed'])


def make_ddl(running):
    """Some of PostgreSQL's regression tests; that they pass is not what is tested."""
    tree = os.path.dirname(running.build.prefix)
    source, library = (os.path.join(tree, each, 'src/test/regress') for each in ('src', 'build'))
    running.session(['create database regression'])
    for number, test in enumerate(REGRESS):
        if number % 6 == 0:
            running.session([CHANGE_VICTIM.format(1 + number // 6)])
        postgres.run(['env', f'PG_ABS_SRCDIR={source}', f'PG_LIBDIR={library}', 'PG_DLSUFFIX=.so',
                      f'PG_ABS_BUILDDIR={os.path.dirname(running.log)}', running.build.program('psql'), '-Xq',
                      '-h', running.socket_directory, '-d', 'regression', '-o', '/dev/null',
                      '-f', os.path.join(source, 'sql', f'{test}.sql')])
    for strategy in ('wal_log', 'file_copy'):
        running.session([f'create database copied template template0 strategy {strategy}'])
        running.session(['drop database copied'])


def prepare(running, name):
    running.session([VICTIM])
    if name == 'update':
        postgres.run([running.build.program('pgbench'), '-i', '-q', '-h', running.socket_directory, 'postgres'])
    elif name == 'insert':
        running.session([INDEXED])
    return running.sql("select pg_relation_filepath('victim')")[0][0]


def make(name, home, build):
    """Make a workload in a new directory."""
    postgres.make_directory(home)
    base, crashed, log = (os.path.join(home, each) for each in ('base', 'crashed', 'log'))
    postgres.run([build.program('initdb'), '-D', base, '-U', 'postgres', '-A', 'trust', '--no-sync',
                  '--data-checksums', '--no-locale', '-E', 'UTF8', '--wal-segsize=1'])
    add_settings(base, SETTINGS)
    with server(build, base, log, FAST) as running:
        running.wait_ready()
        victim = prepare(running, name)
        running.stop('fast')
    copy_tree(base, crashed)
    with server(build, crashed, log, FAST) as running:
        running.wait_ready()
        postgres.run(['cp', '--', os.path.join(crashed, 'global/pg_control'),
                      os.path.join(home, 'pg_control')])
        {'update': make_update, 'insert': make_insert, 'ddl': make_ddl}[name](running)
        running.session(['drop table victim'])
        end = running.sql("select pg_logical_emit_message(false, '', '', flush => true)")[0][0]
        running.stop('immediate')
    keep_wal(home, postgres.control_data(build, base)["Latest checkpoint's REDO WAL file"],
             segment_of(end))
    return Workload(name, home, victim, end)


def segment_of(lsn):
    """The file of timeline 1 with the byte before an LSN, in segments of 1 MB."""
    number = (postgres.parse_lsn(lsn) - 1) >> 20
    return f'00000001{number >> 12:08X}{number & 0xFFF:08X}'


def keep_wal(home, first, last):
    """Move the segments that are recovered to the archive; remove what was crashed, and older WAL."""
    postgres.make_directory(os.path.join(home, 'archive'))
    for directory in ('base', 'crashed'):
        wal = os.path.join(home, directory, 'pg_wal')
        for segment in os.listdir(wal):
            path = os.path.join(wal, segment)
            if directory == 'crashed' and first <= segment <= last:
                os.rename(path, os.path.join(home, 'archive', segment))
            elif os.path.isfile(path) and segment < first:
                os.unlink(path)
    postgres.remove_tree(os.path.join(home, 'crashed'))


# ---------- starting points ----------

def lay_out(workload, kind, target, pace=0, primary=None):
    """Make a data directory to be recovered, cold.  A primary is a socket directory."""
    copy_tree(workload.path('base'), target)
    settings = {}
    if kind == 'crash':
        postgres.run(['cp', '--', workload.path('pg_control'),
                      os.path.join(target, 'global/pg_control')])
        postgres.run(['cp', '-a', '--reflink=auto', '-t', os.path.join(target, 'pg_wal'),
                      *(workload.path(f'archive/{segment}') for segment in workload.segments())])
    elif kind == 'archive':
        wait = f'sleep {pace}; ' if pace else ''
        settings['restore_command'] = f'{wait}cp "{workload.path("archive")}/%f" "%p"'
        postgres.run(['touch', os.path.join(target, 'recovery.signal')])
    else:
        settings |= {'primary_conninfo': f'host={primary} user=postgres',
                     'recovery_target_lsn': workload.end, 'recovery_target_action': 'promote'}
        postgres.run(['touch', os.path.join(target, 'standby.signal')])
    add_settings(target, settings)
    evict(target)


def evict(directory, written=True):
    """Evict a cluster's larger files from the page cache, after they were written or as they are.

    Not its WAL: where that cannot be read, crash recovery ends, and logs that there is no more.
    """
    for where, below, names in os.walk(directory):
        if 'pg_wal' in below:
            below.remove('pg_wal')
        for path in (os.path.join(where, name) for name in names):
            try:
                if os.path.isfile(path) and os.path.getsize(path) >= EVICTED_BYTES:
                    with open(path, 'rb', buffering=0) as file:
                        if written:
                            os.fdatasync(file.fileno())
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            except FileNotFoundError:   # redo works on them
                pass

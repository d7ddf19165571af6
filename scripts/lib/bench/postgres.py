"""Installed PostgreSQL servers, running ones, and the user that runs them.

PostgreSQL refuses to run as root; started by root, everything here runs as
user postgres.  What that user has is changed as that user, too, and never as root:
he can put links in its place.
"""
import contextlib
import fcntl
import hashlib
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

from . import host

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '../../..'))
MAJOR = os.environ.get('PG') or '18'    # release of the servers; pg_major in lib/common.sh
PATIENCE = 1800                 # seconds until a server counts as stuck
POLL = 0.05                     # seconds between two checks of a log
SEALED = 0o400                  # mode of a WAL segment that is never written again
LOG_LINE = re.compile(r'\[(\d+)\] (\w+):  (.*)')


class PostgresError(Exception):
    """A server did not do what it should; the message names which and what."""


# ---------- the user ----------

def owner():
    """The user that runs servers, as a passwd entry."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    try:
        return pwd.getpwnam('postgres')
    except KeyError:
        raise PostgresError('there is no user postgres, and PostgreSQL does not run as root; '
                            'run scripts/bootstrap, or run this as another user') from None


def as_self():
    """Arguments for subprocess: run as this user, away from our terminal."""
    return {'cwd': '/', 'start_new_session': True, 'stdin': subprocess.DEVNULL}


def as_owner():
    """The same, but as the owner of servers and in a plain environment."""
    user = owner()
    arguments = {
        **as_self(),
        'env': {'PATH': os.environ.get('PATH', '/usr/bin:/bin'), 'LC_ALL': 'C',
                'HOME': user.pw_dir, 'PGUSER': 'postgres', 'PGDATABASE': 'postgres'},
    }
    if os.geteuid() == 0:
        arguments.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    return arguments


def become(how, arguments):
    """Take the user out of arguments for subprocess; returns a command that becomes that user."""
    if 'user' not in how:
        return arguments
    del how['extra_groups']
    return ['setpriv', f'--reuid={how.pop("user")}', f'--regid={how.pop("group")}',
            '--clear-groups', '--', *arguments]


def make_directory(path):
    """Make a directory as that user, below one that belongs to him."""
    run(['mkdir', '-p', '--', path])


def make_place(path):
    """Make a directory that belongs to that user, in one that nobody else can change."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o755)
    if os.geteuid() == 0:
        user = owner()
        directory = os.open(path, os.O_DIRECTORY | os.O_NOFOLLOW)
        os.fchown(directory, user.pw_uid, user.pw_gid)
        os.close(directory)
    # As keep_subdirectories_apart() of common.sh, which says why.
    with contextlib.suppress(FileNotFoundError):
        subprocess.run(['chattr', '+T', path], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def append(path, text):
    """Append text to a file as that user."""
    done = subprocess.run(['tee', '-a', '--', path], input=text, text=True, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          **{**as_owner(), 'stdin': None})
    if done.returncode != 0:
        raise PostgresError(f'cannot append to {path}: {done.stderr}')


def move(source, target):
    """Rename as that user."""
    run(['mv', '-T', '--', source, target])


def install_program(path, source):
    """Copy a program to where servers' user can run it, who may not be able to enter the checkout."""
    with open(source, 'rb') as file:
        install(path, file.read())


def install(path, data):
    """Make a program."""
    with host.create(path, 'wb') as file:
        os.fchmod(file.fileno(), 0o755)
        file.write(data)


# ---------- installed servers ----------

@dataclass(frozen=True)
class Build:
    """An installed PostgreSQL."""
    name: str                   # stock, patched, or another of scripts/build-postgresql
    prefix: str                 # where it is installed
    version: str                # as the server reports it, such as 18.6
    daemon: str = None          # path of the redoahead program that goes with it

    def program(self, name):
        return os.path.join(self.prefix, 'bin', name)


def find_build(name, checkout=ROOT):
    """A build of a checkout's scripts/build-postgresql; STOCK=, PATCHED= and so on name others.

    That script does not remove it as long as this process runs.
    """
    variable = name.upper().replace('-', '_')
    given = os.environ.get(variable) if checkout == ROOT else None
    prefix = os.path.realpath(given or os.path.join(checkout, 'build/pg', MAJOR, name))
    remedy = (f'{variable}={given} names no installation of PostgreSQL' if given else
              f'run scripts/build-postgresql {name} in {checkout}' +
              (f', or name an installation with {variable}=' if checkout == ROOT else ''))
    hold(prefix)
    try:
        text = subprocess.run([os.path.join(prefix, 'bin/postgres'), '--version'], check=True,
                              stdout=subprocess.PIPE, text=True, **as_owner()).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise PostgresError(f'no usable {name} PostgreSQL in {prefix}: {error}; {remedy}') from None
    return Build(name, prefix, re.search(r'\(PostgreSQL\) (\S+)', text)[1])


def hold(prefix):
    """Lock a build and the trees that it was made in, until this process ends."""
    for place in prefix, os.path.dirname(prefix):
        with contextlib.suppress(OSError):      # only builds of that script have the file
            fcntl.flock(os.open(os.path.join(place, 'complete'), os.O_RDONLY), fcntl.LOCK_SH)


def run(arguments, **more):
    """Run a program as the owner; returns its output, raises with its errors."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **as_owner(), **more)
    if done.returncode != 0:
        raise PostgresError(f'{" ".join(arguments)} failed:\n{done.stdout[-2000:]}')
    return done.stdout


def compile_with(what, command, **more):
    """Run a compiler, or a script that does, as this user."""
    os.makedirs(os.path.join(ROOT, 'build'), exist_ok=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode != 0:
        raise PostgresError(f'cannot compile {what}; scripts/bootstrap installs what it needs:\n'
                            f'{done.stdout}')


def patched_source(build, file):
    """The source that a patched server was built from, which must have a file."""
    source = os.path.join(os.path.dirname(build.prefix), 'src')
    if not os.path.exists(os.path.join(source, file)):
        raise PostgresError(f'{source} is not the patched source of {build.prefix}; run '
                            'scripts/build-postgresql patched')
    return source


def include_directory(build):
    return run([build.program('pg_config'), '--includedir-server']).strip()


def checksums(builds):
    """Checksums of the programs; the extension is among them where there is a daemon."""
    paths = {name: build.program('postgres') for name, build in builds.items()}
    for name, build in builds.items():
        if build.daemon:
            libraries = run([build.program('pg_config'), '--pkglibdir']).strip()
            prefix = '' if name == 'patched' else f'{name}/'
            paths[f'{prefix}redoahead'] = build.daemon
            paths[f'{prefix}extension'] = os.path.join(libraries, 'redoahead.so')
    found = {}
    for name, path in paths.items():
        with open(path, 'rb') as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()[:16]
    return found


# ---------- processes ----------

class Process:
    """A child with its output in a log file."""

    started = []                # all of them, so that run_main can end what is left

    def __init__(self, arguments, log, as_user=as_owner, limit=None):
        self.log = log          # path of its log file
        self.offset = 0         # bytes of the log that were read
        how = as_user()
        if limit:
            arguments = limit.command(become(how, arguments))
        # A signal between fork and append would leave a child that nobody knows of.
        with host.create(log, 'wb') as output, host.deferred():
            self.child = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT,
                                          **how)
            self.pid = self.child.pid
            Process.started.append(self)

    def lines(self):
        """Complete lines that were added to the log since the last call."""
        with open(self.log, 'rb') as file:
            file.seek(self.offset)
            text = file.read()
        text = text[:text.rfind(b'\n') + 1]
        self.offset += len(text)
        return text.decode(errors='replace').splitlines()

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()

    def running(self):
        return self.child.poll() is None

    def end(self, *signals, patience=60):
        """Send signals in turn until it is gone; the last resort is SIGKILL."""
        for number in (*signals, signal.SIGKILL):
            if not self.running():
                break
            self.child.send_signal(number)
            try:
                self.child.wait(patience)
            except subprocess.TimeoutExpired:
                pass


class Server(Process):
    """A running server on a data directory; ends when the `with` block does."""

    def __init__(self, build, directory, settings, socket_directory, log, limit=None):
        self.build = build
        self.directory = directory
        self.socket_directory = socket_directory
        self.unread = []        # lines of the log that nobody has read yet
        settings = {'listen_addresses': '', 'unix_socket_directories': socket_directory,
                    'log_line_prefix': '%m [%p] ', **settings}
        options = [word for name, value in settings.items() for word in ('-c', f'{name}={value}')]
        super().__init__([build.program('postgres'), '-D', directory, *options], log,
                         limit=limit)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop('immediate')

    def stop(self, mode):
        if mode == 'fast':
            self.end(signal.SIGINT, signal.SIGQUIT, patience=PATIENCE)
        else:
            self.end(signal.SIGQUIT)

    def prewarm(self, name):
        """Read a table, or those whose names begin so, and its indexes into shared buffers."""
        self.sql('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
        self.sql("SELECT sum(pg_prewarm(relation, 'buffer', fork)) FROM (SELECT oid::regclass AS "
                 f"relation FROM pg_class WHERE relname ~ '^{name}(_|$)') relations, "
                 "unnest(ARRAY['main', 'fsm', 'vm']) fork "
                 'WHERE pg_relation_size(relation, fork) > 0')

    def messages(self):
        """New log lines as (pid, severity, text); raises if the server failed.

        Whoever stops in the middle finds the rest the next time.
        """
        alive = self.running()
        self.unread += self.lines()
        while self.unread:
            line = self.unread.pop(0)
            match = LOG_LINE.search(line)
            if not match:
                continue
            if match[2] in ('FATAL', 'PANIC'):
                raise PostgresError(f'{self.build.name} server: {line}; see {self.log}')
            yield int(match[1]), match[2], match[3]
        if not alive:
            raise PostgresError(f'the {self.build.name} server ended:\n{self.text()[-2000:]}')

    def wait_ready(self):
        """Wait until the server accepts connections."""
        end = time.monotonic() + PATIENCE
        while True:
            for _, _, text in self.messages():
                if text.startswith('database system is ready to accept connections'):
                    return
            if time.monotonic() > end:
                raise PostgresError(f'the {self.build.name} server is not ready after '
                                    f'{PATIENCE} s; see {self.log}')
            time.sleep(POLL)

    def session(self, statements, database='postgres'):
        """Run statements in one session; returns what psql prints, columns split by tabs."""
        return run([self.build.program('psql'), '-X', '-At', '-F', '\t', '-v', 'ON_ERROR_STOP=1',
                    '-h', self.socket_directory, '-d', database,
                    *(word for each in statements for word in ('-c', each))])

    def sql(self, query, database='postgres'):
        """Run SQL; returns the rows as lists of strings."""
        return [line.split('\t') for line in self.session([query], database).splitlines()]


@contextlib.contextmanager
def serving(build, directory, settings, place, log='server.log', limit=None):
    """A server that takes connections; its socket and its log are in a directory."""
    with Server(build, directory, settings, place, os.path.join(place, log), limit) as server:
        server.wait_ready()
        yield server


def control_data(build, directory):
    """What pg_controldata prints, as a dictionary."""
    text = run([build.program('pg_controldata'), directory])
    return {name.strip(): value.strip()
            for name, _, value in (line.partition(':') for line in text.splitlines())}


def initialize(build, directory):
    run([build.program('initdb'), '-D', directory, '-U', 'postgres', '-A', 'trust', '--no-sync',
         '--data-checksums', '--no-locale', '-E', 'UTF8'])


def copy_cluster(source, target, reflink='never'):
    """Copy a stopped data directory, replacing what is there.

    WAL segments that nobody may write are linked, not copied.  For others there
    are no shared extents, unless cp's reflink is `always`.  Either way all
    copies of a directory lie on the device alike, and none is in the page cache
    because another is.
    """
    remove_tree(target)
    run(['mkdir', '-m', '700', '--', target])
    wal = os.path.join(source, 'pg_wal')
    sealed = [name for name in os.listdir(wal)
              if os.stat(os.path.join(wal, name)).st_mode & 0o777 == SEALED]
    copied = [name for name in os.listdir(source) if name != 'pg_wal']
    copy = ['cp', '-a', f'--reflink={reflink}', '-t']
    run([*copy, target,
         *(os.path.join(source, name) for name in copied)])
    make_directory(os.path.join(target, 'pg_wal'))
    run([*copy, os.path.join(target, 'pg_wal'),
         *(os.path.join(wal, name) for name in os.listdir(wal) if name not in sealed)])
    if sealed:
        run(['ln', '-t', os.path.join(target, 'pg_wal'),
             *(os.path.join(wal, name) for name in sealed)])


def remove_tree(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        raise PostgresError(f'cannot remove {path}; is it of another user?')


def parse_lsn(text):
    """The number of an LSN such as 0/16B3748."""
    high, low = text.split('/')
    return (int(high, 16) << 32) + int(low, 16)

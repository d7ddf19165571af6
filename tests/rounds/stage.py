"""The stage of one round: a data directory, its server, its daemon, and what faults change.

Servers and daemons are started, and started again, here; faults.py decides which and
when, recovery.py runs a round to its end.
"""
import contextlib
import glob
import os
import re
import signal
import subprocess
import time

from bench import cgroup, host, postgres

from . import workload

SOCKET = 'pg_stat_tmp/redoahead.sock'
STATUS_SOCKET = 'pg_stat_tmp/redoahead-status.sock'
PATIENCE = 60                   # seconds until something counts as hanging
FILES_BYTES = 256 * 1024        # room on the file system for the daemon's own files
READY = 'database system is ready to accept connections'


def wait_until(what, condition, seconds=PATIENCE):
    """Wait for a condition; returns what it returned."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise postgres.PostgresError(f'waited {seconds} s in vain for {what}')
        time.sleep(0.005)
    return value


def processes_in(directory):
    """Processes that run in or from a directory, without zombies: pid -> command line."""
    found = {}
    for entry in glob.glob('/proc/[0-9]*'):
        with contextlib.suppress(OSError):
            with open(f'{entry}/cmdline', encoding='utf-8', errors='replace') as file:
                command = file.read().replace('\0', ' ')
            if command and (f'{directory}/' in command or
                            os.readlink(f'{entry}/cwd').startswith(f'{directory}/')):
                found[int(entry[6:])] = command
    return found


def descriptors(pid):
    """What a process has open, sorted; anonymous objects without their numbers."""
    found = []
    for path in glob.glob(f'/proc/{pid}/fd/*'):
        with contextlib.suppress(OSError):
            found.append(re.sub(r':\[\d+\]|(?<=log.daemon)\d+', '', os.readlink(path)))
    return sorted(found)


def idle_descriptors(pid):
    """The same of a daemon, or None while it writes a file."""
    found = descriptors(pid)
    return None if any(path.endswith('.tmp') for path in found) else found


def ring_mapping(pid):
    """The path by which root can map the ring of a process, or None."""
    try:
        with open(f'/proc/{pid}/maps', encoding='utf-8') as file:
            for line in file:
                if 'memfd:redoahead' in line:
                    low, high = re.match('([0-9a-f]+)-([0-9a-f]+)', line).groups()
                    return f'/proc/{pid}/map_files/{low}-{high}'
    except OSError:
        pass
    return None


class Recovering(postgres.Server):
    """A server of which nothing is expected but that it recovers or ends."""

    def __init__(self, build, directory, log, limit=None):
        self.begun = time.time()
        self.ended = None       # when recovery was over, by the log's clock, as the above
        self.kept = []          # lines of the log so far
        self.startup = None     # process ID of the startup process, once it was seen
        self.waits = {}         # nanoseconds for which a process waited for a CPU, by process ID
        super().__init__(build, directory, {'log_line_prefix': '%n %p '}, directory, log, limit=limit)

    def read(self):
        """All lines of the log; notes the end of recovery."""
        for line in self.lines():
            self.kept.append(line)
            if READY in line and not self.ended:
                self.ended = float(line.split()[0])
        return self.kept

    def ready(self):
        """Has recovery ended?  Also notes how long other work had the CPUs."""
        self.read()
        for pid in filter(None, (self.pid, self.startup_pid())):
            with contextlib.suppress(OSError):
                with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
                    self.waits[pid] = int(file.read().split()[1])
        return self.ended is not None

    def seconds(self):
        """How long recovery took, but for the time in which other work had the CPUs."""
        return self.ended - self.begun - sum(self.waits.values()) / 1e9

    def startup_pid(self):
        """The startup process, or None.  After a crash of another process there is a new one."""
        if not self.startup or not os.path.exists(f'/proc/{self.startup}'):
            self.startup = self.child_pid('postgres: startup')
        return self.startup

    def decoder_pid(self):
        """The process that decodes WAL for it, or None."""
        return self.child_pid('postgres: redoahead decoder')

    def child_pid(self, title):
        with contextlib.suppress(OSError):
            with open(f'/proc/{self.pid}/task/{self.pid}/children', encoding='ascii') as file:
                for pid in file.read().split():
                    with open(f'/proc/{pid}/cmdline', encoding='utf-8') as command:
                        if command.read().startswith(title):
                            return int(pid)
        return None


class Stage:
    """See the module's head; a `with` block leaves nothing behind, whatever happens."""

    def __init__(self, site, plan, directory):
        self.site = site
        self.plan = plan
        self.directory = directory      # of all files of the round
        self.data = os.path.join(directory, 'data')
        self.wal = os.path.join(site.root, 'wal')       # that is not on the modelled disk
        self.wanted = plan.needs - site.missing.keys()  # what its faults change, where they can
        # The daemon's own files: where root mounts a file system, nobody else can change the path.
        self.files = os.path.join(site.base if 'fill_files' in self.wanted else directory, 'files')
        self.log = os.path.join(directory, 'log')       # prefix of the logs' names
        self.servers = []               # that were started, the present one last
        self.daemons = []               # likewise
        self.killed = []                # daemons that were killed
        self.fake = None                # what listens in the daemon's place
        self.idle = None                # descriptors of the daemon before the recovery
        self.limit = None               # memory cgroup of the daemon, or of the server, too
        self.undo = contextlib.ExitStack()      # what ends the round
        self.later = []                 # (time, function) of what is still to be done or undone
        self.may_end = False            # is a fault reason enough for the server to end?
        self.allowance = 0.0            # seconds that faults made recovery wait
        self.done = []                  # what the faults did, as text
        self.happened = []              # names of the faults that did something

    @property
    def server(self):
        return self.servers[-1]

    @property
    def daemon(self):
        """The daemon if it runs, or None."""
        daemon = self.daemons[-1] if self.daemons else None
        return daemon if daemon and daemon.running() else None

    def __enter__(self):
        with self.undo:         # what was done so far, if the rest fails
            self.undo.callback(postgres.remove_tree, self.wal)
            self.undo.callback(postgres.remove_tree, self.directory)
            postgres.make_directory(self.directory)
            if 'fill_files' in self.wanted:
                os.mkdir(self.files)
                self.undo.callback(os.rmdir, self.files)
                with host.uninterrupted():
                    subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={FILES_BYTES},mode=0777',
                                    'tmpfs', self.files], check=True)
                    self.undo.callback(subprocess.run, ['umount', self.files], check=True)
            else:
                postgres.make_directory(self.files)
            if 'limit_memory' in self.wanted:
                self.limit = self.undo.enter_context(cgroup.MemoryLimit(1 << 30))
            self.undo.callback(self.end_processes)
            self.site.lay_out(self.plan, self.data)
            if (self.plan.kind, self.plan.device) == ('crash', 'model'):
                self.move_wal()
            self.undo = self.undo.pop_all()
        return self

    def __exit__(self, *exception):
        with host.uninterrupted():
            self.undo.close()

    def end_processes(self):
        """End all that runs in the round's directory."""
        for process in (*self.servers, *self.daemons, *filter(None, [self.fake])):
            process.end(signal.SIGKILL)
        for pid in processes_in(self.directory):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until('the end of all processes', lambda: not processes_in(self.directory))

    def move_wal(self):
        """Move WAL to another disk: where it cannot be read, crash recovery ends, in stock, too."""
        pg_wal = os.path.join(self.data, 'pg_wal')
        postgres.run(['cp', '-a', '-T', pg_wal, self.wal])
        postgres.remove_tree(pg_wal)
        postgres.run(['ln', '-s', self.wal, pg_wal])

    # ---------- the daemon ----------

    def start_daemon(self, wrapper=()):
        """Start the daemon, and wait until it serves."""
        log = f'{self.log}.daemon{len(self.daemons)}'
        command = [*wrapper, self.site.daemon, 'serve', '-D', self.data, '--stats', f'{self.files}/stats',
                   '--timeline', f'{self.files}/timeline', '--block-log', f'{self.files}/blocks',
                   *self.plan.options]
        daemon = postgres.Process(command, log, as_user=postgres.as_self, limit=self.limit)
        self.daemons.append(daemon)
        wait_until('the daemon', lambda: 'serving "' in daemon.text() or not daemon.running())
        if not daemon.running():
            raise postgres.PostgresError(f'the daemon ended: {daemon.text()}')

    def end_daemon(self, number=signal.SIGKILL):
        """End the daemon with a signal; one that is stopped goes on first, to its end."""
        daemon = self.daemon
        if daemon and number == signal.SIGTERM:
            daemon.child.send_signal(signal.SIGCONT)
            daemon.child.send_signal(number)
            wait_until('the end of the daemon', lambda: not daemon.running())
            if daemon.child.returncode != 0:
                raise postgres.PostgresError(f'the daemon ended with {daemon.child.returncode}')
            if os.path.exists(os.path.join(self.data, SOCKET)):
                raise postgres.PostgresError('the daemon left its socket')
        elif daemon:
            self.killed.append(daemon)
            daemon.end(number)

    def start_fake(self, mode):
        """Have a hostile daemon listen in the daemon's place."""
        socket = os.path.join(self.data, SOCKET)
        if os.path.exists(socket):      # what a killed daemon left
            os.unlink(socket)
        self.fake = postgres.Process([self.site.fake, socket, mode, '0'], f'{self.log}.fake')
        wait_until('the hostile daemon', lambda: not self.fake.running() or os.path.exists(socket))

    def end_fake(self):
        """End it, and have the daemon back."""
        if self.fake:
            self.fake.end(signal.SIGTERM)
            if self.fake.child.returncode != 0:
                raise postgres.PostgresError(f'the hostile daemon failed: {self.fake.text()}')
            self.fake = None
            self.start_daemon()

    # ---------- the server ----------

    def start_server(self):
        """Start the server, which begins recovery anew."""
        self.servers.append(Recovering(self.site.builds['patched'], self.data,
                                       f'{self.log}.server{len(self.servers)}',
                                       self.limit if self.plan.server_limited else None))

    def server_processes(self):
        """Processes of the round but daemons, hostile or not: pid -> command line."""
        ours = {each.pid for each in (*self.daemons, *filter(None, [self.fake]))}
        return {pid: command for pid, command in processes_in(self.directory).items() if pid not in ours}

    def settings(self, **values):
        """Change settings of the extension, and have the server read them."""
        workload.add_settings(self.data, {f'redoahead.{name}': value for name, value in values.items()})
        # One that has just been started would be ended by the signal.
        if self.servers and self.server.running() and self.server.startup_pid():
            self.server.child.send_signal(signal.SIGHUP)

    # ---------- time ----------

    def after(self, seconds, function):
        """Have something done later in the round, at its end at the latest."""
        self.later.append((time.monotonic() + seconds, function))

    def do_due(self, all_of_it=False):
        """Do what is due."""
        for each in list(self.later):
            if all_of_it or each[0] <= time.monotonic():
                self.later.remove(each)
                each[1]()

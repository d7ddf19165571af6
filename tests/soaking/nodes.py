"""Servers and daemons of the soak test, each started again whenever it has ended.

Nobody connects to a standby: a query sets hint bits, which are not in WAL, and the
standbys' files are compared to the byte.  The primary reports what they have replayed.
"""
import collections
import glob
import os
import signal
import subprocess
import time

from bench import postgres
from rounds import stage, workload

PRIMARY = {'listen_addresses': '', 'fsync': 'off', 'full_page_writes': 'on', 'shared_buffers': '64MB',
           'max_wal_size': '1GB', 'wal_keep_size': '2GB', 'checkpoint_timeout': '5min', 'autovacuum_naptime': '5s',
           'dynamic_shared_memory_type': 'mmap'}        # what killed servers leave is gone with their directory
STANDBY = {'shared_buffers': '8MB', 'checkpoint_timeout': '30s', 'hot_standby': 'on',
           'wal_retrieve_retry_interval': '100ms'}
SOCKETS = (stage.SOCKET, 'pg_stat_tmp/redoahead-status.sock')
MOST_WRONG = 5                  # ends of a server by itself, after which nothing is to be learned
SETTLED_SECONDS = 1             # in which a daemon that has just started opens all that it opens
IDLE_SECONDS = 15               # in which it closes all that it opened for a recovery
END_SECONDS = 5                 # in which a daemon must end


class Node:
    """A server with its data directory."""

    def __init__(self, name, build, base):
        self.name = name
        self.build = build
        self.home = os.path.join(base, name)            # of all that is the server's
        self.data = os.path.join(self.home, 'data')
        self.log = os.path.join(base, 'logs', name)     # prefix of the logs' names
        self.server = None
        self.starts = 0
        self.wanted = False     # is it to run?
        self.expected = False   # is there a reason for it to end?
        self.cold = False       # evict its files before the next start?
        self.wrong = []         # what it did that it should not have done
        postgres.make_directory(self.home)

    def running(self):
        return bool(self.server) and self.server.running()

    def accepts(self):
        """Does a primary accept connections?"""
        return self.running() and self.server.ready()

    def start(self):
        self.wanted, self.expected = True, False
        if self.cold:
            workload.evict(self.data)
        self.cold = False
        self.server = stage.Recovering(self.build, self.data, f'{self.log}.{self.starts:04d}')
        self.starts += 1

    def processes(self):
        """Server processes."""
        return [pid for pid, command in stage.processes_in(self.home).items()
                if 'postgres' in command.partition(' ')[0]]

    def tend(self):
        """Start it again if it has ended, with all of its processes."""
        if not self.wanted or self.running():
            return
        if not self.expected:
            self.wrong.append(f'{self.name}: ended by itself: {self.server.text()[-300:]}')
            self.expected = True
        if len(self.wrong) > MOST_WRONG:
            raise postgres.PostgresError(self.wrong[-1])
        if not self.processes():
            self.start()

    def stop(self):
        """Stop it for good; returns when all of its processes have ended."""
        self.wanted = False
        if self.server:
            self.server.stop('fast')
            if self.server.child.returncode != 0 and not self.expected:
                self.wrong.append(f'{self.name}: ended with {self.server.child.returncode}')
        stage.wait_until(f"the end of {self.name}'s processes", lambda: not self.processes())

    def count(self, text):
        """Lines with a text in all of its logs."""
        found = 0
        for path in glob.glob(f'{self.log}.[0-9]*'):
            with open(path, encoding='utf-8', errors='replace') as file:
                found += sum(text in line for line in file)
        return found


def make_primary(build, base):
    node = Node('primary', build, base)
    postgres.initialize(build, node.data)
    workload.add_settings(node.data, PRIMARY)
    node.start()
    stage.wait_until('the primary', node.accepts)
    return node


def make_standby(name, build, base, primary, settings):
    node = Node(name, build, base)
    postgres.run([primary.build.program('pg_basebackup'), '-h', primary.data, '-D', node.data, '-X', 'stream',
                  '--checkpoint=fast', '--no-sync'])
    # What pg_basebackup has copied of the primary's socket would keep the standby from starting.
    postgres.run(['find', node.data, '-maxdepth', '1', '-name', '.s.PGSQL.*', '-delete'])
    workload.add_settings(node.data, {
        **STANDBY, **settings,
        'primary_conninfo': f'host={primary.data} user=postgres application_name={name}'})
    postgres.run(['touch', os.path.join(node.data, 'standby.signal')])
    return node


class Daemon:
    """`redoahead serve` or `redoahead follow` beside a standby."""

    def __init__(self, command, program, node, base):
        self.command = command
        self.program = program
        self.node = node
        self.files = os.path.join(base, f'{command}-files')     # that it writes
        self.log = os.path.join(base, 'logs', f'redoahead-{command}')
        self.process = None
        self.lives = 0
        self.wanted = False     # is it to run?
        self.expected = False   # is there a reason for it to end?
        self.idle = None        # descriptors when it had just been started, and no server ran
        self.wrong = []
        postgres.make_directory(self.files)

    @property
    def status_socket(self):
        return os.path.join(self.node.data, SOCKETS[1])

    def running(self):
        return bool(self.process) and self.process.running()

    def start(self):
        self.wanted, self.expected = True, False
        self.process = postgres.Process(
            [self.program, self.command, '-D', self.node.data, '--stats', f'{self.files}/stats',
             '--metrics', f'{self.files}/redoahead.prom', '--report', self.files],
            f'{self.log}.{self.lives:04d}', as_user=postgres.as_self)
        self.lives += 1

    def up(self):
        """Does it wait for servers?"""
        return 'serving "' in (text := self.process.text()) or 'following recoveries of' in text

    def begin(self):
        """Start it while no server runs, and note what it holds."""
        self.start()
        stage.wait_until(f'{self.command}', self.up)
        before, since = None, 0

        def settled():
            nonlocal before, since
            now = stage.idle_descriptors(self.process.pid)
            if now != before:
                before, since = now, time.monotonic()
            return now and time.monotonic() > since + SETTLED_SECONDS
        stage.wait_until('its descriptors', settled)
        self.idle = before

    def tend(self):
        if not self.wanted or self.running():
            return
        if not self.expected:
            self.wrong.append(f'{self.command}: ended with {self.process.child.returncode}: '
                              f'{self.process.text()[-300:]}')
        self.start()

    def kill(self):
        self.expected = True
        self.process.end(signal.SIGKILL)

    def terminate(self):
        """End it as an administrator would; it must end soon, well, and without sockets."""
        self.expected = True
        starting = not self.up()        # it may be ended before it handles signals
        self.process.child.send_signal(signal.SIGCONT)
        self.process.child.send_signal(signal.SIGTERM)
        try:
            self.process.child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.wrong.append(f'{self.command}: SIGTERM has not ended it within {END_SECONDS} s')
            self.kill()
            return
        status = self.process.child.returncode
        left = [each for each in SOCKETS if os.path.exists(os.path.join(self.node.data, each))]
        if (status != 0 or left) and not starting:
            self.wrong.append(f'{self.command}: ended by SIGTERM with {status}, left {left}: '
                              f'{self.process.text()[-300:]}')

    def end(self):
        self.wanted = False
        if self.running():
            self.terminate()

    def holds_more(self):
        """After its server has ended: what it holds that it did not hold in the beginning, as text."""
        pid = self.process.pid
        try:
            stage.wait_until('idle daemon', lambda: stage.idle_descriptors(pid) == self.idle and
                             not stage.ring_mapping(pid), IDLE_SECONDS)
        except postgres.PostgresError:
            before, held = collections.Counter(self.idle), collections.Counter(stage.descriptors(pid))
            return [f'{self.command}: without a server it holds {dict(held - before)} more and '
                    f'{dict(before - held)} less than at first; ring: {stage.ring_mapping(pid)}']
        return []

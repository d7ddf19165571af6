"""Processes and signals, what they used, and what the log reports of redo."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from bench import host, postgres, recovery, usage


class End(Exception):
    """What a signal becomes."""


def end(number, frame):
    raise End


class Signals(unittest.TestCase):
    def setUp(self):
        for number in host.ENDING:
            self.addCleanup(signal.signal, number, signal.signal(number, end))

    def test_cleaning_up_goes_on_to_its_end(self):
        """Lost otherwise: an array of disks, a mount or a copy that nobody removes."""
        for number in host.ENDING:
            done = False
            with self.assertRaises(End):
                with host.uninterrupted():
                    os.kill(os.getpid(), number)
                    done = True
            self.assertTrue(done)

    def test_a_process_is_known_however_early_a_signal_comes(self):
        """Lost otherwise: a server that runs on after an interrupted benchmark."""
        class Interrupted(subprocess.Popen):
            """The signal comes after the fork."""
            def _close_pipe_fds(self, *arguments):
                os.kill(os.getpid(), signal.SIGINT)
                super()._close_pipe_fds(*arguments)

        # A thread that does not mask the signal would get it in place of one that does.
        over = threading.Event()
        thread = threading.Thread(target=over.wait)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)
        before = len(postgres.Process.started)
        log = os.path.join(tempfile.mkdtemp(prefix='redoahead-processes.'), 'log')
        self.addCleanup(shutil.rmtree, os.path.dirname(log))
        with mock.patch.object(subprocess, 'Popen', Interrupted), self.assertRaises(End):
            postgres.Process(['sleep', '60'], log, as_user=postgres.as_self)
        process, = postgres.Process.started[before:]
        with open(f'/proc/{process.pid}/status', encoding='ascii') as file:
            blocked = file.read().split('SigBlk:')[1].split()[0]
        process.end(signal.SIGTERM, patience=5)
        self.assertEqual(process.child.returncode, -signal.SIGTERM)
        self.assertEqual(int(blocked, 16), 0)


class Main(unittest.TestCase):
    @staticmethod
    def run_main(main, wrapper=()):
        """Run a script whose main() returns an expression, under a strict umask."""
        return subprocess.run(
            [*wrapper, sys.executable, '-B', '-c', 'import os, signal; from bench import script; '
             f'script.run_main("it", lambda: {main})'], umask=0o077, check=False).returncode

    def test_what_root_makes_can_be_read_by_the_servers_user(self):
        """Lost otherwise: benchmarks and the demo, for root with a umask of 077."""
        self.assertEqual(self.run_main('os.umask(0)'), 0o022)

    def test_a_benchmark_under_nohup_outlives_its_terminal(self):
        hang_up = 'os.kill(os.getpid(), signal.SIGHUP) or 3'
        for name, status in ('default', 128 + signal.SIGHUP), ('ignore', 3):
            self.assertEqual(self.run_main(hang_up, ['env', f'--{name}-signal=HUP']), status)


class Host(unittest.TestCase):
    def test_free_space_is_checked_before_anything_is_made(self):
        with self.assertRaisesRegex(host.HostError, 'REDOAHEAD_BENCH_DIR'):
            host.require_space('/', 1 << 60)

    @staticmethod
    def child(seconds):
        """One that uses so much CPU time, and waits for the end; (pid, pipe to close)."""
        mine, its = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(its[1])
            while time.process_time() < seconds:
                pass
            os.write(mine[1], b'.')
            os.read(its[0], 1)
            os._exit(0)
        os.close(its[0])
        os.read(mine[0], 1)
        return pid, its[1]

    def test_cpu_time_of_children_that_run_and_that_have_ended(self):
        """Lost otherwise: the CPU time of sessions that end while it is read."""
        before = usage.cpu_seconds_of_children(os.getpid())
        pid, pipe = self.child(0.3)
        alive = usage.cpu_seconds_of_children(os.getpid()) - before
        self.assertGreater(alive, 0.25)
        os.close(pipe)
        os.waitpid(pid, 0)
        ended = usage.cpu_seconds_of_children(os.getpid()) - before
        self.assertTrue(alive - 0.02 <= ended < alive + 0.2, (alive, ended))
        pid, pipe = self.child(0.3)
        both = usage.cpu_seconds_of_children(os.getpid()) - before
        self.assertGreater(both, ended + 0.25)
        os.close(pipe)
        os.waitpid(pid, 0)


class Redo(unittest.TestCase):
    def test_coverage_is_what_the_startup_process_did_not_read_itself(self):
        def coverage(blocks, fetched, wal):
            return recovery.coverage_of({'blocks_read': blocks, 'startup_device_bytes': fetched,
                                         'wal_device_bytes': wal})
        self.assertEqual(coverage(1000, 100 * 8192 + 5000, 5000), 0.9)
        self.assertEqual(coverage(1000, 5000, 9000), 1)
        self.assertEqual(coverage(10, 1 << 30, 0), 0)
        self.assertIsNone(coverage(0, 0, 0))
        self.assertIsNone(coverage(10, None, 0))

    def test_a_recovery_that_is_over_at_the_first_look_is_reported(self):
        """Lost otherwise: a run on a machine that was slower than redo."""
        server = mock.Mock()
        server.messages.return_value = [
            (1, None, 'redo starts at 0/1000'),
            (1, None, 'redo done at 0/2000 system usage: CPU: user: 0.10 s, system: 0.20 s, '
                      'elapsed: 0.40 s')]
        reported = []
        run = recovery.watch_redo(server, lambda seconds, lsn: reported.append((seconds, lsn)))
        self.assertEqual(reported, [(0.4, None)])
        self.assertEqual((run['redo_seconds'], run['startup_cpu_seconds']), (0.4, 0.3))

    def test_the_log_without_redo_is_no_recovery(self):
        server = mock.Mock(log='log')
        server.text.return_value = 'LOG:  redo is not required\n'
        with self.assertRaises(recovery.RunRejected):
            recovery.redo_times(server)

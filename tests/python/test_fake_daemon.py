"""The daemon that misbehaves: it outlives servers that leave at any time."""
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..')
TOOLS = os.path.join(TESTS, 'tools')
sys.path[:0] = [TESTS, TOOLS]

import fake_daemon  # noqa: E402
from rounds.stage import wait_until  # noqa: E402

SLOTS = 1024


class ServerThatLeaves(unittest.TestCase):
    """Lost otherwise: a round of the campaign whose server was killed counts as failed."""

    def start(self, mode):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, 'socket')
        fake = subprocess.Popen([os.path.join(TOOLS, 'fake_daemon.py'), path, mode],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(fake.stdout.close)
        self.addCleanup(fake.wait)
        self.addCleanup(fake.kill)
        wait_until('the socket', lambda: os.path.exists(path))
        return fake, path

    def connect(self, path, emitted=0):
        """A startup process that has sent its handshake, and emits no more."""
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        server.connect(path)
        ring, wakeups = os.memfd_create('ring'), os.eventfd(0, os.EFD_NONBLOCK)
        os.ftruncate(ring, 320 + SLOTS * 32)
        os.pwrite(ring, struct.pack('=Q', emitted), fake_daemon.HEAD * 8)
        socket.send_fds(server, [bytes(fake_daemon.HANDSHAKE_BYTES)], [ring, wakeups])
        os.close(ring)
        os.close(wakeups)
        return server

    def check(self, fake):
        output = fake.communicate(timeout=30)[0]
        self.assertEqual(fake.returncode, 0, output)
        seen = json.loads(output)
        self.assertEqual(seen['connections'], 1)
        return seen

    def test_before_it_has_a_reply(self):
        for mode in fake_daemon.MODES:
            with self.subTest(mode):
                fake, path = self.start(mode)
                fake.send_signal(signal.SIGSTOP)
                self.connect(path).close()
                fake.send_signal(signal.SIGCONT)
                self.check(fake)

    def test_before_it_has_emitted_a_reference(self):
        for mode in fake_daemon.MODES:
            with self.subTest(mode):
                fake, path = self.start(mode)
                server = self.connect(path)
                if mode != 'silent':
                    self.assertTrue(select.select([server], [], [], 30)[0])
                server.close()
                self.check(fake)

    def test_before_its_references_were_taken(self):
        fake, path = self.start('good')
        fake.send_signal(signal.SIGSTOP)
        server = self.connect(path, emitted=3)
        # It leaves when the reply has been sent, and before the fake daemon goes on.
        server.shutdown(socket.SHUT_WR)
        fake.send_signal(signal.SIGCONT)
        self.assertEqual(self.check(fake)['taken'], 3)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/python3
"""A daemon that misbehaves, to test that the server survives it.

Listens like redoahead serve, takes the handshake of a startup process with the
ring and the eventfd, and then does one thing wrong.  When the server has
dropped it, or on SIGTERM, it prints what it saw as JSON.  It reads no blocks.

usage: fake_daemon.py SOCKET MODE [CONNECTIONS]

CONNECTIONS is how many servers to serve, one after the other; then the socket
is removed.  The default is 1, and 0 means any number.  MODE is one of:

  good            nothing wrong: takes references and moves its heartbeat
  closes          closes the connection at once
  silent          never answers
  refuses         refuses, with a reason that is not terminated
  short-reply     answers with one byte
  garbage-reply   answers with bytes that are no reply
  wrong-version   speaks another version of the protocol
  disconnects     accepts, and closes the connection
  leaves-late     the same, when the server has emitted 4000 references
  dead            accepts, and does nothing more
  idle            moves its heartbeat, but takes no references
  chatters        sends a byte after its reply
  tail-beyond     claims to have taken references that were never emitted
  tail-when-full  the same, after it has let the ring become nearly full
  huge            writes the largest number into every field that is its own
  scribbles       overwrites the whole ring with random bytes, for ever
  truncates       tries to shrink, grow and seal the ring; then it is good
  punches         takes the ring's memory away page by page; then it is good
  never-awake     reports that it sleeps, whatever happens; otherwise good
  blocks-wakeups  reports that it sleeps, and makes the eventfd block its writers
"""
import contextlib
import fcntl
import json
import mmap
import os
import random
import select
import signal
import socket
import struct
import sys

HANDSHAKE_BYTES = 128
MAGIC = 0x0144484145444552
VERSION = 4
HEAD, DROPPED = 8, 18       # 8-byte words of the ring
TAIL, HEARTBEAT, SLEEPING = 24, 25, 26
CONSUMER_WORDS = range(24, 40)

F_ADD_SEALS, F_GET_SEALS, F_SEAL_WRITE = 1033, 1034, 0x0008
FALLOC_FL_PUNCH_HOLE_KEEP_SIZE = 0x03


def reply(version=VERSION, status=0, reason=b""):
    return struct.pack("=QIII108s", MAGIC, version, status, os.getpid(), reason)


class Server:
    """A connected startup process, and what the fake daemon does to it."""

    def __init__(self, connection, seen):
        self.connection = connection
        self.seen = seen
        message, descriptors, _, _ = socket.recv_fds(connection, HANDSHAKE_BYTES + 1, 2)
        if not message:
            raise ConnectionAbortedError("the server sent nothing")
        if len(message) != HANDSHAKE_BYTES or len(descriptors) != 2:
            raise SystemExit(f"not a handshake: {len(message)} bytes, {len(descriptors)} descriptors")
        self.memfd, self.eventfd = descriptors
        self.map = mmap.mmap(self.memfd, 0)
        # Elements of this view are stored and loaded in one piece.
        self.words = memoryview(self.map).cast("Q")

    def close(self):
        self.words.release()
        self.map.close()
        os.close(self.memfd)
        os.close(self.eventfd)
        self.connection.close()

    def has_left(self, wait=0.001):
        """Wait a little; has the server closed the connection?"""
        left = False
        if select.select([self.connection], [], [], wait)[0]:
            try:
                left = self.connection.recv(1) == b""
            except ConnectionResetError:
                left = True
        # What the server dropped while this process had no CPU time counts, too.
        self.seen["dropped"] = max(self.seen["dropped"], self.words[DROPPED])
        return left

    def wait_for_references(self, count=1):
        while self.words[HEAD] < count:
            self.beat()
            if self.has_left():
                return

    def wait_until_left(self):
        while not self.has_left(0.1):
            pass

    def beat(self):
        self.words[HEARTBEAT] += 1

    def attempt(self, what, function, *arguments):
        """Note the error that something forbidden fails with, or its success."""
        try:
            function(*arguments)
            self.seen[what] = "done"
        except OSError as error:
            self.seen[what] = error.strerror

    # ---------- modes ----------

    def good(self):
        self.connection.send(reply())
        self.take()

    def take(self):
        left = False
        while not left:
            left = self.has_left()
            # What the server emitted before it left is in the ring still.
            head = self.words[HEAD]
            self.seen["taken"] += head - self.words[TAIL]
            self.words[TAIL] = head
            self.beat()

    def closes(self):
        pass

    def silent(self):
        self.wait_until_left()

    def refuses(self):
        self.connection.send(reply(status=2, reason=b"x" * 108))
        self.wait_until_left()

    def short_reply(self):
        self.connection.send(b"R")
        self.wait_until_left()

    def garbage_reply(self):
        self.connection.send(random.Random(1).randbytes(128))
        self.wait_until_left()

    def wrong_version(self):
        self.connection.send(reply(version=VERSION + 1))
        self.wait_until_left()

    def disconnects(self):
        self.connection.send(reply())
        self.wait_for_references()

    def leaves_late(self):
        self.connection.send(reply())
        self.wait_for_references(4000)

    def dead(self):
        self.connection.send(reply())
        self.wait_until_left()

    def idle(self):
        self.connection.send(reply())
        while not self.has_left():
            self.beat()

    def chatters(self):
        self.connection.send(reply())
        self.wait_for_references()
        self.connection.send(b"R")
        self.wait_until_left()

    def tail_beyond(self):
        self.connection.send(reply())
        self.wait_for_references()
        self.words[TAIL] = self.words[HEAD] + (1 << 20)
        self.wait_until_left()

    def tail_when_full(self):
        self.connection.send(reply())
        slots = (len(self.map) - 320) // 32
        self.wait_for_references(slots - 40)
        self.words[TAIL] = 1 << 60
        self.wait_until_left()

    def huge(self):
        self.connection.send(reply())
        self.wait_for_references()
        for word in CONSUMER_WORDS:
            self.words[word] = (1 << 64) - 1
        self.wait_until_left()

    def scribbles(self):
        self.connection.send(reply())
        self.wait_for_references()
        noise = random.Random(2)
        while not self.has_left(0):
            self.map[:] = noise.randbytes(len(self.map))

    def truncates(self):
        size = len(self.map)
        self.attempt("shrink", os.ftruncate, self.memfd, 0)
        self.attempt("shrink a little", os.ftruncate, self.memfd, size - 1)
        self.attempt("grow", os.ftruncate, self.memfd, size + 4096)
        self.attempt("grow by allocating", os.posix_fallocate, self.memfd, size, 4096)
        self.attempt("seal", fcntl.fcntl, self.memfd, F_ADD_SEALS, F_SEAL_WRITE)
        self.seen["seals"] = fcntl.fcntl(self.memfd, F_GET_SEALS)
        self.good()

    def punches(self):
        import ctypes
        fallocate = ctypes.CDLL(None, use_errno=True).fallocate64
        fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        self.connection.send(reply())
        self.wait_for_references()
        # All but the first page: the slots, not the indexes.
        for offset in range(4096, len(self.map), 4096):
            if fallocate(self.memfd, FALLOC_FL_PUNCH_HOLE_KEEP_SIZE, offset, 4096) == 0:
                self.seen["pages punched"] = self.seen.get("pages punched", 0) + 1
        self.take()

    def never_awake(self):
        self.words[SLEEPING] = 1
        self.seen["wakeups"] = 0
        self.good()
        # None if the server left before it had a reference.
        with contextlib.suppress(BlockingIOError):
            self.seen["wakeups"] = struct.unpack("=Q", os.read(self.eventfd, 8))[0]

    def blocks_wakeups(self):
        # The file description is shared, and so are its flags.
        fcntl.fcntl(self.eventfd, fcntl.F_SETFL, 0)
        os.write(self.eventfd, struct.pack("=Q", (1 << 64) - 2))
        self.never_awake()


def main(path, mode, connections=1):
    seen = {"connections": 0, "taken": 0, "dropped": 0}
    act = getattr(Server, mode.replace("-", "_"))

    def stop(signum, frame):
        raise SystemExit(0)
    signal.signal(signal.SIGTERM, stop)

    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Only a socket that already listens gets the name: nobody is refused.
    listener.bind(path + ".new")
    listener.listen(8)
    os.chmod(path + ".new", 0o777)
    os.rename(path + ".new", path)
    try:
        while connections == 0 or seen["connections"] < connections:
            connection, _ = listener.accept()
            seen["connections"] += 1
            try:
                server = Server(connection, seen)
            except (ConnectionAbortedError, ConnectionResetError):
                seen["turned away"] = seen.get("turned away", 0) + 1
                print("turned away", file=sys.stderr, flush=True)
                continue
            try:
                act(server)
            except (BrokenPipeError, ConnectionResetError):
                pass            # a server may leave at any time
            finally:
                server.close()
    finally:
        # Python resets a handler of its own before it exits, and a late signal would kill it.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.unlink(path)
        print(json.dumps(seen), flush=True)


MODES = [line.split()[0] for line in __doc__.split("one of:\n")[1].splitlines()
         if line.startswith("  ")]

if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4 or sys.argv[2] not in MODES:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))

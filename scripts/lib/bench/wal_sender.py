"""A primary that has nothing but WAL: streams segment files to a standby, at a set rate.

It speaks as much of the replication protocol as a walreceiver needs, on a Unix-domain socket,
and uses hardly any CPU time.  Answers of the standby are read and dropped.
"""
import os
import re
import select
import socket
import struct
import threading
import time

from . import postgres

PORT = 5499                     # in the name of the socket
SEGMENT = 16 << 20              # bytes of a WAL segment
PAGE = 8192                     # bytes of a page of WAL
CHUNK = 128 << 10               # most bytes in a message
TICK = 0.01                     # seconds between two checks of what may be sent
EPOCH = 946684800               # of PostgreSQL's timestamps, as Unix time
START = re.compile(r'START_REPLICATION .*?([0-9A-F]+/[0-9A-F]+)')


def message(kind, body=b''):
    return kind + struct.pack('>I', len(body) + 4) + body


def columns(names):
    """RowDescription: columns of type text."""
    return message(b'T', struct.pack('>H', len(names)) + b''.join(
        name.encode() + b'\0' + struct.pack('>IHIhiH', 0, 0, 25, -1, -1, 0) for name in names))


def row(values):
    return message(b'D', struct.pack('>H', len(values)) + b''.join(
        struct.pack('>i', -1) if value is None else
        struct.pack('>I', len(value)) + value.encode() for value in values))


READY = message(b'Z', b'I')
WELCOME = (message(b'R', struct.pack('>I', 0)) + message(b'S', b'server_version\x0018\0') +
           message(b'S', b'client_encoding\0UTF8\0') + READY)


def read_at(directory, lsn, size):
    """WAL of timeline 1 from an LSN on, not beyond its segment."""
    number, offset = divmod(lsn, SEGMENT)
    name = f'00000001{number >> 8:08X}{number & 0xFF:08X}'
    with open(os.path.join(directory, name), 'rb') as file:
        file.seek(offset)
        return file.read(min(size, SEGMENT - offset))


class WalSender(threading.Thread):
    """Serves one standby at a time, as long as the `with` block lasts."""

    def __init__(self, place, wal, image, system, rate=None):
        super().__init__(daemon=True)
        self.path = os.path.join(place, f'.s.PGSQL.{PORT}')
        self.wal = wal          # directory of the segments
        self.first, self.end = image.redo_lsn, image.end_lsn    # what the standby lacks
        self.system = system    # system identifier
        self.rate = rate        # bytes per second; None: as fast as they are taken
        self.begun = None       # Unix time at which it was first requested to send
        self.error = None       # what ended it
        self.over = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)

    def __enter__(self):
        # Not chmod, which would follow a link that the servers' user put there.
        mask = os.umask(0)
        try:
            self.listener.bind(self.path)
        finally:
            os.umask(mask)
        self.listener.listen()
        self.start()
        return self

    def __exit__(self, *exception):
        self.over.set()
        self.join()
        self.listener.close()
        os.unlink(self.path)

    def settings(self):
        """Settings of the standby that it connects with."""
        return {'primary_conninfo': f'host={os.path.dirname(self.path)} port={PORT} '
                                    'user=postgres', 'wal_receiver_timeout': '0'}

    def sent_at(self, lsn):
        """Unix time at which WAL up to an LSN was to be sent."""
        return self.begun + (max(0, lsn - self.first) / self.rate if self.rate else 0)

    def allowed(self, now):
        """The LSN up to which WAL may be sent: the end of a page, as by a walsender."""
        if self.rate is None:
            return self.end
        lsn = self.first + int(self.rate * (now - self.begun))
        return self.end if lsn >= self.end else lsn - lsn % PAGE

    def run(self):
        try:
            while self.wait_for(self.listener):
                with self.listener.accept()[0] as connection:
                    try:
                        self.serve(connection)
                    except ConnectionError:     # the standby has ended
                        pass
        except Exception as error:      # reported by whoever waits for the standby
            self.error = error

    def wait_for(self, source):
        """Wait until there is something to read; false if it is over."""
        while not self.over.is_set():
            if select.select([source], [], [], TICK)[0]:
                return True
        return False

    def receive(self, connection, size):
        found = b''
        while len(found) < size:
            if not self.wait_for(connection):
                raise ConnectionError
            part = connection.recv(size - len(found))
            if not part:
                raise ConnectionError
            found += part
        return found

    def serve(self, connection):
        """One session: the handshake, commands, and then WAL."""
        self.receive(connection, struct.unpack('>I', self.receive(connection, 4))[0] - 4)
        connection.sendall(WELCOME)
        while True:
            kind, size = struct.unpack('>cI', self.receive(connection, 5))
            text = self.receive(connection, size - 4).rstrip(b'\0').decode()
            start = START.match(text)
            if kind == b'X':
                return
            if start:
                break
            if text != 'IDENTIFY_SYSTEM':
                raise ValueError(f'a standby requests what is unknown: {text}')
            connection.sendall(columns(('systemid', 'timeline', 'xlogpos', 'dbname')) + row(
                (self.system, '1', f'{self.end >> 32:X}/{self.end & 0xFFFFFFFF:X}', None)) +
                message(b'C', b'IDENTIFY_SYSTEM\0') + READY)
        connection.sendall(message(b'W', struct.pack('>BH', 0, 0)))
        self.stream(connection, postgres.parse_lsn(start[1]))

    def stream(self, connection, lsn):
        """Send WAL from an LSN on, until the end of all, and wait until the standby leaves."""
        self.begun = self.begun or time.time()
        while not self.over.is_set():
            allowed = self.allowed(time.time())
            while lsn < allowed and not self.over.is_set():
                wal = read_at(self.wal, lsn, min(CHUNK, allowed - lsn))
                header = struct.pack('>cQQQ', b'w', lsn, lsn + len(wal),
                                     int((time.time() - EPOCH) * 1e6))
                connection.sendall(message(b'd', header + wal))
                lsn += len(wal)
            if select.select([connection], [], [], TICK)[0] and not connection.recv(CHUNK):
                return

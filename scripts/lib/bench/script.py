"""What the scripts that start recoveries share: where they work, how they end,
and how they report errors and progress."""
import argparse
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time

from . import host, postgres, recovery


def work_root():
    """The directory for images and copies; REDOAHEAD_BENCH_DIR, or a default."""
    return claim(os.environ.get('REDOAHEAD_BENCH_DIR') or
                 os.path.join('/var/tmp', default_name()))


def default_name():
    """Name of a directory where all users have theirs."""
    return f'redoahead-bench-{os.geteuid()}'


def claim(path):
    """A directory that only this user can change, and that servers can enter; its real path."""
    path = host.claim(path)
    try:
        postgres.run(['test', '-x', path])
    except postgres.PostgresError:
        raise host.HostError(f'user {postgres.owner().pw_name} cannot enter {path}, but servers '
                             'run as that user; allow it with chmod a+x, or name another '
                             'directory with REDOAHEAD_BENCH_DIR') from None
    return path


@contextlib.contextmanager
def work_place(root, name, clear=lambda place: None, in_memory=False):
    """A directory for copies below root, held by one script at a time.

    It is empty at the start, and is gone at the end whatever the end is, and in memory its
    lock file and root, too.  What a killed run may have left there beside files,
    clear(directory) takes away.
    """
    place = os.path.join(claim(root), name)

    def busy():
        raise postgres.PostgresError(f'another run uses {place}; wait for it, or set '
                                     'REDOAHEAD_BENCH_DIR to another directory')

    with host.locked(place + '.lock', busy):
        clear(place)
        postgres.remove_tree(place)
        postgres.make_place(place)
        try:
            yield place
        finally:
            with host.uninterrupted():
                postgres.remove_tree(place)
                if in_memory:
                    os.unlink(place + '.lock')
                    with contextlib.suppress(OSError):
                        os.rmdir(root)


def maybe(wanted, make):
    """make(wanted) for a `with` block, or None in its place if nothing is wanted."""
    return make(wanted) if wanted else contextlib.nullcontext()


def positive(text):
    """A type of argparse: a number from 1 on."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text} is not a number from 1 on')
    return int(text)


def find_daemon(checkout=postgres.ROOT):
    """The program of a checkout, which must not be older than its sources."""
    program = os.path.join(checkout, 'build/redoahead')
    if not os.access(program, os.X_OK):
        raise postgres.PostgresError(f'{program} is missing; run make in {checkout}')
    # Options of a make that runs this script are not meant for this one, and may have been others.
    if subprocess.run(['env', '-u', 'MAKEFLAGS', 'make', '-q', '-o', 'build/flags', '-C', checkout,
                       'build/redoahead'], check=False, stdout=subprocess.DEVNULL,
                      **postgres.as_self()).returncode == 1:
        raise postgres.PostgresError(f'{program} is older than its sources; run make in {checkout}')
    return program


def find_patched(checkout=postgres.ROOT):
    """The patched build of a checkout, with its program; neither may be older than its sources."""
    build = postgres.find_build('patched', checkout)
    built = os.path.join(build.prefix, 'complete')      # only where build-postgresql made it
    if os.path.exists(built) and os.path.getmtime(built) < newest_source(checkout):
        raise postgres.PostgresError(f'{build.prefix} is older than the patches and the extension; '
                                     f'run scripts/build-postgresql patched in {checkout}')
    return dataclasses.replace(build, daemon=find_daemon(checkout))


def newest_source(checkout):
    """When a file of which the patched build is made was last changed, seconds."""
    return max(os.path.getmtime(os.path.join(place, name))
               for part in (f'pg-patch/{postgres.MAJOR}', 'pg-patch/redoahead', 'userspace/common')
               for place, _, names in os.walk(os.path.join(checkout, part))
               for name in names if not name.endswith(('.o', '.so', '.bc')))


class Progress:
    """One line that is rewritten on a terminal; a line now and then elsewhere."""

    INTERVAL = 5                # seconds between two lines that stay

    def __init__(self):
        self.live = sys.stderr.isatty()
        self.start = time.monotonic()
        self.last = 0.0         # when something was last shown, seconds
        self.shown = False      # is there a line to be overwritten?

    def update(self, text):
        now = time.monotonic()
        if now - self.last < (0.2 if self.live else self.INTERVAL):
            return
        self.last = now
        text = self.stamp(text)
        if self.live:
            print(f'\r\033[K{text[:79]}', end='', file=sys.stderr, flush=True)
            self.shown = True
        else:
            print(text, file=sys.stderr, flush=True)

    def stamp(self, text):
        """The text behind the seconds since the start."""
        return f'{time.monotonic() - self.start:5.0f} s  {text}'

    def say(self, text):
        """A line that stays."""
        if self.shown:
            print('\r\033[K', end='', file=sys.stderr)
            self.shown = False
        self.last = time.monotonic()
        print(self.stamp(text), file=sys.stderr, flush=True)

    def of_redo(self, label, image, left=None):
        """A progress function for recovery.recover.

        left is a function(part of the WAL that is done, seconds of redo) that
        returns how long all will take from here, in words.
        """
        total = image.end_lsn - image.redo_lsn

        def show(seconds, lsn):
            done = 0 if lsn is None else (lsn - image.redo_lsn) / total
            done = min(1, max(0, done))
            at = '' if lsn is None else f'  at {lsn >> 32:X}/{lsn & 0xFFFFFFFF:08X}'
            if left:
                at = f'; {left(done, seconds)}'
            self.update(f'{label}: redo {done:4.0%} after {seconds:5.1f} s{at}')
        return show


def run_main(name, main):
    """Run main() and exit as a tool should: 0, 1, or 128 + the signal.

    Signals become exceptions, so that every `with` block ends what it began;
    a process that had just been started when the signal came is ended here.
    SIGHUP that is ignored, as by nohup, stays so.
    """
    os.umask(0o022)             # root makes much that the servers' user reads

    def interrupt(number, frame):
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, interrupt)
    try:
        sys.exit(main())
    except (host.HostError, postgres.PostgresError, recovery.RunRejected, OSError) as error:
        print(f'{name}: {error}', file=sys.stderr)
        sys.exit(1)
    finally:
        for process in postgres.Process.started:
            process.end(signal.SIGQUIT)

"""An archive of WAL beside the data, on the same device, and the restore_command that reads it.

The archive takes a while for each file, as one on another machine does: a script sleeps, then
copies.  How fast it can send is not modelled.
"""
import contextlib
import glob
import os
import shlex
import time
from dataclasses import dataclass

from . import postgres

JOBS = 8                        # segments that `redoahead restore` fetches ahead
PATIENCE = 60                   # seconds for what it does in the background to end
SCRIPT = '''#!/bin/sh
# usage: fetch FILE PATH
sleep {latency}
exec {copy}
'''


def beside(directory):
    """The archive of a data directory."""
    return os.path.join(os.path.dirname(directory), 'archive')


def remove(directory):
    """Remove the archive that an earlier copy of a cluster had."""
    postgres.remove_tree(beside(directory))


def copy_command(directory, file, path):
    """A command that copies from the archive; sealed segments become writable."""
    return f'cp --reflink=never --no-preserve=mode "{beside(directory)}/{file}" "{path}"'


def take_wal(directory):
    """Move the WAL of a stopped cluster into its archive, which does not exist yet."""
    wal = os.path.join(directory, 'pg_wal')
    postgres.move(wal, beside(directory))
    postgres.make_directory(wal)


def runs(program):
    """Does a process run the program of a path?"""
    for path in glob.glob('/proc/[0-9]*/exe'):
        with contextlib.suppress(OSError):      # it goes meanwhile, or is another user's
            if os.readlink(path) == program:
                return True
    return False


@dataclass(frozen=True)
class Archive:
    """Where WAL is restored from, for recoveries that end where it ends."""
    place: str                  # directory for the programs that the server runs
    latency: float              # seconds until a file begins to come

    def arrange(self, directory, program):
        """Have a copy of a cluster restore its WAL; program is ours, which it can run, too."""
        take_wal(directory)
        postgres.run(['touch', os.path.join(directory, 'recovery.signal')])
        script = SCRIPT.format(latency=self.latency, copy=copy_command(directory, '$1', '$2'))
        postgres.install(os.path.join(self.place, 'fetch'), script.encode())
        postgres.install_program(os.path.join(self.place, 'redoahead'), program)

    def command(self, restore):
        """restore_command, by `redoahead restore` or without it."""
        fetch, program = (shlex.quote(os.path.join(self.place, name))
                          for name in ('fetch', 'redoahead'))
        if not restore:
            return f'{fetch} %f %p'
        return f'{program} restore --jobs {JOBS} {shlex.quote(f"{fetch} %%f %%p")} %f %p'

    def settle(self):
        """Wait for the end of what `redoahead restore` does in the background."""
        program = os.path.join(self.place, 'redoahead')
        end = time.monotonic() + PATIENCE
        while runs(program):
            if time.monotonic() > end:
                raise postgres.PostgresError(f'{program} still runs after the server has ended')
            time.sleep(postgres.POLL)

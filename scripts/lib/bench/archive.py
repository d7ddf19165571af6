"""An archive of WAL beside the data, on the same device, and the restore_command that reads it."""
import os

from . import postgres


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

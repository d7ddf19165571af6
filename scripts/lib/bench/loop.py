"""A file system on a loop device of its own, so that its counters count nobody else.

The file behind it is read directly, past the page cache.  It is not in a place that
belongs to the servers' user, but beside it.  What a killed run left is removed
by the next one in the same place.  Needs root.
"""
import contextlib
import os
import subprocess
import tempfile
import time

from . import host, postgres

TRIES = 200                     # to unmount a file system that is in use, POLL seconds apart
EXT4 = ('mkfs.ext4', '-q', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0')


def command(*arguments, check=True):
    """Run a program; returns its output."""
    try:
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, **postgres.as_self())
    except FileNotFoundError:
        raise host.HostError(f'{arguments[0]} is missing; run scripts/bootstrap') from None
    if check and done.returncode != 0:
        raise host.HostError(f'{" ".join(arguments)} failed: {done.stderr.strip()}')
    return done.stdout


def missing(directory):
    """Why there can be none in a directory, in words; None if there can."""
    if os.geteuid() != 0:
        return 'must be root to make a loop device'
    try:
        with tempfile.TemporaryDirectory(dir=directory) as place, filesystem(place, 16 << 20):
            return None
    except (host.HostError, OSError) as error:
        return f'no file system on a loop device: {error}'


def beside(place):
    """A directory of root, as long as there is a file system; others may leave more in it."""
    return place + '.loop'


def remove(place):
    """Remove what filesystem() made beside a place."""
    file, point = (os.path.join(beside(place), name) for name in ('loop.img', 'loop'))
    if os.path.ismount(point):
        unmount(point)
    if os.path.exists(file):
        if device_of(place):
            command('losetup', '--detach', device_of(place))
    postgres.remove_tree(beside(place))


def unmount(point):
    """io_uring closes the files of a process a little after it has ended."""
    for _ in range(TRIES):
        try:
            command('umount', point)
            return
        except host.HostError:
            time.sleep(postgres.POLL)
    command('umount', point)


def set_readahead(place, kilobytes):
    """How much the kernel reads ahead of readers that seem to be sequential, at most."""
    command('blockdev', '--setra', str(kilobytes * 2), device_of(place))


def device_of(place):
    return command('losetup', '--noheadings', '-O', 'NAME', '-j',
                   os.path.join(beside(place), 'loop.img')).strip()


@contextlib.contextmanager
def filesystem(place, size, make=EXT4, options='noatime'):
    """The mount point of an empty file system of that size, made beside a place."""
    remove(place)
    host.require_space(os.path.dirname(place), size)
    file, point = (os.path.join(beside(place), name) for name in ('loop.img', 'loop'))
    try:
        os.mkdir(beside(place), 0o755)
        os.mkdir(point)
        with open(file, 'wb') as image:
            # Not sparse: to allocate while writing takes longer, and fails late.
            os.posix_fallocate(image.fileno(), 0, size)
        device = command('losetup', '--find', '--show', '--direct-io=on', file).strip()
        command(*make, device)
        command('mount', '-o', options, device, point)
        postgres.make_place(point)
        yield point
    finally:
        with host.uninterrupted():
            remove(place)

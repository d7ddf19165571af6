"""Devices to recover on: a directory's own, or an array of scripts/disklab.

A device holds one image at a time.  On an array, and on another file system
than the images', a pristine copy of it is loaded first, which all copies for
recoveries are made from.  On an array those share their extents: each lies on
the disks exactly where the pristine one does, and making it takes no time.

Arrays are one and a half times as large as what is on them, so that seeks are
as long as on a disk in service; more where recoveries write much.  What is on
their modelled disks is kept beside the images, or where REDOAHEAD_DISKLAB_DIR
names a directory, on tmpfs for instance: then other work on the machine's disk
cannot make the disks late.
"""
import contextlib
import dataclasses
import errno
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass

from . import host, postgres

DISKLAB = os.path.join(postgres.ROOT, 'scripts/disklab')
SPARE = 1.5                     # size of an array ÷ size of the image
SMALLEST = 4 << 30              # bytes of an array; btrfs allots space by the gigabyte

# Arguments of `disklab up`.
ARRAYS = {
    'raid0': ['--model', 'hdd', '--disks', '8', '--raid', '0'],
    'raid10': ['--model', 'hdd', '--disks', '8', '--raid', '10'],
    'gp3': ['--model', 'gp3', '--raid', 'single'],
}


@dataclass(frozen=True)
class Stage:
    """A device with an image on it, ready for recoveries."""
    image: object               # the image.Image to copy from
    directory: str              # where copies are made
    copy: object                # function(source, target), both on the device
    model: object               # function() that returns the state of the disk model, or None


class Directory:
    """The file system that a directory is on."""

    def __init__(self, name, directory):
        self.name = name        # as given by the user
        self.directory = directory      # where it may make directories of its own

    def describe(self):
        return {'name': self.name, 'device': host.device_text(self.directory),
                'filesystem': host.mount_of(self.directory)[2]}

    @contextlib.contextmanager
    def stage(self, image, say, written=0):
        """A Stage for an image, with room for so many bytes that recoveries write.

        All that it put on the device is removed at the end.
        """
        home = os.path.join(self.directory, 'redoahead-recovery')
        postgres.remove_tree(home)
        same = os.stat(self.directory).st_dev == os.stat(image.directory).st_dev
        need = image.facts['data_bytes'] * (1.3 if same else 2.3) + written
        host.require_space(self.directory, int(need))
        postgres.make_place(home)
        try:
            yield Stage(image if same else load(image, home, say), os.path.join(home, 'data'),
                        postgres.copy_cluster, None)
        finally:
            with host.uninterrupted():
                postgres.remove_tree(home)


class Array:
    """An array of modelled disks, which is made for each image, and removed."""

    def __init__(self, name, state):
        self.name = name
        self.state = state      # state directory of disklab
        self.found = {'name': name, 'device': None, 'filesystem': 'btrfs',
                      'disk_below': host.device_text(os.path.dirname(state))}

    def describe(self):
        return self.found

    def lab(self, verb, *arguments):
        """Run disklab; returns its output.  When it is interrupted it may clean up."""
        child = subprocess.Popen([DISKLAB, verb, *arguments, '--dir', self.state], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 **postgres.as_self())
        try:
            output, errors = child.communicate()
        except BaseException:
            child.send_signal(signal.SIGTERM)
            child.communicate()
            raise
        if child.returncode != 0:
            raise host.HostError(f'disklab {verb} failed: {errors.strip()}')
        return output

    def model(self):
        """What `disklab status --json` calls health, since `disklab run`, but at once."""
        with open(os.path.join(self.state, 'files/stats'), encoding='ascii') as file:
            return json.load(file)

    def copy(self, source, target):
        """A fresh copy, on disks with cold caches and counters at zero."""
        self.lab('load')
        postgres.copy_cluster(source, target, reflink='always')
        self.lab('run')

    @contextlib.contextmanager
    def stage(self, image, say, written=0):
        arguments = ARRAYS[self.name]
        size = max(int(image.facts['data_bytes'] * SPARE) + written, SMALLEST)
        host.require_space(os.path.dirname(self.state), size)
        self.lab('down', '--force')
        try:
            mount = self.lab('up', *arguments, '--size', f'{-(-size >> 20)}M').strip()
            self.found['device'] = f'{self.name}: {host.device_text(mount)} ({arguments[1]} model)'
            status = json.loads(self.lab('status', '--json'))
            self.found['array'] = {key: status[key]
                                   for key in ('model', 'raid', 'disks', 'size_bytes')}
            self.lab('load')
            home = os.path.join(mount, 'stage')
            postgres.make_place(home)
            pristine = load(image, home, say)
            fill(mount)
            yield Stage(pristine, os.path.join(home, 'data'), self.copy, self.model)
        finally:
            with host.uninterrupted():
                self.lab('down', '--force')


def fill(mount):
    """Write once to where recoveries will write.

    The files that the model keeps the data in are sparse.  Finding room in
    them takes longer than the model allows for.  More than half is left,
    because btrfs's own trees do not find room where data was.  Where btrfs has
    less room for data than it reports, on a single disk for instance, less must do.
    """
    path = os.path.join(mount, 'fill')
    left = int(shutil.disk_usage(mount).free * 0.4)
    zeroes = bytes(1 << 20)
    with open(path, 'wb', buffering=0) as file:
        try:
            while left > 0:
                left -= file.write(zeroes)
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    os.remove(path)
    os.sync()                   # only then is the room free again


def load(image, home, say):
    """Put a pristine copy of an image on a device; returns it as an image."""
    say(f'{image.workload.name}: loading {image.facts["data_bytes"] >> 20} MB')
    pristine = os.path.join(home, 'pristine')
    postgres.run(['cp', '-a', '--reflink=never', image.directory, pristine])
    os.sync()
    return dataclasses.replace(image, directory=pristine)


def find(name, root):
    """The device of a name, which may be a directory; root is where copies are, on that."""
    if name == 'ssd':
        return Directory(name, root)
    if name in ARRAYS:
        if os.geteuid() != 0:
            raise host.HostError(f'{name} needs root, because disklab mounts; or use --device ssd')
        state = os.environ.get('REDOAHEAD_DISKLAB_DIR') or os.path.join(root, 'disklab')
        if not os.path.isdir(os.path.dirname(os.path.abspath(state))):
            raise host.HostError(f'REDOAHEAD_DISKLAB_DIR is {state}, but there is no directory '
                                 f'{os.path.dirname(os.path.abspath(state))}; make it')
        return Array(name, os.path.abspath(state))
    if not os.path.isdir(name):
        raise host.HostError(f'{name} is neither a directory nor one of ssd, {", ".join(ARRAYS)}')
    return Directory(name, root)

"""A memory limit for servers and daemons: a memory cgroup, version 1 or 2.

The group lies at the top of the hierarchy that is mounted, and is gone when
the `with` block ends; one that a killed program left behind is removed when
the next is made.  What is written to a device is not limited, and no CPU time.

Processes enter the group before they become another user and before they run
what was requested, so that everything they do is counted.
"""
import glob
import os
import re
import time

from . import host

PREFIX = 'redoahead-bench-'


def hierarchy():
    """Mount point and version of the hierarchy that limits memory."""
    unified = None
    with open('/proc/self/mounts', encoding='utf-8') as file:
        for line in file:
            _, point, kind, options = line.split()[:4]
            if kind == 'cgroup' and 'memory' in options.split(','):
                return point, 1
            if kind == 'cgroup2':
                unified = point
    available = host.first_line(f'{unified}/cgroup.controllers') if unified else None
    if 'memory' not in (available or '').split():
        raise host.HostError('this system has no memory cgroups, which the case needs; '
                             'mount one, or choose other cases with --case')
    return unified, 2


def write(path, value):
    with open(path, 'w', encoding='ascii') as file:
        file.write(str(value))


def refusal(error):
    return host.HostError(f'cannot limit memory with a cgroup: {error}; run as root, or choose '
                          'cases without a memory limit with --case')


class MemoryLimit:
    """A cgroup with so many bytes of memory, page cache included, and no swap."""

    def __init__(self, limit):
        self.limit = limit      # bytes
        self.top, self.version = hierarchy()
        self.directory = os.path.join(self.top, f'{PREFIX}{os.getpid()}')

    def __enter__(self):
        remove_stale(self.top)
        try:
            if self.version == 2:
                write(os.path.join(self.top, 'cgroup.subtree_control'), '+memory')
            os.mkdir(self.directory)
        except OSError as error:
            raise refusal(error) from None
        try:
            if self.version == 2:
                self.set('memory.max', self.limit)
                self.try_set('memory.swap.max', 0)
            else:
                self.set('memory.limit_in_bytes', self.limit)
                self.try_set('memory.swappiness', 0)
        except OSError as error:
            self.__exit__()
            raise refusal(error) from None
        return self

    def __exit__(self, *exception):
        end = time.monotonic() + 10
        while True:
            try:
                os.rmdir(self.directory)
                return
            except FileNotFoundError:
                return
            except OSError:     # what has just ended is still being counted
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def set(self, name, value):
        write(os.path.join(self.directory, name), value)

    def try_set(self, name, value):
        """Set what not every kernel has."""
        try:
            self.set(name, value)
        except OSError:
            pass

    def command(self, arguments):
        """A command that enters the group, and then is the one with these arguments."""
        return ['sh', '-c', 'echo 0 >"$0" && exec "$@"',
                os.path.join(self.directory, 'cgroup.procs'), *arguments]

    def facts(self):
        """How it went so far, for the record of a run."""
        peak = 'memory.peak' if self.version == 2 else 'memory.max_usage_in_bytes'
        reached = host.first_line(os.path.join(self.directory, peak))
        return {'version': self.version, 'limit_bytes': self.limit,
                'peak_bytes': int(reached) if reached else None}


def remove_stale(top):
    """Remove the groups of programs that are gone."""
    for directory in glob.glob(f'{top}/{PREFIX}*'):
        pid = re.search(r'\d+$', directory)
        if pid and not os.path.exists(f'/proc/{pid[0]}'):
            try:
                os.rmdir(directory)
            except OSError:     # a server of that program still runs there
                pass

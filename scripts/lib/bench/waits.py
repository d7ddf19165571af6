"""Redo's reads by what made them wait, as scripts/bt/redo-waits.bt counts them.

It sees what strace cannot: whether a read slept, and for a page that somebody
else had requested.  It follows every startup process of the machine, so it is
no evidence when there was more than one.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

from . import host, postgres, recovery

SCRIPT = os.path.join(postgres.ROOT, 'scripts/bt/redo-waits.bt')
CHECKS = 2400                   # for the file that shows that it has begun, POLL seconds apart

# Before a command: where tracefs is mounted, but for nobody else.
TRACEFS = ['unshare', '--mount', 'sh', '-c', '[ -e /sys/kernel/tracing/events ] || '
           'mount -t tracefs tracefs /sys/kernel/tracing || exit; exec "$@"', 'sh']


def missing():
    """Why it cannot be used on this machine, in words; None if it can."""
    if not shutil.which('bpftrace'):
        return 'bpftrace is missing; run scripts/bootstrap'
    if not os.path.exists('/sys/kernel/btf/vmlinux'):
        return 'the kernel has no BTF'
    tried = subprocess.run(
        [*TRACEFS, 'bpftrace', '-e', 'tracepoint:sched:sched_switch { exit(); }'],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return f'bpftrace does not work: {tried.stderr.strip()[-300:]}' if tried.returncode else None


class Waits:
    """Counts while the `with` block of beside() lasts; they are in `counts` then."""

    def __init__(self, place):
        self.place = place
        self.counts = None      # {'found': reads, 'late': ..., 'missed': ...}

    @contextlib.contextmanager
    def beside(self):
        begun, over, during, output = (os.path.join(self.place, 'waits.' + name)
                                       for name in ('begun', 'over', 'sh', 'json'))
        # bpftrace runs this when all is attached, and ends with it.
        with open(during, 'w', encoding='utf-8') as file:
            file.write(f'touch {begun}\nuntil [ -e {over} ]; do sleep 0.05; done\n')
        child = postgres.Process(
            [*TRACEFS, 'bpftrace', '-f', 'json', '-o', output, '-c',
             f'{os.path.realpath("/bin/sh")} {during}', SCRIPT],
            os.path.join(self.place, 'waits.log'), as_user=postgres.as_self)
        try:
            for _ in range(CHECKS):
                if os.path.exists(begun) or not child.running():
                    break
                time.sleep(postgres.POLL)
            if not os.path.exists(begun):
                raise host.HostError(f'{SCRIPT} does not begin:\n{child.text()[-2000:]}')
            yield
        finally:
            with open(over, 'w', encoding='utf-8'):
                pass
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.child.wait(60)
            child.end()
        self.counts = read(output)

    def of(self, reads):
        """The counts, if they are of that many reads in all, else None."""
        seen = sum(self.counts.values())
        if seen == reads:
            return self.counts
        print(f'redo-waits.bt saw {seen} reads and not {reads}, as if another server recovered '
              'meanwhile: left out', file=sys.stderr)
        return None


def read(path):
    """Reads by class, from what bpftrace wrote."""
    counts = dict.fromkeys(('found', 'late', 'missed'), 0)
    with open(path, encoding='utf-8') as file:
        for line in file:
            row = json.loads(line) if line.strip() else {}
            for name, buckets in (row.get('data', {}).get('@us', {}).items()
                                  if row.get('type') == 'hist' else ()):
                if name in counts:
                    counts[name] = sum(bucket['count'] for bucket in buckets)
    if not any(counts.values()):
        raise recovery.RunRejected(f'{path} has no reads')
    return counts

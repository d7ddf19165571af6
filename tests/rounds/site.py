"""Where rounds take place: servers, workloads, stock's recoveries, the modelled disk."""
import contextlib
import dataclasses
import os
import secrets
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from bench import cgroup, device, host, postgres, script

from . import stage, workload


# What a fault needs of the machine.
PROBES = {
    'other_clocks': ['unshare', '--time', '--monotonic=1', '--', 'true'],
    'fill_files': ['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'],
}


@dataclass(frozen=True)
class Reference:
    """Stock's recovery of a case."""
    seconds: float              # that it took
    data: str                   # data directory that it made


class Lab:
    """A modelled disk, whose requests are answered at once unless it fails or stalls."""

    def __init__(self, directory):
        self.array = device.Array('gp3', directory)
        self.close()            # what a killed campaign has left
        try:
            self.mount = self.array.lab('up', '--model', 'gp3', '--raid', 'single', '--size', '2G').strip()
            self.array.lab('load')
            postgres.make_place(self.mount)
        except BaseException:
            with host.uninterrupted():
                self.close()
            raise

    def control(self, text):
        """Have the next reads fail, or requests wait: `fail NUMBER`, `stall MILLISECONDS`."""
        with open(os.path.join(self.array.state, 'files/control'), 'w', encoding='ascii') as file:
            file.write(text)

    def close(self):
        self.array.lab('down', '--force')


class Site:
    """All that rounds share; a `with` block, after which nothing is left of it."""

    def __init__(self, base, kept):
        self.base = base        # for what root runs: nobody else can change it
        self.root = os.path.join(base, 'work')  # the servers' user's
        self.kept = kept        # where logs of failed rounds stay
        self.is_root = os.geteuid() == 0
        self.builds = {'stock': postgres.find_build('stock'), 'patched': script.find_patched()}
        self.daemon = os.path.join(base, 'redoahead')
        self.fake = os.path.join(base, 'fake_daemon.py')
        self.workloads = {}     # by name
        self.references = {}    # by case; data by workload and kind
        self.primaries = {}     # by workload's name
        self.lab_made = None
        self.missing = self.find_missing()      # faults that cannot happen here: name -> why

    def find_missing(self):
        """What this machine lacks, by trying it."""
        missing = {}
        for name, command in PROBES.items():
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode != 0:
                missing[name] = (done.stderr.strip() or 'it does not work').splitlines()[0]
        try:
            with cgroup.MemoryLimit(1 << 30):
                pass
        except host.HostError as error:
            missing['limit_memory'] = str(error)
        if not self.is_root:
            missing['scribble_ring'] = 'it needs root'
        return missing

    def adapt(self, plan):
        """The plan as it can be carried out here: without a modelled disk, on another."""
        if plan.device == 'model' and 'fail_reads' not in self.missing:
            try:
                _ = self.lab
            except host.HostError as error:
                self.missing |= {'fail_reads': str(error), 'stall_device': str(error)}
        return dataclasses.replace(plan, device='disk') if 'fail_reads' in self.missing else plan

    def __enter__(self):
        postgres.make_place(self.root)
        # The servers' user may not be able to reach the clone.
        shutil.copy(self.builds['patched'].daemon, self.daemon)
        shutil.copy(os.path.join(postgres.ROOT, 'tests/tools/fake_daemon.py'), self.fake)
        return self

    def __exit__(self, *exception):
        with host.uninterrupted():
            for primary in self.primaries.values():
                primary.stop('immediate')
            if self.lab_made:
                self.lab_made.close()

    @property
    def lab(self):
        if not self.lab_made:
            self.lab_made = Lab(os.path.join(self.base, 'lab'))
        return self.lab_made

    def new_path(self, where, name):
        """A path for a directory, never the same: ext4 keeps apart what has different names.

        See keep_subdirectories_apart() of common.sh.  Short, for paths of sockets are limited.
        """
        return os.path.join(self.lab.mount if where == 'model' else self.root,
                            f'{name}-{secrets.token_hex(3)}')

    def workload(self, name):
        """A workload, made when it is first needed."""
        if name not in self.workloads:
            self.workloads[name] = workload.make(name, os.path.join(self.root, name), self.builds['stock'])
        return self.workloads[name]

    def primary(self, name):
        """Where a primary listens that streams the WAL of a workload."""
        if name not in self.primaries:
            directory = os.path.join(self.root, f'primary-{name}')
            workload.lay_out(self.workload(name), 'crash', directory)
            self.primaries[name] = workload.server(self.builds['stock'], directory, directory + '.log')
            self.primaries[name].wait_ready()
        return self.primaries[name].socket_directory

    def lay_out(self, plan, target):
        """Make a data directory to be recovered as planned, by either server."""
        primary = self.primary(plan.workload) if plan.kind == 'streaming' else None
        workload.lay_out(self.workload(plan.workload), plan.kind, target, plan.pace, primary)

    def stock(self, plan, anew=False):
        """Stock's recovery of the round's case, measured when it is first needed."""
        if anew or plan.case not in self.references:
            kept = os.path.join(self.root, f'stock-{plan.workload}-{plan.kind}')
            target = self.new_path(plan.device, 'stock')
            self.lay_out(plan, target)
            log = os.path.join(self.root, 'stock.log')
            with stage.Recovering(self.builds['stock'], target, log) as server:
                stage.wait_until("stock's recovery", server.ready)
                server.stop('fast')
            if not os.path.exists(kept):
                workload.copy_tree(target, kept)
            postgres.remove_tree(target)
            self.references[plan.case] = Reference(server.seconds(), kept)
        return self.references[plan.case]


@contextlib.contextmanager
def make(kept):
    """A site in a directory of its own, for a `with` block."""
    base = tempfile.mkdtemp(prefix='redoahead-campaign.', dir='/var/tmp')
    try:
        os.chmod(base, 0o755)
        with Site(base, kept) as site:
            yield site
    finally:
        with host.uninterrupted():
            postgres.remove_tree(base)

"""The machine: what it is, its page cache, its free space, what others could change in it.

Knows nothing of PostgreSQL.
"""
import contextlib
import ctypes
import fcntl
import glob
import mmap
import os
import platform
import pwd
import re
import shutil
import signal
import stat
import subprocess
import threading

MB = 1024 * 1024


class HostError(Exception):
    """The machine cannot do what was requested; the message has the remedy."""


class Sampler(threading.Thread):
    """Calls sample() every so many seconds, as long as the `with` block lasts."""

    def __init__(self, interval):
        super().__init__(daemon=True)
        self.interval = interval
        self.over = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.over.set()
        self.join()

    def run(self):
        while not self.over.wait(self.interval):
            self.sample()


ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def deferred():
    """A signal that would end us is handled at the end of the `with` block.

    Its handler runs in the main thread, whichever thread the kernel chose, so that
    other threads need nothing of the kind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = {number: signal.signal(number, lambda number, frame: came.append(number))
              for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def uninterrupted():
    """What is begun in the `with` block is done to its end, by children, too."""
    with deferred():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---------- what it is ----------

def first_line(path, prefix=''):
    """The rest of the first line that starts with prefix, or None."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            for line in file:
                if line.startswith(prefix):
                    return line[len(prefix):].strip(' \t\n:')
    except OSError:
        pass
    return None


def mount_of(path):
    """Device, mount point and filesystem type of the mount that holds path."""
    path = os.path.realpath(path)
    best = ('', '', '')
    with open('/proc/self/mounts', encoding='utf-8') as file:
        for line in file:
            device, point, kind = line.split()[:3]
            point = point.replace('\\040', ' ')
            inside = path == point or path.startswith(point.rstrip('/') + '/')
            if inside and len(point) >= len(best[1]):
                best = (device, point, kind)
    return best


def block_device(path):
    """Directory in sysfs of the block device that holds path, or None."""
    number = os.stat(path).st_dev
    sysfs = f'/sys/dev/block/{os.major(number)}:{os.minor(number)}'
    return os.path.realpath(sysfs) if os.path.exists(f'{sysfs}/stat') else None


def devices_below(path):
    """Directories in sysfs of the block devices whose reads serve path.

    btrfs lies on devices of its own choice, and reports on which.  An empty list
    means that nothing is known.
    """
    sysfs = block_device(path)
    if sysfs is not None:
        return [sysfs]
    device, _, kind = mount_of(path)
    if kind == 'btrfs':
        for members in glob.glob('/sys/fs/btrfs/*/devices'):
            names = sorted(os.listdir(members), key=natural)
            if os.path.basename(os.path.realpath(device)) in names:
                return [os.path.realpath(f'{members}/{name}') for name in names]
    return []


def natural(name):
    """Sorts loop2 before loop10."""
    return [int(part) if part.isdigit() else part for part in re.split(r'(\d+)', name)]


def device_text(path):
    """The device that holds path, for a report."""
    below = devices_below(path)
    if len(below) > 1:
        return f'{mount_of(path)[2]} on ' + ', '.join(os.path.basename(each) for each in below)
    sysfs = below[0] if below else None
    if sysfs is None:
        return mount_of(path)[0] + ' (no block device statistics)'
    disk = sysfs if os.path.exists(f'{sysfs}/queue') else os.path.dirname(sysfs)
    model = first_line(f'{disk}/device/model') or 'no model name'
    kind = {'0': 'not rotational', '1': 'rotational'}.get(first_line(f'{disk}/queue/rotational'))
    return f'{os.path.basename(sysfs)} ({model}, {kind or "unknown kind"})'


def commit_of(directory):
    """Commit of the checkout, marked if files were changed since, or None."""
    try:
        command = ['git', '-c', f'safe.directory={directory}', '-C', directory]
        commit = subprocess.run(command + ['rev-parse', 'HEAD'], check=True, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
        dirty = subprocess.run(command + ['status', '--porcelain', '-uno'], text=True, check=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ('+changes' if dirty else '')


def huge_pages():
    """Memory that is set aside for huge pages, which huge_pages = try uses, bytes."""
    number, size = (first_line('/proc/meminfo', name) for name in ('HugePages_Total', 'Hugepagesize'))
    return int(number) * int(size.split()[0]) * 1024 if number and size else 0


def proactive_reclaim(sysfs='/sys'):
    """May the kernel evict pages that look cold to DAMON, though memory is free?"""
    if first_line(f'{sysfs}/module/damon_reclaim/parameters/enabled') == 'Y':
        return True
    return any(first_line(f'{daemon}/state') == 'on' and first_line(action) == 'pageout'
               for daemon in glob.glob(f'{sysfs}/kernel/mm/damon/admin/kdamonds/[0-9]*')
               for action in glob.glob(f'{daemon}/contexts/*/schemes/*/action'))


def describe(directory, checkout):
    """Facts of the machine that every result carries."""
    pages = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    return {
        'kernel': f'{platform.system()} {platform.release()} {platform.machine()}',
        'cpus': len(os.sched_getaffinity(0)),
        'cpu_model': first_line('/proc/cpuinfo', 'model name') or platform.machine(),
        'memory_bytes': pages,
        'huge_pages_bytes': huge_pages(),
        'proactive_reclaim': proactive_reclaim(),
        'device': device_text(directory),
        'filesystem': mount_of(directory)[2],
        'commit': commit_of(checkout),
    }


# ---------- what other users could change ----------

def user_name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def not_ours(path):
    """Why another user could change what is in a directory, in words; None if none could."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return 'it is a symbolic link'
    if not stat.S_ISDIR(found.st_mode):
        return 'it is no directory'
    if found.st_uid != os.geteuid():
        return f'it belongs to user {user_name(found.st_uid)}'
    if found.st_mode & 0o022:
        return 'other users can write to it'
    while path != '/':
        path = os.path.dirname(path)
        found = os.lstat(path)
        if found.st_uid not in (0, os.geteuid()):
            return f'{path}, which it is in, belongs to user {user_name(found.st_uid)}'
        if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
            return f'other users can write to {path}, which it is in'
    return None


def claim(path, option='REDOAHEAD_BENCH_DIR'):
    """Make a directory, or find one, that no other user can change; returns its real path.

    Others could put links in place of what is made there, which root would follow.
    """
    parent, name = os.path.split(os.path.abspath(path))
    mask = os.umask(0o022)      # of many users, it lets their group write
    os.umask(mask | 0o022)
    try:
        os.makedirs(parent, exist_ok=True)
        path = os.path.join(os.path.realpath(parent), name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
    finally:
        os.umask(mask)
    reason = not_ours(path)
    if reason:
        raise HostError(f'{path} cannot be used, because {reason}; name a directory with {option} '
                        f'that only user {user_name(os.geteuid())} can write to')
    return path


def create(path, mode='w', **more):
    """Open a new file.  What has its name is removed; a link is not followed."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_IFMT(os.lstat(path).st_mode) in (stat.S_IFREG, stat.S_IFLNK):
            os.unlink(path)
    return open(path, mode.replace('w', 'x'), **more)


@contextlib.contextmanager
def locked(path, busy):
    """Hold a lock file for a `with` block.  While another holds it, busy() is called and may
    raise; if it returns, we wait."""
    while True:
        with open(path, 'w', encoding='ascii') as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                busy()
                fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it may have removed it, and a third one made it anew.
            if os.fstat(file.fileno()).st_nlink > 0:
                yield
                return


# ---------- space ----------

def require_space(directory, size):
    """Raise HostError unless directory's filesystem has size bytes free."""
    free = shutil.disk_usage(directory).free
    if free < size:
        raise HostError(f'{directory} has {free // MB} MB free, and {size // MB} MB are needed; '
                        'free some, or set REDOAHEAD_BENCH_DIR to a larger filesystem')


def tree_size(directory):
    """Bytes in the files below a directory."""
    return sum(os.path.getsize(os.path.join(where, name))
               for where, _, names in os.walk(directory) for name in names)


# ---------- the page cache ----------

def files_below(directory):
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path):
                yield path


def chill(directory):
    """Drop a directory's files from the page cache; returns how it was done.

    Root drops every clean page, dentry and inode of the machine.  Others can
    only drop the pages of the files themselves, which the device must hold
    already: that is why everything is written out first.
    """
    os.sync()
    try:
        with open('/proc/sys/vm/drop_caches', 'w', encoding='ascii') as file:
            file.write('3')
        return 'cold (drop_caches)'
    except OSError:
        pass
    evict(directory)
    left = sum(cached_pages(path) for path in files_below(directory)) * os.sysconf('SC_PAGE_SIZE')
    if left > 8 * MB:
        raise HostError(f'{left // MB} MB of {directory} stay in the page cache after '
                        'POSIX_FADV_DONTNEED; run as root, who can drop caches')
    return 'cold (POSIX_FADV_DONTNEED on each file)'


def evict_file(path):
    """Evict a file's clean pages from the page cache."""
    with open(path, 'rb', buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def evict(directory):
    """Evict a directory's files, and nothing else."""
    os.sync()
    for path in files_below(directory):
        evict_file(path)


def residency(path):
    """Which pages of a file are in the page cache: for each, true or false."""
    size = os.path.getsize(path)
    if size == 0:
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    answers = ctypes.create_string_buffer(-(-size // os.sysconf('SC_PAGE_SIZE')))
    # Queries the pages, touches none; ctypes takes the address of what can be written only.
    with open(path, 'rb', buffering=0) as file, \
            mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as pages:
        start = ctypes.c_char.from_buffer(pages)
        failed = libc.mincore(ctypes.byref(start), ctypes.c_size_t(size), answers)
        del start               # it would keep the pages mapped
    if failed:
        raise HostError(f'mincore of {path}: {os.strerror(ctypes.get_errno())}')
    return [bool(byte & 1) for byte in answers.raw]


def cached_pages(path):
    """Pages of a file that are in the page cache."""
    return sum(residency(path))


def warm(directory):
    """Bring all files of a directory into the page cache; returns how."""
    os.sync()
    for path in files_below(directory):
        fetch(path)
    return 'warm (every file read)'


def fetch(path):
    """Bring a file into the page cache."""
    buffer = bytearray(MB)
    with open(path, 'rb', buffering=0) as file:
        while file.readinto(buffer):
            pass

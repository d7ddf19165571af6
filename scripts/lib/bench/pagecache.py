"""What became of the pages that the daemon brought into the page cache.

The kernel reports, through events in tracefs: who added a page to the page
cache, that a page left it, and who read which pages through it.  Of each page
of a relation or an SLRU that the daemon added, the next thing that happens to
it is one of these:

    used       the startup process reads it
    evicted    it is evicted from the page cache before that
    left       neither, until redo ends

and of each page that the startup process had to add itself, because it was not
there, it is known whether the daemon had read it before and it was evicted.

Of the read calls of the startup process, it is also known what made them wait:

    missed      it added a page of its own
    late        it added none, and slept until another process's read was complete
    timely      neither

The trace has a buffer of its own (an instance), so that other tracing is not
disturbed; it goes when the `with` block ends.  Tracing costs CPU time: what is
timed should not be traced.
"""
import contextlib
import os
import re
import subprocess
import tempfile
import time

from . import host, loop

BUFFER_KB = 32 * 1024           # for each CPU
PAGE = os.sysconf('SC_PAGE_SIZE')
ADD, DELETE, READ = ('mm_filemap_add_to_page_cache', 'mm_filemap_delete_from_page_cache',
                     'mm_filemap_get_pages')
EVENTS = tuple(f'filemap/{name}' for name in (ADD, DELETE, READ))
WAIT_EVENTS = {'sched/sched_switch': 'prev_comm == "postgres" && prev_state & 2',
               **{f'syscalls/sys_enter_{call}': 'comm == "postgres"'
                  for call in ('pread64', 'preadv', 'preadv2')}}

# `cat-123 [001] d..2. 12.345: NAME: dev 254:0 ino 1a pfn=0x1 ofs=4096 order=0`,
# and for READ `dev=254:0 ino=1a ofs=4096-12287`.
LINE = re.compile(r'\s*(.+)-(\d+)\s+\[\d+\] .*? (mm_filemap_\w+): dev.\d+:\d+ ino.([0-9a-f]+) '
                  r'(?:pfn=\w+ )?ofs=(\d+)(?:-(\d+))?(?: order=(\d+))?')
WAIT_LINE = re.compile(r'\s*.+-(\d+)\s+\[\d+\] .*? (?:(sched_switch): |sys_pread)')
CLASSES = ('timely', 'late', 'missed')


def mounted():
    """Where tracefs is mounted, or None."""
    with open('/proc/self/mounts', encoding='utf-8') as file:
        for line in file:
            _, point, kind = line.split()[:3]
            if kind == 'tracefs':
                return point
    return None


@contextlib.contextmanager
def tracefs():
    """The directory of tracefs, which is mounted if it is not."""
    point = mounted()
    if point:
        yield point
        return
    point = tempfile.mkdtemp(prefix='redoahead-tracefs.')
    try:
        loop.command('mount', '-t', 'tracefs', 'tracefs', point)
    except host.HostError as error:
        os.rmdir(point)
        raise host.HostError(f'cannot trace: {error}; run as root, on a kernel with tracefs') \
            from None
    try:
        yield point
    finally:
        loop.unmount(point)
        os.rmdir(point)


def missing(events=EVENTS):
    """Why this machine cannot report that, in words; None if it can."""
    if os.geteuid() != 0:
        return 'must be root to trace'
    try:
        with tracefs() as point:
            for name in events:
                if not os.path.exists(f'{point}/events/{name}/enable'):
                    return f'this kernel has no event {name} (6.11 and later have)'
    except host.HostError as error:
        return str(error)
    return None


def write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def remove_leftovers(instances):
    """Remove the instances of runs that were killed; the kernel would keep their buffers."""
    for name in os.listdir(instances):
        found = re.fullmatch(r'redoahead-(\d+)-\d+', name)
        if found and not os.path.exists(f'/proc/{found[1]}'):
            with contextlib.suppress(OSError):      # its reader has not ended yet
                os.rmdir(os.path.join(instances, name))


class Trace:
    """Page cache events of one file system, written to a file while the `with` block lasts.

    With "waits", also the wait events, and all only of what this thread starts.
    """

    def __init__(self, directory, output, waits=False):
        number = os.stat(directory).st_dev
        # the kernel's own number: 12 bits and 20
        device = os.major(number) << 20 | os.minor(number)
        self.events = {name: f's_dev == {device}' for name in EVENTS}     # and their filters
        self.waits = waits
        if waits:
            self.events.update(WAIT_EVENTS)
        self.output = output    # path of the file
        self.lost = None        # events that did not fit into the buffer
        self.stack = contextlib.ExitStack()
        self.reader = None

    def __enter__(self):
        with self.stack:
            point = self.stack.enter_context(tracefs())
            remove_leftovers(f'{point}/instances')
            instance = f'{point}/instances/redoahead-{os.getpid()}-{len(self.events)}'
            os.mkdir(instance)
            self.stack.callback(os.rmdir, instance)
            write(f'{instance}/buffer_size_kb', str(BUFFER_KB))
            write(f'{instance}/trace_clock', 'mono')
            if self.waits:
                write(f'{instance}/options/event-fork', '1')
                write(f'{instance}/set_event_pid', str(os.getpid()))
            self.instance = instance
            with host.create(self.output, 'wb') as file:
                # It must not outlive this process: the instance would stay.
                self.reader = subprocess.Popen(
                    ['setpriv', '--pdeathsig', 'KILL', 'cat', f'{instance}/trace_pipe'],
                    stdout=file, start_new_session=True)
            self.stack.callback(self.end_reader)
            for name, condition in self.events.items():
                write(f'{instance}/events/{name}/filter', condition)
                write(f'{instance}/events/{name}/enable', '1')
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *exception):
        with self.stack:
            for name in self.events:
                write(f'{self.instance}/events/{name}/enable', '0')
            self.drain()
            self.lost = self.overruns()

    def statistics(self, name):
        """The sum over CPUs of a number that the buffers report of themselves."""
        total = 0
        for cpu in os.listdir(f'{self.instance}/per_cpu'):
            total += int(host.first_line(f'{self.instance}/per_cpu/{cpu}/stats', f'{name}:') or 0)
        return total

    def overruns(self):
        return self.statistics('overrun') + self.statistics('dropped events')

    def drain(self):
        """Wait until all events are in the file."""
        end = time.monotonic() + 60
        while self.statistics('entries') > 0:
            if time.monotonic() > end:
                raise host.HostError('events are left in the buffers of the kernel after 60 s: the '
                                     'disk does not keep up; name a faster one with REDOAHEAD_BENCH_DIR')
            time.sleep(0.05)
        time.sleep(0.2)         # what was taken from the buffer last is being written

    def end_reader(self):
        self.reader.kill()
        self.reader.wait()


def data_inodes(directory):
    """Inode numbers of a cluster's relations and SLRUs."""
    return {os.stat(path).st_ino for path in host.files_below(directory)
            if '/pg_wal/' not in path[len(directory):]}


class Pages:
    """The pages that matter, and what happened to them so far."""

    def __init__(self):
        self.ahead = set()      # pages that the daemon added, and that were not used yet
        self.evicted = set()    # pages that were evicted from there, and not added since
        self.fresh = set()      # pages that the startup process added since its last read
        self.counts = dict.fromkeys(
            ('added', 'used', 'evicted', 'missed', 'missed_after_eviction'), 0)
        self.at_last_read = None        # the counts then, and those not used by then
        self.calls = dict.fromkeys(CLASSES, 0)
        self.slept = False      # did the startup process sleep since its call began?
        self.worst = -1         # of CLASSES, of the pages that the call has read; -1: none

    def begin_call(self):
        if self.worst >= 0:
            self.calls[CLASSES[self.worst]] += 1
        self.slept, self.worst = False, -1

    def add(self, page, by_daemon, by_startup):
        if by_daemon:
            self.ahead.add(page)
            self.evicted.discard(page)
            self.counts['added'] += 1
        elif by_startup:
            self.fresh.add(page)
        else:
            self.evicted.discard(page)

    def delete(self, page):
        if page in self.ahead:
            self.ahead.remove(page)
            self.evicted.add(page)
            self.counts['evicted'] += 1

    def read(self, pages):
        """The startup process has read these pages.

        What it added right before was not there.  What it added to write it is
        never read at once.
        """
        self.worst = max(self.worst, 2 if self.fresh.intersection(pages) else int(self.slept))
        for page in pages:
            if page in self.ahead:
                self.ahead.remove(page)
                self.counts['used'] += 1
            elif page in self.fresh:
                self.counts['missed'] += 1
                self.counts['missed_after_eviction'] += page in self.evicted
        self.evicted -= self.fresh
        self.fresh.clear()
        self.at_last_read = {**self.counts, 'left': len(self.ahead)}


def judge(lines, daemon, startup, inodes):
    """What became of the pages, as counts; lines is what a Trace wrote.

    daemon and startup are process ids.  Nothing counts after the last page
    that the startup process read.
    """
    pages = Pages()
    worker = f'iou-wrk-{daemon}'
    for line in lines:
        match = LINE.match(line)
        if not match:
            match = WAIT_LINE.match(line)
            if match and int(match[1]) == startup:
                if match[2]:
                    pages.slept = True
                else:
                    pages.begin_call()
            continue
        if int(match[4], 16) not in inodes:
            continue
        name, pid, inode, first = match[3], int(match[2]), match[4], int(match[5]) // PAGE
        if name == READ:
            if pid == startup:
                pages.read([(inode, page) for page in range(first, int(match[6]) // PAGE + 1)])
            continue
        for page in range(first, first + (1 << int(match[7] or 0))):
            if name == DELETE:
                pages.delete((inode, page))
            else:
                pages.add((inode, page), pid == daemon or match[1] == worker, pid == startup)
    result = pages.at_last_read
    if result is None:
        raise host.HostError('the trace has no read of the startup process')
    pages.begin_call()
    return {**result, 'calls': pages.calls, 'evicted_share': round(result['evicted'] / max(1, result['added']), 5)}

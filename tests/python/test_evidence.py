"""What strace, the kernel's events and pg_waldump print is understood."""
import os
import struct
import tempfile
import unittest

from bench import host, pagecache, redo_pages, syscalls, validate


class Calls(unittest.TestCase):
    def test_system_calls(self):
        def call(text, result, path='/d/base/5/16384.1'):
            name, arguments = text.split('(', 1)
            return f'1763.250000 {name}(7<{path}>, {arguments}) = {result}\n'

        found = syscalls.parse([
            call('pread64(""..., 8192, 16384', 8192),
            call('pread64(""..., 8192, 16384', 8192),
            call('preadv([{iov_base=""..., iov_len=8192}, {iov_base=""..., iov_len=8192}], 2, '
                 '32768', 16384),
            call('preadv2([{iov_base=""..., iov_len=8192}], 1, 65536, 0', 8192),
            call('pread64(""..., 8192, 81920', 0),
            call('pread64(0x7ffd, 8192, 81920', '-1 EIO (Input/output error)'),
            call('pread64(""..., 8192, 8192', 8192, '/elsewhere/base/5/16384'),
            call('pread64(""..., 24, 0', 24, '/d/global/pg_filenode.map'),
            call('pread64(""..., 8192, 8192', 8192, '/d/pg_xact/0000'),
            call('pread64(""..., 8192, 40960', 8192, '/d/pg_wal/000000010000000000000001'),
            call('pwrite64(""..., 8192, 8192', 8192),
            call('pwritev([{iov_base=""..., iov_len=8192}], 1, 24576', 8192),
            call('fadvise64(98304, 8192, POSIX_FADV_WILLNEED', 0),
            call('fadvise64(0, 8192, POSIX_FADV_DONTNEED', 0),
            '1763.3 --- SIGUSR1 {si_signo=SIGUSR1} ---\n', '1763.4 +++ exited with 0 +++\n'], '/d')
        file = 'base/5/16384.1'
        self.assertEqual(found.reads, {(file, 2): 2, (file, 4): 1, (file, 5): 1, (file, 8): 1,
                                       ('pg_xact/0000', 1): 1})
        self.assertEqual(found.calls, {file: 4, 'pg_xact/0000': 1})
        self.assertEqual(found.bytes, 6 * 8192)
        self.assertEqual(found.written, {(file, 1), (file, 3)})
        self.assertEqual(found.advised, {(file, 12)})
        self.assertEqual(found.wal_bytes, 8192)


class Pages(unittest.TestCase):
    @staticmethod
    def line(name, pid, page, more='', comm='redoahead', ino='1f'):
        return (f'  {comm}-{pid}   [001] ...1. 12.5: {name}: dev 254:0 ino {ino} pfn=0x1b '
                f'ofs={page * 4096}{more}\n')

    def add(self, pid, page, order=0, **more):
        return self.line('mm_filemap_add_to_page_cache', pid, page, f' order={order}', **more)

    def delete(self, page, order=0):
        return self.line('mm_filemap_delete_from_page_cache', 9, page, f' order={order}',
                         comm='kswapd0')

    @staticmethod
    def read(pid, first, last):
        return (f'  postgres-{pid}   [000] ...1. 12.6: mm_filemap_get_pages: dev=254:0 ino=1f '
                f'ofs={first * 4096}-{last * 4096 + 4095}\n')

    @staticmethod
    def judge(*lines):
        found = pagecache.judge(lines, 100, 200, {0x1f})
        return tuple(found[name] for name in ('added', 'used', 'evicted', 'missed',
                                              'missed_after_eviction', 'left'))

    def test_page_cache_events(self):
        add, delete, read, judge = self.add, self.delete, self.read, self.judge
        used = (add(100, 0), add(100, 1), read(200, 0, 1))
        self.assertEqual(judge(*used), (2, 2, 0, 0, 0, 0))
        # used and then evicted is as it should be; used once is enough
        self.assertEqual(judge(*used, delete(0), delete(1), add(200, 0), read(200, 0, 0)),
                         (2, 2, 0, 1, 0, 0))
        # evicted before, and missed therefore
        self.assertEqual(judge(add(100, 0, 1), delete(0, 1), add(200, 0), add(200, 1),
                               read(200, 0, 1)), (2, 0, 2, 2, 2, 0))
        # never wanted, or not yet
        self.assertEqual(judge(add(100, 5), *used), (3, 2, 0, 0, 0, 1))
        # what happens later does not count
        self.assertEqual(judge(*used, add(100, 5), delete(5)), (2, 2, 0, 0, 0, 0))
        # other files, other readers, writes, and kernel threads of the daemon
        self.assertEqual(judge(add(100, 0, ino='2f'), read(300, 0, 1), *used), (2, 2, 0, 0, 0, 0))
        self.assertEqual(judge(add(200, 7), *used, read(200, 7, 7)), (2, 2, 0, 0, 0, 0))
        self.assertEqual(judge(add(101, 0, comm='iou-wrk-100'), read(200, 0, 0)),
                         (1, 1, 0, 0, 0, 0))
        with self.assertRaises(host.HostError):
            judge(add(100, 0))

    def test_what_made_a_read_wait(self):
        def call(pid=200):
            return f'  postgres-{pid}   [000] ..... 12.6: sys_pread64(fd: 5, buf: 0x7f, pos: 0)\n'

        def sleep(pid=200):
            return (f'  postgres-{pid}   [000] d..2. 12.6: sched_switch: prev_comm=postgres '
                    f'prev_pid={pid} prev_state=D ==> next_comm=swapper/0\n')

        add, read = self.add, self.read
        found = pagecache.judge([
            sleep(), call(), read(200, 0, 1),                       # it slept before
            call(), sleep(), read(200, 2, 3), sleep(),
            call(), read(200, 4, 5), call(300), sleep(300),
            call(), add(200, 6), sleep(), read(200, 6, 6), read(200, 7, 7),
            call(), add(200, 8), read(200, 8, 8), call(), sleep()], 100, 200, {0x1f})
        self.assertEqual(found['calls'], {'timely': 2, 'late': 1, 'missed': 2})


class Measures(unittest.TestCase):
    @staticmethod
    def measure(*numbers):
        return validate.Measure('blocks', *numbers, 'strace')

    def test_disagreement_is_a_part_of_the_whole(self):
        self.assertEqual(self.measure(90, 100, 100).disagreement, 0.1)
        self.assertEqual(self.measure(3, 1, 1000).disagreement, 0.002)
        self.assertEqual(self.measure(1, 0, 0).disagreement, 1)
        self.assertIsNone(self.measure(None, 5, 5).disagreement)

    def test_disagreement_is_marked(self):
        lines = list(validate.table(validate.CASES['off'], [
            self.measure(100, 100, 100), self.measure(98, 100, 100), self.measure(None, 7, 7)],
            0.01))
        self.assertEqual(['<--' in line for line in lines], [False, False, False, True, False])
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_segments_of_a_relation_are_one_file(self):
        self.assertEqual(validate.stem('base/5/16384_fsm.1'), 'base/5/16384_fsm')
        self.assertEqual(validate.stem('pg_multixact/offsets/0001'), 'pg_multixact/offsets')
        self.assertEqual(validate.stem('pg_tblspc/9/PG_18_1/5/7.2'), 'pg_tblspc/9/PG_18_1/5/7')


class RedoPages(unittest.TestCase):
    """Lost otherwise: measurements on pages that redo never saw."""

    def test_the_page_before_a_prune_record(self):
        def page(items, upper):
            return struct.pack('<8xHHHHHHI', 0, 0, 24 + 4 * len(items), upper, 8192, 8196, 0) + \
                struct.pack(f'<{len(items)}I', *items) + bytes(8168 - 4 * len(items))

        def item(offset, flags, length):
            return offset | flags << 15 | length << 17

        def line(lsn, what):
            return (f'rmgr: Heap2       len (rec/tot):     59/   123, tx:        740, '
                    f'lsn: 0/{lsn:08X}, prev 0/00000001, desc: {what}, '
                    'blkref #0: rel 1663/5/16384 blk 7 FPW for WAL verification')

        items = [item(8160 - 32 * at, 1, 28) for at in range(4)]
        images = {0x100: page(items, 8064), 0x200: page([item(3, 2, 0), 0, item(8160, 1, 28)], 8160)}
        listing = '\n'.join((
            line(0x100, 'HOT_UPDATE old_xmax: 740, old_off: 1'),
            line(0x200, 'PRUNE_ON_ACCESS snapshotConflictHorizon: 739, isCatalogRel: F, nplans: 0, '
                        'nredirected: 1, ndead: 0, nunused: 2, redirected: [1->3], '
                        'unused: [2, 4]')))
        with tempfile.TemporaryDirectory() as place:
            for lsn, image in images.items():
                name = f'00000001-00000000-{lsn:08X}.1663.5.16384.7_main'
                with open(os.path.join(place, name), 'wb') as file:
                    file.write(image)
            (before, after), = redo_pages.pages_of(listing, place, '1663/5/16384')
        self.assertEqual(redo_pages.line_pointers(before), (item(3, 2, 0), 0, items[2], 0))
        self.assertEqual(8192 - redo_pages.space_of(before), 8160)
        self.assertEqual(redo_pages.upper_of(after), 8160)
        self.assertEqual(redo_pages.upper_of(before), 8064)

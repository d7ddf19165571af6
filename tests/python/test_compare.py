"""What scripts/compare-clusters takes for a difference, and what not.

The clusters are made of a few hand-made pages: no server is needed.
"""
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
import unittest.mock

from bench import compare, postgres

COMMAND = os.path.join(postgres.ROOT, 'scripts/compare-clusters')
# pd_lower 100, pd_upper 8000, pd_special 8192
PAGE = struct.pack('<QHHHHHHI', 1, 0xABCD, 0, 100, 8000, 8192, 8196, 0) + b'p' * 76 + \
    bytes(7900) + b't' * 192
BRIN = struct.pack('<QHHHHHHI', 1, 0, 0, 24, 8184, 8184, 8196, 0) + b'r' * 8160 + \
    struct.pack('<HHHH', 0, 0, 0, 0xF092)
TABLE = 'base/5/16384'
SPACE = 'pg_tblspc/17000/PG_18_202506291/5/17001'
# A data directory, shut down, with two databases, a tablespace and an SLRU.
CLUSTER = {
    'global/pg_control': struct.pack('<QIII', 1, 1800, 202506291, 1),
    **dict.fromkeys(('global/1262', 'base/1/2619', TABLE, f'{TABLE}.1', f'{TABLE}_vm',
                     f'{TABLE}_fsm', 'base/5/20000', 'base/5/20000_init', 'base/5/t3_900', SPACE),
                    PAGE * 300),
    'base/5/30000': BRIN, 'base/5/pg_filenode.map': b'm' * 512,
    'base/5/pg_internal.init': b'i' * 512, 'pg_xact/0000': b'x' * 8192}


class Compare(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix='redoahead-compare.')
        self.addCleanup(shutil.rmtree, self.work)
        self.a, self.b = (os.path.join(self.work, name) for name in 'ab')
        for name, data in CLUSTER.items():
            path = os.path.join(self.a, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as file:
                file.write(data)
        shutil.copytree(self.a, self.b)

    def poke(self, name, *offsets):
        """Overwrite bytes of a file of b."""
        with open(os.path.join(self.b, name), 'r+b') as file:
            for offset in offsets:
                file.seek(offset)
                file.write(b'!')

    def truncate(self, name, more):
        os.truncate(os.path.join(self.b, name), 300 * 8192 + more)

    def found(self, **options):
        return compare.compare_clusters(self.a, self.b, **options)

    def check(self, *differences, **options):
        """The clusters must differ in this, and in nothing else; returns the result."""
        result = self.found(**options)
        self.assertEqual(result.differences, list(differences))
        return result

    def test_a_copy_is_identical_and_all_of_it_is_counted(self):
        result = self.check()
        self.assertEqual((result.files, result.blocks), (11, 2403))

    def test_bytes_of_tuples_line_pointers_and_lsn(self):
        self.poke(TABLE, 8192 * 3 + 50, 8192 * 200 + 8100)
        self.poke(f'{TABLE}.1', 7)
        self.check(f'{TABLE}: 2 blocks differ (3, 200)', f'{TABLE}.1: 1 blocks differ (0)')

    def test_the_hole_is_ignored_and_the_checksum_only_if_holes_differ(self):
        self.poke(TABLE, 8192 * 3 + 100, 8192 * 3 + 8, 8192 * 4 + 7999)
        self.assertEqual(self.check().holes, 2)
        self.poke(TABLE, 8192 * 5 + 8)
        self.check(f'{TABLE}: 1 blocks differ (5)')

    def test_a_different_hole_is_a_difference(self):
        self.poke(TABLE, 8192 * 3 + 12)
        self.check(f'{TABLE}: 1 blocks differ (3)')

    def test_what_looks_like_a_hole_counts_in_visibility_and_brin_range_maps(self):
        self.poke(f'{TABLE}_vm', 4000)
        self.poke('base/5/30000', 4000)
        self.check(f'{TABLE}_vm: 1 blocks differ (0)', 'base/5/30000: 1 blocks differ (0)')

    def test_holes_in_both_files_are_not_read_and_all_else_is(self):
        """Lost otherwise: minutes for zeros, or a page that follows them."""
        size, both, one = 1 << 28, 1 << 27, 20000 * 8192
        for directory, places in ((self.a, (both,)), (self.b, (both, one))):
            os.truncate(f'{directory}/{TABLE}', size)
            with open(f'{directory}/{TABLE}', 'r+b') as file:
                for place in places:
                    file.seek(place)
                    file.write(PAGE)
                if os.lseek(file.fileno(), size // 4, os.SEEK_DATA) < both:
                    self.skipTest('the file system reports no holes')
        with unittest.mock.patch('os.pread', wraps=os.pread) as read:
            result = self.check(f'{TABLE}: 1 blocks differ (20000)')
        self.assertEqual(result.blocks, 2403 - 300 + size // 8192)
        chunks = [call.args[2] for call in read.call_args_list if call.args[2] >= 3 * compare.CHUNK]
        self.assertEqual(sorted(set(chunks)), [both, one - one % compare.CHUNK])

    def test_missing_files_on_either_side(self):
        os.remove(f'{self.b}/base/1/2619')
        os.remove(f'{self.a}/{TABLE}.1')
        self.check(f'base/1/2619: only in {self.a}', f'{TABLE}.1: only in {self.b}')

    def test_files_of_different_length_even_by_a_block_of_zeros(self):
        self.truncate(TABLE, -8192)
        self.truncate('global/1262', 8192)
        self.check(f'{TABLE}: 2457600 bytes against 2449408',
                   'global/1262: 2457600 bytes against 2465792')

    def test_tablespaces_slrus_and_relation_maps(self):
        self.poke(SPACE, 8100)
        self.poke('pg_xact/0000', 5000)
        self.poke('base/5/pg_filenode.map', 100)
        self.check(*(f'{name}: 1 blocks differ (0)' for name in (
            'base/5/pg_filenode.map', SPACE, 'pg_xact/0000')))

    def test_unlogged_and_temporary_relations_and_caches_are_left_out(self):
        for name in 'base/5/20000', 'base/5/t3_900', 'base/5/pg_internal.init':
            self.poke(name, 8)
        self.check()
        self.poke('base/5/20000_init', 8100)
        self.check('base/5/20000_init: 1 blocks differ (0)')

    def test_a_free_space_map_may_differ_and_is_counted(self):
        self.poke(f'{TABLE}_fsm', 5000)
        self.assertEqual(self.check().fsm_files, 1)

    def test_lsns_and_checksums_are_left_out_on_request_and_nothing_else(self):
        for name in TABLE, f'{TABLE}_vm', 'base/5/20000_init':
            self.poke(name, 8193, 16393)
        self.assertEqual(len(self.found().differences), 3)
        self.check(ignore_lsn=True)
        self.poke(TABLE, 10)
        self.check(f'{TABLE}: 1 blocks differ (0)', ignore_lsn=True)

    def test_what_aligns_rows_is_left_out_on_request_and_nothing_else(self):
        """Lost otherwise: clearing vacated space could change rows unnoticed."""
        # One row of 29 bytes at 8160, one of 32 at 8128.
        page = struct.pack('<QHHHHHHI', 1, 0, 0, 32, 8128, 8192, 8196, 0) + struct.pack(
            '<II', 8160 | 1 << 15 | 29 << 17, 8128 | 1 << 15 | 32 << 17)
        self.with_page(page + bytes(8128 - len(page)) + b't' * 64)
        self.check()
        self.poke(TABLE, 8189, 8192 + 8191)
        self.check(f'{TABLE}: 2 blocks differ (0, 1)')
        self.check(ignore_padding=True)
        self.check(ignore_padding=True, ignore_lsn=True)
        self.poke(TABLE, 8188)
        self.check(f'{TABLE}: 1 blocks differ (0)', ignore_padding=True)

    def with_page(self, page):
        """Both clusters have this page, twice, in the table's file."""
        for directory in self.a, self.b:
            with open(f'{directory}/{TABLE}', 'wb') as file:
                file.write(page * 2)

    def flip(self, *bits):
        """Change bits of the table's file of b: (offset, mask)."""
        with open(f'{self.b}/{TABLE}', 'r+b') as file:
            for offset, mask in bits:
                file.seek(offset)
                byte, = file.read(1)
                file.seek(offset)
                file.write(bytes([byte ^ mask]))

    def test_hints_of_tables_are_left_out_on_request_and_nothing_else(self):
        """Lost otherwise: what removing images changes in rows passes for a hint."""
        # Two rows of 32 bytes at 8160 and 8128, the second one frozen.
        rows = b''.join(struct.pack('<IIIHHHHHB', 700, 0, 0, 0, 0, 1, 2, mask, 24) + b'd' * 9
                        for mask in (0x0B02, 0x0802))
        page = struct.pack('<QHHHHHHI', 1, 0, 0, 32, 8128, 8192, 8196, 0) + struct.pack(
            '<II', 8160 | 1 << 15 | 32 << 17, 8128 | 1 << 15 | 32 << 17)
        self.with_page(page + bytes(8128 - len(page)) + rows)
        self.check(ignore_hints=True)
        # LSN, checksum, pd_flags, pd_prune_xid; t_cid and t_infomask of the row that is not frozen
        self.flip((3, 1), (8, 1), (10, 3), (21, 1), (8168, 1), (8160 + 20, 0x20), (8160 + 21, 0x0D))
        self.check(f'{TABLE}: 1 blocks differ (0)')
        self.check(ignore_hints=True)
        # PD_ALL_VISIBLE, t_xmin, t_xmax, t_ctid, the data; and that a row is frozen
        for offset, mask in ((10, 4), (8160, 1), (8164, 1), (8172, 1), (8184, 1),
                             (8128 + 21, 3)):
            self.flip((8192 + offset, mask))
            self.check(f'{TABLE}: 1 blocks differ (1)', ignore_hints=True)
            self.flip((8192 + offset, mask))

    def test_hints_of_b_trees_are_left_out_on_request_and_nothing_else(self):
        page = struct.pack('<QHHHHHHI', 1, 0, 0, 28, 8144, 8176, 8196, 0) + struct.pack(
            '<I', 8144 | 1 << 15 | 32 << 17)
        page += bytes(8144 - len(page)) + b'k' * 32 + struct.pack('<IIIHH', 3, 4, 0, 1, 9)
        self.with_page(page)
        # The item's flags to LP_DEAD; BTP_HAS_GARBAGE, and the cycle of a vacuum
        self.flip((26, 1), (8176 + 12, 0x40), (8176 + 14, 9))
        self.check(f'{TABLE}: 1 blocks differ (0)')
        self.check(ignore_hints=True)
        for offset, mask in ((8150, 1), (24, 1), (8176, 1), (8176 + 12, 1)):
            self.flip((8192 + offset, mask))
            self.check(f'{TABLE}: 1 blocks differ (1)', ignore_hints=True)
            self.flip((8192 + offset, mask))

    def test_what_redo_clears_in_other_indexes_is_left_out_on_request_and_nothing_else(self):
        for last, left_out in ((0x0004, True), (0x0002, False), (0xFF82, True), (0xF092, False)):
            self.with_page(struct.pack('<QHHHHHHI', 1, 0, 0, 8184, 8184, 8184, 8196, 0) +
                           b'i' * 8160 + struct.pack('<HHHH', 1, 0, 0, last))
            self.flip((100, 1))
            self.check(f'{TABLE}: 1 blocks differ (0)')
            self.check(*(() if left_out else (f'{TABLE}: 1 blocks differ (0)',)),
                       ignore_hints=True)

    def run_command(self, *arguments):
        done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def test_the_command_prints_what_differs_and_exits_with_0_or_1(self):
        status, text = self.run_command(self.a, self.b)
        self.assertEqual((status, text[:46]), (
            0, 'identical: 11 files and 2403 blocks compared, '))
        self.poke(TABLE, 8192 * 3 + 50)
        status, text = self.run_command('--ignore-lsn', '--ignore-padding', self.a, self.b)
        self.assertEqual(status, 1)
        self.assertRegex(text, f'^{TABLE}: 1 blocks differ \\(3\\)\nDIFFERENT: ')

    def test_the_command_exits_with_2_where_it_cannot_compare(self):
        for arguments in ([self.a], ['--what', self.a], ['./ignore-lsn', self.a, self.b]):
            self.assertEqual(self.run_command(*arguments)[0], 2)
        status, text = self.run_command(self.a, f'{self.work}/absent')
        self.assertEqual(status, 2)
        self.assertIn(f'{self.work}/absent is not a readable data directory', text)
        self.poke('global/pg_control', 16)
        status, text = self.run_command(self.a, self.b)
        self.assertEqual(status, 2)
        self.assertRegex(text, f'{self.b} was not shut down cleanly.*pg_ctl stop -m fast')

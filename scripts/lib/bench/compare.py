"""Do two stopped clusters hold the same data?

Compared: every relation file of every fork (base, global, tablespaces), the
relation maps, and the SLRUs that survive a crash.  Blocks must be equal to the
byte, except that on a main fork's page the hole between pd_lower and pd_upper
may hold anything; where holes differ so do checksums, and only then the
checksum field is left out.  Length counts: a block more is a difference, even
when it is all zeroes, because redo extends files deterministically.

Not compared, because it does not show recovered data:
 - what is rebuilt or local: relation cache files (pg_internal.init), temporary
   files and temporary relations, pg_control, statistics, pg_subtrans,
   pg_notify, pg_serial;
 - forks of unlogged relations other than the init fork: a crash resets them.

The free space map is not WAL-logged.  With data checksums, redo changes its
pages without marking them dirty (MarkBufferDirtyHint), so what reaches the
disk depends on when something else writes the page.  Its differences are
counted and reported, but two clusters that differ in nothing else are identical.
"""
import errno
import os
import re
import struct
from dataclasses import dataclass, field

BLOCK = 8192                    # bytes in a block (BLCKSZ) where no page says it
CHUNK = 1 << 20                 # bytes read at once, a multiple of all block sizes
PAGE_HEADER = 24                # SizeOfPageHeaderData, bytes
LP_NORMAL, LP_DEAD = 1, 3       # flags of a line pointer
PAGE_HINTS = 0x0003             # PD_HAS_FREE_LINES, PD_PAGE_FULL
ROW_HINTS = 0x0F20              # HEAP_COMBOCID; HEAP_XMIN_COMMITTED to HEAP_XMAX_INVALID
FROZEN = 0x0300                 # HEAP_XMIN_FROZEN, which is no hint
BTREE_OPAQUE = 16               # sizeof(BTPageOpaqueData), bytes
BTREE_HINTS = 0x0040            # BTP_HAS_GARBAGE
GIN_DELETED = 0x0004            # in the last two bytes of a page of a GIN index
SPGIST_META = (0x0001, 0xFF82)  # flags of the meta page; and SPGIST_PAGE_ID, the last two bytes
MAXALIGN = 8                    # bytes
BRIN_REVMAP = 0xF092            # BRIN_PAGETYPE_REVMAP, in a page's last two bytes

# SLRUs and other directories whose files must be equal to the byte.
PLAIN_DIRECTORIES = ('pg_xact', 'pg_multixact/offsets', 'pg_multixact/members',
                     'pg_commit_ts', 'pg_twophase')

RELATION_FILE = re.compile(r'(\d+)(?:_(fsm|vm|init))?(?:\.(\d+))?$')
PLAIN_FILES = ('pg_filenode.map', 'PG_VERSION')


class NotComparable(Exception):
    """A directory that cannot be compared at all."""


@dataclass
class Result:
    """What a comparison found."""
    ignore_lsn: bool = False    # leave LSNs and checksums of pages out
    ignore_padding: bool = False        # leave out what aligns rows
    ignore_hints: bool = False          # leave out what sessions set without WAL
    block_size: int = BLOCK     # bytes in a block
    files: int = 0              # files compared
    blocks: int = 0             # blocks compared, both sides having them
    holes: int = 0              # of those, blocks that differ in the hole only
    fsm_files: int = 0          # free space map files that differ
    differences: list = field(default_factory=list)     # lines of text

    @property
    def identical(self):
        return not self.differences


def check_cluster(directory):
    """Raise NotComparable unless this is a data directory shut down cleanly."""
    path = os.path.join(directory, 'global/pg_control')
    try:
        with open(path, 'rb') as file:
            head = file.read(20)
    except OSError as error:
        raise NotComparable(f'{directory} is not a readable data directory: {error}')
    state = struct.unpack_from('<I', head, 16)[0] if len(head) == 20 else None
    # DB_SHUTDOWNED and DB_SHUTDOWNED_IN_RECOVERY of pg_control.h
    if state not in (1, 2):
        raise NotComparable(f'{directory} was not shut down cleanly, so its files lack what '
                            'was only in memory; stop the server with pg_ctl stop -m fast')


def relation_directories(directory):
    """Directories below a data directory that hold relation files, relative."""
    found = ['global']
    base = os.path.join(directory, 'base')
    found += [f'base/{name}' for name in os.listdir(base) if name.isdigit()]
    spaces = os.path.join(directory, 'pg_tblspc')
    for space in os.listdir(spaces) if os.path.isdir(spaces) else []:
        for version in os.listdir(os.path.join(spaces, space)):
            path = f'pg_tblspc/{space}/{version}'
            if version.startswith('PG_'):
                found += [f'{path}/{name}' for name in os.listdir(os.path.join(directory, path))
                          if name.isdigit()]
    return found


def cluster_files(directory):
    """Map each file to compare, relative, to its fork ('' for plain files)."""
    files = {}
    for where in relation_directories(directory):
        names = os.listdir(os.path.join(directory, where))
        matches = {name: RELATION_FILE.match(name) for name in names}
        unlogged = {m[1] for m in matches.values() if m and m[2] == 'init'}
        for name, match in matches.items():
            if match and (match[2] == 'init' or match[1] not in unlogged):
                files[f'{where}/{name}'] = match[2] or 'main'
            elif name in PLAIN_FILES:
                files[f'{where}/{name}'] = ''
    for where in PLAIN_DIRECTORIES:
        path = os.path.join(directory, where)
        for name in os.listdir(path) if os.path.isdir(path) else []:
            files[f'{where}/{name}'] = ''
    return files


def block_size_of(directory, files):
    """Bytes in a block of a cluster, as its pages have it (pd_pagesize_version)."""
    for name, fork in files.items():
        if fork == 'main':
            with open(os.path.join(directory, name), 'rb') as file:
                header = file.read(PAGE_HEADER)
            if len(header) == PAGE_HEADER and any(header):
                size = struct.unpack_from('<H', header, 18)[0] & 0xFF00
                if size in (1 << shift for shift in range(10, 16)):
                    return size
    return BLOCK


def page_hole(page):
    """Start and end of the page's hole; equal if there is none to ignore."""
    lower, upper, special = struct.unpack_from('<HHH', page, 12)
    if not PAGE_HEADER <= lower <= upper <= special <= len(page):
        return 0, 0
    # A BRIN range map keeps its data where other pages have their hole.
    if special == len(page) - 8 and page[-2:] == struct.pack('<H', BRIN_REVMAP):
        return 0, 0
    return lower, upper


def without_padding(page):
    """A page of a table with zeros between its rows, where they are aligned."""
    lower, upper, special = struct.unpack_from('<HHH', page, 12)
    # Pages of indexes have something at their end, and nothing that aligns.
    if special != len(page) or not PAGE_HEADER <= lower <= upper or (lower - PAGE_HEADER) % 4:
        return page
    page = bytearray(page)
    for item, in struct.iter_unpack('<I', page[PAGE_HEADER:lower]):
        end = (item & 0x7FFF) + (item >> 17)
        if item >> 15 & 3 == LP_NORMAL and end < len(page):
            page[end:-(-end // MAXALIGN) * MAXALIGN] = bytes(-end % MAXALIGN)
    return bytes(page)


def without_hints(page):
    """A page of a table or a B-tree without what sessions may set in it and not log.

    Those are the hints that wal_consistency_checking masks, and the LSN and the checksum,
    which setting a hint can change.  Of other indexes, what differs after redo is left out:
    the contents of a deleted page of GIN, which redo clears, and the pages that SP-GiST
    used last.
    """
    lower, upper, special = struct.unpack_from('<HHH', page, 12)
    if special == len(page) - 8:
        first, last = struct.unpack_from('<H4xH', page, special)
        if last < 0x100 and last & GIN_DELETED or (first, last) == SPGIST_META:
            return page[18:20] + bytes(len(page) - 2)
    btree = special == len(page) - BTREE_OPAQUE
    if not PAGE_HEADER <= lower <= upper <= special or not (btree or special == len(page)):
        return page
    page = bytearray(page)
    page[:10] = bytes(10)       # pd_lsn, pd_checksum
    page[10] &= ~PAGE_HINTS
    page[20:24] = bytes(4)      # pd_prune_xid
    for at in range(PAGE_HEADER, lower - 3, 4):
        item, = struct.unpack_from('<I', page, at)
        if btree and item >> 15 & 3 == LP_DEAD:
            struct.pack_into('<I', page, at, item & ~(3 << 15) | LP_NORMAL << 15)
        elif not btree and item >> 15 & 3 == LP_NORMAL:
            clear_row_hints(page, item & 0x7FFF)
    if btree:
        flags, = struct.unpack_from('<H', page, special + 12)
        struct.pack_into('<HH', page, special + 12, flags & ~BTREE_HINTS, 0)    # btpo_cycleid
    return bytes(page)


def clear_row_hints(page, at):
    """Clear what sessions set without WAL in the row at an offset: t_cid, and bits of t_infomask."""
    if at + 23 > len(page):
        return
    mask, = struct.unpack_from('<H', page, at + 20)
    hints = ROW_HINTS & ~FROZEN if mask & FROZEN == FROZEN else ROW_HINTS
    struct.pack_into('<H', page, at + 20, mask & ~hints)
    page[at + 8:at + 12] = bytes(4)


def equal_outside_hole(a, b, lsn_may_differ):
    """Are two unequal pages of a main fork equal in all that matters?"""
    start, end = page_hole(a)
    if (start, end) != page_hole(b) or a[start:end] == b[start:end]:
        return False
    # pd_checksum, bytes 8 and 9, covers the hole too
    return ((lsn_may_differ or a[:8] == b[:8]) and
            a[10:start] == b[10:start] and a[end:] == b[end:])


def compare_chunks(a, b, fork, first_block, result):
    """Yield the numbers of differing blocks of two chunks of equal length."""
    block = result.block_size
    for offset in range(0, len(a), block):
        page_a, page_b = a[offset:offset + block], b[offset:offset + block]
        if result.ignore_padding and fork == 'main' and len(page_a) == block:
            page_a, page_b = without_padding(page_a), without_padding(page_b)
        if result.ignore_hints and fork == 'main' and len(page_a) == block:
            page_a, page_b = without_hints(page_a), without_hints(page_b)
        if page_a == page_b:
            continue
        # pd_lsn and pd_checksum are the first ten bytes
        if (result.ignore_lsn or result.ignore_hints) and fork and page_a[10:] == page_b[10:]:
            continue
        if (fork == 'main' and len(page_a) == block and
                equal_outside_hole(page_a, page_b, result.ignore_lsn)):
            result.holes += 1
        else:
            yield first_block + offset // block


def next_data(file, offset):
    """Where data begins in a file from an offset on; its size if only a hole follows."""
    try:
        return os.lseek(file.fileno(), offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return os.fstat(file.fileno()).st_size


def compare_file(path_a, path_b, fork, result):
    """Return what differs between two files, as text, or None."""
    result.files += 1
    blocks = []
    with open(path_a, 'rb', buffering=0) as file_a, open(path_b, 'rb', buffering=0) as file_b:
        size_a, size_b = (os.fstat(file.fileno()).st_size for file in (file_a, file_b))
        common = min(size_a, size_b)
        offset = 0
        while offset < common:
            length = min(CHUNK, common - offset)
            a, b = (os.pread(file.fileno(), length, offset) for file in (file_a, file_b))
            if a != b:
                blocks += compare_chunks(a, b, fork, offset // result.block_size, result)
            offset += CHUNK
            # What is a hole in both is zeros in both.
            data = min(next_data(file, offset) for file in (file_a, file_b))
            offset = max(offset, data - data % CHUNK)
    result.blocks += -(-common // result.block_size)
    found = []
    if size_a != size_b:
        found.append(f'{size_a} bytes against {size_b}')
    if blocks:
        some = ', '.join(map(str, blocks[:8])) + (', ...' if len(blocks) > 8 else '')
        found.append(f'{len(blocks)} blocks differ ({some})')
    return '; '.join(found) or None


def compare_clusters(a, b, ignore_lsn=False, ignore_padding=False, ignore_hints=False):
    """Compare two data directories; returns a Result.

    Two that have come to the same data by WAL of different length differ in
    the LSNs of pages, and so in their checksums, which ignore_lsn leaves out.
    One that clears the space of removed rows has no garbage where later rows are
    aligned, which ignore_padding leaves out.  A primary and what its WAL makes elsewhere
    differ in hints, which ignore_hints leaves out.
    """
    for directory in (a, b):
        check_cluster(directory)
    files_a, files_b = cluster_files(a), cluster_files(b)
    result = Result(ignore_lsn=ignore_lsn, ignore_padding=ignore_padding,
                    ignore_hints=ignore_hints,
                    block_size=block_size_of(a, files_a))
    for name in sorted(files_a.keys() | files_b.keys()):
        fork = files_a.get(name, files_b.get(name))
        if name not in files_a or name not in files_b:
            found = f'only in {a if name in files_a else b}'
        else:
            found = compare_file(os.path.join(a, name), os.path.join(b, name), fork, result)
        if found and fork == 'fsm':
            result.fsm_files += 1
        elif found:
            result.differences.append(f'{name}: {found}')
    return result

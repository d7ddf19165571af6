"""Heap pages as redo hands them to PageRepairFragmentation.

No debugger and no hook: a stock server runs updates of single rows all over a
table, with `wal_consistency_checking`, by which every record carries the page
as it was after it.  pg_waldump saves these.  The page before a prune record is
that of the last record before on the same block, with the line pointers changed
as the prune record describes it; that of the prune record itself proves it.
"""
import dataclasses
import os
import re
import struct

from . import host, kept, postgres, script, workload

LOAD = workload.narrow('redo-pages', 100, {})   # updates before the first page is taken
TAKEN = 24000                   # updates while pages are taken
MOST = 4096                     # pages that are kept
BLOCK = 8192                    # bytes
HEADER = 24                     # bytes of a page header

RECORD = re.compile(r'lsn: ([0-9A-F]+)/([0-9A-F]+), .*? desc: (\S+) ?(.*?)(?:, )?blkref #0')
REFERENCE = re.compile(r'blkref #\d+: rel \S+ (?:fork main )?blk (\d+)')

SETTINGS = {'shared_buffers': '128MB', 'fsync': 'off', 'synchronous_commit': 'off',
            'autovacuum': 'off', 'full_page_writes': 'off', 'max_wal_size': '20GB',
            'checkpoint_timeout': '1d', 'wal_keep_size': '20GB'}


def offsets(name, text):
    """The line pointer numbers, or pairs of them, that a description lists under a name."""
    match = re.search(rf'\b{name}: \[([^]]*)\]', text)
    return [tuple(map(int, item.split('->'))) for item in match[1].split(', ')] if match else []


def pruned(page, text):
    """The page with its line pointers as a prune record sets them."""
    page = bytearray(page)

    def put(number, item):
        struct.pack_into('<I', page, HEADER + 4 * (number - 1), item)

    for number, target in offsets('redirected', text):
        put(number, target | 2 << 15)
    for number, in offsets('dead', text):
        put(number, 3 << 15)
    for number, in offsets('unused', text):
        put(number, 0)
    return bytes(page)


def line_pointers(page):
    lower, = struct.unpack_from('<H', page, 12)
    return struct.unpack_from(f'<{(lower - HEADER) // 4}I', page, HEADER)


def space_of(page):
    """Bytes that the tuples of a page take, each aligned."""
    return sum((item >> 17) + 7 & ~7 for item in line_pointers(page) if item >> 15 & 3)


def upper_of(page):
    return struct.unpack_from('<H', page, 14)[0]


def image_of(directory, relation, high, low, block):
    name = f'00000001-{int(high, 16):08X}-{int(low, 16):08X}.{relation.replace("/", ".")}.{block}_main'
    try:
        with open(os.path.join(directory, name), 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return None


def pages_of(listing, directory, relation):
    """Pages before and after each prune record, from pg_waldump's output."""
    last = {}                   # block: page after the last record on it
    for line in listing.splitlines():
        record = RECORD.search(line)
        if not record:
            continue
        for block in map(int, REFERENCE.findall(line)):
            image = image_of(directory, relation, record[1], record[2], block)
            if image and record[3].startswith('PRUNE') and block in last:
                yield pruned(last[block], record[4]), image
            if image:
                last[block] = image
            else:
                last.pop(block, None)


def make(build, place, say):
    """Run the updates in a directory; returns the pages, as bytes."""
    data, sockets, images = (os.path.join(place, name) for name in ('data', 'sockets', 'images'))
    for each in (sockets, images):
        postgres.make_directory(each)
    say('updating a table, to take pages from its WAL')
    postgres.initialize(build, data)
    with postgres.serving(build, data, SETTINGS, sockets) as server:
        LOAD.prepare(server, LOAD)
        LOAD.load(server, LOAD)
        server.sql("ALTER DATABASE postgres SET wal_consistency_checking = 'heap, heap2'")
        start = server.sql('SELECT pg_switch_wal(); SELECT pg_current_wal_insert_lsn()')[-1][0]
        LOAD.load(server, dataclasses.replace(LOAD, amount=TAKEN), seed=2)
        end = server.sql('SELECT pg_current_wal_insert_lsn()')[0][0]
        (relation,), = server.sql(
            "SELECT format('%s/%s/%s', (SELECT oid FROM pg_tablespace WHERE spcname = 'pg_default'),"
            " oid, pg_relation_filenode('narrow')) FROM pg_database WHERE datname = 'postgres'")
        server.stop('fast')
    listing = postgres.run([build.program('pg_waldump'), '-p', os.path.join(data, 'pg_wal'),
                            '-s', start, '-e', end, '-R', relation, '-F', 'main',
                            f'--save-fullpage={images}'])
    taken = []
    for before, after in pages_of(listing, images, relation):
        if 8192 - space_of(before) != upper_of(after):
            raise postgres.PostgresError('a page that was put together for a prune record is not '
                                         'what the server had; pg_waldump may print records '
                                         'differently, see scripts/lib/bench/redo_pages.py')
        taken.append(before)
        if len(taken) == MOST:
            break
    if len(taken) < 256:
        raise postgres.PostgresError(f'only {len(taken)} prune records were found in the WAL of '
                                     f'{TAKEN} updates; see scripts/lib/bench/redo_pages.py')
    return b''.join(taken)


def find_or_make(root, build, say):
    """The file with the pages, made if it isn't there, and what is in it."""
    directory = os.path.join(root, f'redo-pages-{build.version}')
    path = os.path.join(directory, 'pages')

    def make_it():
        with script.work_place(root, 'redo-pages') as place:
            pages = make(build, place, say)
        os.mkdir(directory)
        with host.create(path, 'wb') as file:
            file.write(pages)

    kept.find_or_make(directory, {
        'load': LOAD.parameters(), 'taken': TAKEN, 'most': MOST, 'settings': SETTINGS},
        make_it, say)
    with open(path, 'rb') as file:
        pages = file.read()
    pages = [pages[i:i + BLOCK] for i in range(0, len(pages), BLOCK)]
    items = [line_pointers(page) for page in pages]
    return path, {
        'pages': len(pages),
        'line_pointers': round(sum(map(len, items)) / len(pages), 1),
        'tuples': round(sum(bool(item >> 17) for page in items for item in page) / len(pages), 1),
        'from': f'prune records in the WAL of {TAKEN} updates of single rows, after {LOAD.amount}, '
                f'of a table of {LOAD.scale}000 rows of two integers, fillfactor 85',
    }

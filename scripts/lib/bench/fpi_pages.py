"""Pages of many kinds, as full-page images would hold them.

A stock server makes tables and indexes, and ages some of them.  After a
checkpoint their files hold the same bytes as an image of each page would: the
image is the page without its hole.  Everything is made from fixed seeds.
"""
import os
import struct

from . import host, kept, postgres, script, workload

BLOCK = 8192                    # bytes
SAMPLE = 256                    # pages of each kind that are kept, from all over the relation
ROWS = 200000                   # of most tables, at scale 1
AGED = 60000                    # pgbench transactions, at scale 1

SETTINGS = {'shared_buffers': '512MB', 'fsync': 'off', 'synchronous_commit': 'off',
            'autovacuum': 'off', 'max_wal_size': '20GB', 'checkpoint_timeout': '1d',
            'wal_level': 'minimal', 'max_wal_senders': '0', 'maintenance_work_mem': '256MB',
            'max_parallel_maintenance_workers': '0', 'max_parallel_workers_per_gather': '0'}

# A word, a sentence of some words: md5 of a number is random enough, and always the same.
FUNCTIONS = """
CREATE FUNCTION pick(seed int, many int) RETURNS int IMMUTABLE LANGUAGE sql AS
$$SELECT (hashint8extended(seed, 42) & 2147483647) % many$$;
CREATE FUNCTION word(seed int) RETURNS text IMMUTABLE LANGUAGE sql AS
$$SELECT (ARRAY['page','block','recovery','standby','and','the','of','a','checkpoint','image',
'server','is','slow','fast','with','without','vacuum','index','table','row','to','in','not',
'always','never','because','commit','query','plan','time','disk','memory','reads','writes',
'replication','segment','archive','restore','what','which','they','buffer'])[1 + pick(seed, 42)]
|| CASE WHEN pick(seed, 7) = 0 THEN (seed % 1000)::text ELSE '' END$$;
CREATE FUNCTION sentence(seed int, words int) RETURNS text IMMUTABLE LANGUAGE sql AS
$$SELECT string_agg(word(seed * 31 + i), ' ') FROM generate_series(1, words) i$$;
"""

# Kind of page: what makes it, and the relation.  {rows} is ROWS times the scale.
# s3 is the table of a well-known measurement: an index on a million integers.
KINDS = {
    'heap_narrow': (
        "CREATE TABLE heap_narrow AS SELECT i AS id, pick(i, 1000) AS value"
        " FROM generate_series(1, {rows}) i", 'heap_narrow'),
    'heap_wide': (
        "CREATE TABLE heap_wide AS SELECT i::bigint AS id, pick(i, 5000) AS customer,"
        " timestamptz '2026-01-01' + i * interval '1.7 s' AS placed,"
        " (pick(i + 1, 100000) / 100.0)::numeric(10,2) AS total, pick(i + 2, 5)::smallint AS state,"
        " (ARRAY['new','paid','sent','done'])[1 + pick(i + 3, 4)] AS step,"
        " pick(i + 4, 3) = 0 AS gift, random(0, 2147483647) AS token,"
        " 'ORD-' || lpad(i::text, 10, '0') AS code, NULL::text AS note, 1.0::float8 AS rate,"
        " pick(i + 5, 200) AS clerk FROM generate_series(1, {rows}) i", 'heap_wide'),
    'heap_series': (
        "CREATE TABLE heap_series AS SELECT timestamptz '2026-01-01' + (i / 50) * interval '10 s'"
        " AS at, (i % 50)::int AS sensor, 20 + 5 * sin(i / 5000.0) + pick(i, 100) / 100.0 AS value"
        " FROM generate_series(1, {rows}) i", 'heap_series'),
    'heap_text': (
        "CREATE TABLE heap_text AS SELECT i AS id, sentence(i, 10 + pick(i, 30)) AS body,"
        " jsonb_build_object('user', pick(i, 9999), 'tags', jsonb_build_array(word(i), word(i + 1)),"
        " 'ok', pick(i, 2) = 0, 'score', pick(i, 1000) / 10.0, 'key', md5(i::text)) AS info,"
        " timestamptz '2026-01-01' + i * interval '3 s' AS at"
        " FROM generate_series(1, {rows} / 4) i", 'heap_text'),
    'heap_aged': (None, 'pgbench_accounts'),
    'heap_history': (None, 'pgbench_history'),
    'btree_int': (
        "CREATE TABLE s3 AS SELECT generate_series(1, {rows} * 5) AS id;"
        " CREATE INDEX btree_int ON s3 (id)", 'btree_int'),
    'btree_shuffled': (
        "CREATE TABLE s3_shuffled AS SELECT id FROM s3 ORDER BY pick(id, 2147483647);"
        " CREATE INDEX btree_shuffled ON s3_shuffled (id)", 'btree_shuffled'),
    'btree_inserted': (
        "CREATE TABLE inserted (id int PRIMARY KEY);"
        " INSERT INTO inserted SELECT id FROM s3_shuffled WHERE id <= {rows}", 'inserted_pkey'),
    'btree_pgbench': (None, 'pgbench_accounts_pkey'),
    'btree_uuid': (
        "CREATE TABLE uuids AS SELECT md5(i::text)::uuid AS id FROM generate_series(1, {rows}) i;"
        " CREATE INDEX btree_uuid ON uuids (id)", 'btree_uuid'),
    'btree_text': (
        "CREATE TABLE people AS SELECT word(i) || '.' || word(i + 7) || pick(i, 10000) || '@' ||"
        " word(pick(i, 300)) || (ARRAY['.com','.org','.example','.net'])[1 + pick(i, 4)] AS email"
        " FROM generate_series(1, {rows}) i; CREATE INDEX btree_text ON people (email)",
        'btree_text'),
    'gin': ("CREATE INDEX gin ON heap_text USING gin (to_tsvector('simple', body))", 'gin'),
    'gin_jsonb': ("CREATE INDEX gin_jsonb ON heap_text USING gin (info)", 'gin_jsonb'),
    'hash': ("CREATE INDEX hash ON s3_shuffled USING hash (id)", 'hash'),
    'brin': ("CREATE INDEX brin ON heap_wide USING brin (id, placed) WITH (pages_per_range = 1)",
             'brin'),
}


def spread(pages):
    """At most SAMPLE pages that have something on them, evenly from all."""
    pages = [page for page in pages if struct.unpack_from('<H', page, 14)[0]]
    step = max(1, len(pages) / SAMPLE)
    return [pages[int(i * step)] for i in range(min(SAMPLE, len(pages)))]


def fill(server, scale, say):
    """Make all relations in a new cluster."""
    rows = max(2000, int(ROWS * scale))
    server.sql(FUNCTIONS)
    say('making pages: pgbench')
    workload.pgbench(server, '-i', '-q', '-s', str(max(1, round(2 * scale))))
    workload.run_transactions(server, max(1000, int(AGED * scale)))
    for kind, (sql, _) in KINDS.items():
        say(f'making pages: {kind}')
        if sql:
            server.sql('SELECT setseed(0.5); ' + sql.format(rows=rows))
    server.sql('CHECKPOINT')


def make(build, place, scale, say):
    """Make all relations in a directory; returns {kind: [pages]}."""
    data, sockets = (os.path.join(place, name) for name in ('data', 'sockets'))
    postgres.make_directory(sockets)
    postgres.initialize(build, data)
    found = {}
    with postgres.serving(build, data, SETTINGS, sockets) as server:
        fill(server, scale, say)
        files = {kind: server.sql(f"SELECT pg_relation_filepath('{relation}')")[0][0]
                 for kind, (_, relation) in KINDS.items()}
        server.stop('fast')
    for kind, path in files.items():
        with open(os.path.join(data, path), 'rb') as file:
            content = file.read()
        found[kind] = spread([content[i:i + BLOCK] for i in range(0, len(content), BLOCK)])
    return found


def find_or_make(root, build, scale, say):
    """The directory with one file for each kind, made if it isn't there."""
    directory = os.path.join(root, f'fpi-pages-{build.version}-{scale:g}')

    def make_it():
        with script.work_place(root, 'fpi-pages') as place:
            pages = make(build, place, scale, say)
        os.mkdir(directory)
        for kind, each in pages.items():
            with host.create(os.path.join(directory, kind), 'wb') as file:
                file.write(b''.join(each))

    kept.find_or_make(directory, {
        'scale': scale, 'rows': ROWS, 'aged': AGED, 'sample': SAMPLE, 'functions': FUNCTIONS,
        'kinds': KINDS, 'settings': SETTINGS}, make_it, say)
    return directory

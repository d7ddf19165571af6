"""What is in the WAL that is replayed, and how a cluster gets it.

A workload fills a new cluster (prepare), a checkpoint follows, and from there
on the load writes the WAL that recovery will replay.  How the cluster is kept
and crashed is not known here.
"""
import re
from dataclasses import dataclass, field

from . import host

CLIENTS = 8                     # sessions of a load


@dataclass(frozen=True)
class Workload:
    """One kind of WAL, for one size of the benchmark."""
    name: str
    about: str                  # one line for the report
    scale: int                  # pgbench scale factor, or thousands of rows
    amount: int                 # transactions, or bytes of WAL, of the load
    settings: dict              # server settings of load and recovery
    prepare: object             # function(server, workload)
    load: object                # function(server, workload); returns a Rate, or None
    from_base: bool = False     # replay from a copy made before the load
    clean_base: bool = False    # which was shut down: a standby accepts connections at once
    keep_end: bool = False      # and keep the cluster as the load left it, shut down
    build: str = 'stock'        # the server that writes the WAL
    making: dict = field(default_factory=dict)      # its settings that recovery does not need
    without_images: bool = False    # remove full-page images from it by `redoahead lesslog`
    details: dict = field(default_factory=dict)     # what else the load depends on

    def parameters(self):
        """What an image depends on, beside the programs that make it."""
        return {'scale': self.scale, 'amount': self.amount, 'clients': CLIENTS,
                'settings': self.settings, **self.details,
                **({'keep_end': True} if self.keep_end else {}),
                **({'clean_base': True} if self.clean_base else {}),
                **({'making': self.making} if self.making else {}),
                **({'without_images': True} if self.without_images else {})}


@dataclass(frozen=True)
class Rate:
    """How fast the primary was while it wrote the WAL."""
    transactions: int           # that were done
    seconds: float              # that they took

    @property
    def per_second(self):
        return self.transactions / self.seconds

    def __add__(self, other):
        return Rate(self.transactions + other.transactions, self.seconds + other.seconds)


def pgbench(server, *arguments):
    from . import postgres
    return postgres.run([server.build.program('pgbench'), '-h', server.socket_directory,
                         *arguments])


def run_transactions(server, transactions, *script, clients=CLIENTS, seed=1):
    return rate_of(pgbench(server, '-n', '-M', 'prepared', '-c', str(clients), '-j', '2',
                           f'--random-seed={seed}', '-t', str(transactions // clients), *script))


def rate_of(text):
    """What pgbench printed."""
    done = int(re.search(r'actually processed: (\d+)', text)[1])
    return Rate(done, done / float(re.search(r'^tps = ([\d.]+)', text, re.MULTILINE)[1]))


def prepare_pgbench(server, workload):
    pgbench(server, '-i', '-q', '-s', str(workload.scale))


def load_simple_update(server, workload):
    return run_transactions(server, workload.amount, '-N')


def load_two_halves(server, workload):
    first = run_transactions(server, workload.amount // 2, '-N')
    server.sql('CHECKPOINT')
    return first + run_transactions(server, workload.amount // 2, '-N')


def load_with_feedback(server, workload):
    """What queries of a standby may see is kept, as with hot_standby_feedback: by a transaction."""
    server.session(['BEGIN', 'SELECT pg_current_xact_id()', "PREPARE TRANSACTION 'feedback'"])
    return load_simple_update(server, workload)


# ---------- inserts into a table with six indexes ----------

def insert_rows(rows):
    return ('INSERT INTO events (device, token, label, happened, amount) '
            'SELECT (random() * 1e6)::int, gen_random_uuid(), md5(random()::text), '
            f'clock_timestamp(), random() * 1000 FROM generate_series(1, {rows})')


def prepare_indexed(server, workload):
    server.sql('CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY, device int, '
               'token uuid, label text, happened timestamptz, amount float8)')
    server.sql(insert_rows(workload.scale * 1000))
    for columns in ('device', 'token', 'label', 'happened', 'device, happened'):
        server.sql(f'CREATE INDEX ON events ({columns})')
    server.sql('ALTER TABLE events ADD PRIMARY KEY (id)')
    server.sql('VACUUM ANALYZE events')


def load_inserts(server, workload):
    run_until_written(server, workload, insert_rows(500))


def run_until_written(server, workload, statement):
    """Run a statement over and over until it has written so much WAL."""
    start = server.sql('SELECT pg_current_wal_insert_lsn()')[0][0]
    script = server.socket_directory + '/inserts.sql'
    with host.create(script, encoding='utf-8') as file:
        file.write(statement + ';\n')
    while True:
        run_transactions(server, 10 * CLIENTS, '-f', script)
        written = server.sql(f"SELECT pg_current_wal_insert_lsn() - '{start}'::pg_lsn")
        if float(written[0][0]) >= workload.amount:
            return


# ---------- inserts of documents that are stored out of line ----------

def prepare_documents(server, workload):
    server.sql('CREATE TABLE documents (id bigint GENERATED ALWAYS AS IDENTITY, body bytea)')
    server.sql('ALTER TABLE documents ALTER body SET STORAGE EXTERNAL')
    server.sql('ALTER TABLE documents ADD PRIMARY KEY (id)')


def load_documents(server, workload):
    # 16 to 16000 bytes, most of them in the TOAST table.
    run_until_written(server, workload, 'INSERT INTO documents (body) SELECT decode(repeat('
                      "md5(random()::text), 1 + (random() * 999)::int), 'hex') "
                      'FROM generate_series(1, 50)')


# ---------- queue tables that are filled and truncated, beside updates ----------

UPDATES_PER_QUEUE_FILL = 8


def prepare_queues(server, workload):
    prepare_pgbench(server, workload)
    for queue in range(CLIENTS):
        server.sql(f'CREATE TABLE queue{queue} (id int, body text)')
    server.sql("""CREATE FUNCTION fill(queue int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        EXECUTE format('INSERT INTO queue%s SELECT i, md5(i::text) FROM generate_series(1, 300) i', queue);
        IF random() < 0.3 THEN EXECUTE format('TRUNCATE queue%s', queue); END IF; END $$""")


def load_queues(server, workload):
    script = server.socket_directory + '/queues.sql'
    update = (f'\\set aid random(1, 100000 * {workload.scale})\n'
              'UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n')
    with host.create(script, encoding='utf-8') as file:
        file.write(UPDATES_PER_QUEUE_FILL * update + 'SELECT fill(:client_id);\n')
    return run_transactions(server, workload.amount, '-f', script)


# ---------- updates of single rows of a table of two integers ----------

def prepare_narrow(server, workload):
    server.sql('CREATE TABLE narrow (a int PRIMARY KEY, b int) WITH (fillfactor = 85)')
    server.sql(f'INSERT INTO narrow SELECT i, 0 FROM generate_series(1, {workload.scale * 1000}) i')
    server.sql('VACUUM narrow')


def load_narrow(server, workload, seed=1):
    script = server.socket_directory + '/narrow.sql'
    with host.create(script, encoding='utf-8') as file:
        file.write(f'\\set a random(1, {workload.scale * 1000})\n'
                   'UPDATE narrow SET b = b + 1 WHERE a = :a;\n')
    return run_transactions(server, workload.amount, '-f', script, seed=seed)


def narrow(name, thousands, settings, **more):
    """S4's load over so many thousand rows, each updated 1.2 times on average."""
    updates = 1200 * thousands
    return Workload(name, f'{updates} updates of single rows all over a table of {thousands}000 '
                    'rows of two integers, fillfactor 85, full_page_writes off', thousands,
                    updates, settings, prepare_narrow, load_narrow, **more)


# ---------- the demo: updates, and inserts into random places ----------

def prepare_mix(server, workload):
    prepare_pgbench(server, workload)
    server.sql('CREATE TABLE orders (id uuid, customer int, amount float8)')
    server.sql('INSERT INTO orders SELECT gen_random_uuid(), i, random() '
               f'FROM generate_series(1, {workload.scale * 20000}) i')
    server.sql('ALTER TABLE orders ADD PRIMARY KEY (id)')
    server.sql('VACUUM ANALYZE orders')


def load_mix(server, workload):
    script = server.socket_directory + '/mix.sql'
    with host.create(script, encoding='utf-8') as file:
        file.write(f'''\\set aid random(1, 100000 * {workload.scale})
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, :delta, now());
INSERT INTO orders VALUES (gen_random_uuid(), :aid, :delta);
END;
''')
    run_transactions(server, workload.amount, '-f', script)


# ---------- the list ----------

def make_workloads(size):
    """All workloads of a size: `full` for results, or `small` to try things out."""
    def pick(full, small):
        return full if size == 'full' else small

    big = {'shared_buffers': pick('4GB', '512MB')}
    without_images = {**big, 'full_page_writes': 'off'}
    with_images = {**big, 'full_page_writes': 'on'}
    scale, transactions = pick(300, 20), pick(1200000, 60000)
    workloads = [
        Workload('pgbench-off', f'pgbench -N, scale {scale}, {transactions} transactions, '
                 'full_page_writes off', scale, transactions, without_images,
                 prepare_pgbench, load_simple_update),
        Workload('pgbench-fpw', f'pgbench -N, scale {scale}, {transactions} transactions, '
                 'full_page_writes on, one checkpoint in the middle',
                 scale, transactions, with_images, prepare_pgbench, load_two_halves,
                 from_base=True),
        Workload('insert-index', f'{pick(2048, 128)} MB of WAL of inserts into a table with six '
                 'indexes, full_page_writes on', pick(1000, 50), pick(2048, 128) << 20,
                 with_images, prepare_indexed, load_inserts),
        Workload('documents', f'{pick(2048, 128)} MB of WAL of inserts of documents of up to 16 kB, '
                 'stored out of line, full_page_writes off', 0, pick(2048, 128) << 20,
                 without_images, prepare_documents, load_documents),
        Workload('queues', f'{pick(10000, 1000)} transactions of 8 updates of pgbench_accounts, scale '
                 f'{pick(50, 5)}, and 300 rows into one of 8 tables, three in ten of which truncate it, '
                 'full_page_writes off', pick(50, 5), pick(10000, 1000), without_images,
                 prepare_queues, load_queues),
        Workload('cached', 'pgbench -N, few blocks, each with a full-page image first: '
                 'redo finds all in shared buffers', pick(10, 2), pick(800000, 40000),
                 with_images, prepare_pgbench, load_simple_update),
    ]
    return {workload.name: workload for workload in workloads}


def demo_workload():
    return Workload('demo', 'updates and inserts of pgbench, full_page_writes off', 85, 180000,
                    {'shared_buffers': '1GB', 'full_page_writes': 'off'},
                    prepare_mix, load_mix)

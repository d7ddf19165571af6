"""A load like DBT-2's, the TPC-C-like kit of the measurements of 2008, for pgbench.

Nine tables of about 100 MB for each warehouse, and five transactions in the
proportions of the kit: new order 45 %, payment 43 %, delivery, order status
and stock level 4 % each, with its skewed choice of items and customers.  Each
session thinks before each transaction, for the same time on average, so that
the primary's rate is the same on every machine that keeps up.

It writes the same kind of WAL, and is no benchmark of the primary: there is no
keying time by transaction, no remote warehouse and no rollback, and order
lines are made by one function call instead of many statements.
"""
import zlib

from . import host
from . import workload as loads

ITEMS = 100000                  # rows of item, and of stock for each warehouse
DISTRICTS = 10                  # for each warehouse
CUSTOMERS = 3000                # for each district, with an order each

# Functions take a number that is different in each call: which items and
# customers are chosen depends on it alone, so that the load is repeatable.
SCHEMA = f'''
CREATE TABLE item (i_id int, i_name text, i_price numeric, i_data text);
CREATE TABLE warehouse (w_id int, w_name text, w_tax numeric, w_ytd numeric);
CREATE TABLE district (d_w_id int, d_id int, d_name text, d_tax numeric, d_ytd numeric,
    d_next_o_id int);
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_last text, c_since timestamptz,
    c_credit text, c_balance numeric, c_ytd_payment numeric, c_payment_cnt int,
    c_delivery_cnt int, c_data text);
CREATE TABLE history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int,
    h_date timestamptz, h_amount numeric, h_data text);
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamptz,
    o_carrier_id int, o_ol_cnt int);
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int);
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int,
    ol_delivery_d timestamptz, ol_quantity int, ol_amount numeric, ol_dist_info text);
CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_dist text, s_ytd int,
    s_order_cnt int, s_data text);

CREATE FUNCTION noise(seed bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN hashint8extended(seed, 0) & 9223372036854775807;

-- A skewed choice of 1 to n, as the kit has it: some bits are set more often.
CREATE FUNCTION skewed(seed bigint, bits int, n int) RETURNS int LANGUAGE sql IMMUTABLE
RETURN ((((noise(seed) % bits) | (1 + noise(seed + 1) % n)) + 42) % n + 1)::int;

CREATE FUNCTION make_new_order(w int, d int, seed bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    o int;
    lines int := 5 + noise(seed) % 11;
    wanted int;
    line int := 0;
    price numeric;
    dist text;
    buyer int := skewed(seed + 1, 1023, {CUSTOMERS});
BEGIN
    PERFORM c_balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_next_o_id - 1 INTO o;
    INSERT INTO orders VALUES (w, d, o, buyer, now(), NULL, lines);
    INSERT INTO new_order VALUES (w, d, o);
    FOR wanted IN SELECT DISTINCT skewed(seed + 10 + 2 * i, 8191, {ITEMS})
                  FROM generate_series(1, lines) i ORDER BY 1 LOOP
        line := line + 1;
        SELECT i_price INTO price FROM item WHERE i_id = wanted;
        UPDATE stock SET s_quantity = CASE WHEN s_quantity > 14 THEN s_quantity - 5
                                           ELSE s_quantity + 86 END,
               s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1
            WHERE s_w_id = w AND s_i_id = wanted RETURNING left(s_dist, 24) INTO dist;
        INSERT INTO order_line VALUES (w, d, o, line, wanted, NULL, 5, 5 * price, dist);
    END LOOP;
END $$;

CREATE FUNCTION make_payment(w int, d int, seed bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    amount numeric := 1 + noise(seed) % 5000;
    buyer int := skewed(seed + 1, 1023, {CUSTOMERS});
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
    UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
           c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
    INSERT INTO history VALUES (buyer, d, w, d, w, now(), amount, 'payment');
END $$;

CREATE FUNCTION make_delivery(w int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    o int;
    due numeric;
BEGIN
    FOR d IN 1..{DISTRICTS} LOOP
        DELETE FROM new_order WHERE ctid = (SELECT ctid FROM new_order
                WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1
                FOR UPDATE SKIP LOCKED) RETURNING no_o_id INTO o;
        CONTINUE WHEN o IS NULL;
        UPDATE order_line SET ol_delivery_d = now()
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        SELECT sum(ol_amount) INTO due FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = w AND o_d_id = d AND o_id = o;
        UPDATE customer SET c_balance = c_balance + due, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id =
                (SELECT o_c_id FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = o);
    END LOOP;
END $$;

CREATE FUNCTION show_order_status(w int, d int, seed bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id =
        (SELECT max(o_id) FROM orders WHERE o_w_id = w AND o_d_id = d
            AND o_c_id = skewed(seed, 1023, {CUSTOMERS}))
$$;

CREATE FUNCTION show_stock_level(w int, d int) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = w AND s_i_id = ol_i_id
    WHERE ol_w_id = w AND ol_d_id = d AND s_quantity < 15 AND ol_o_id >=
        (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = w AND d_id = d)
$$;
'''

# One warehouse; :w is its number.
WAREHOUSE = f'''
INSERT INTO warehouse VALUES (:w, 'warehouse', 0.1, 300000);
INSERT INTO district SELECT :w, d, 'district', 0.1, 30000, {CUSTOMERS + 1}
    FROM generate_series(1, {DISTRICTS}) d;
INSERT INTO customer SELECT :w, d, c, md5(c::text), now(), 'GC', -10, 10, 1, 0, repeat('c', 480)
    FROM generate_series(1, {DISTRICTS}) d, generate_series(1, {CUSTOMERS}) c;
INSERT INTO history SELECT c, d, :w, d, :w, now(), 10, 'first'
    FROM generate_series(1, {DISTRICTS}) d, generate_series(1, {CUSTOMERS}) c;
INSERT INTO orders SELECT :w, d, o, 1 + (o * 7919) % {CUSTOMERS}, now(), 1, 10
    FROM generate_series(1, {DISTRICTS}) d, generate_series(1, {CUSTOMERS}) o;
INSERT INTO new_order SELECT :w, d, o
    FROM generate_series(1, {DISTRICTS}) d, generate_series({CUSTOMERS * 7 // 10}, {CUSTOMERS}) o;
INSERT INTO order_line SELECT :w, d, o, l, 1 + noise(o * 100 + l) % {ITEMS}, now(), 5, 10,
        repeat('d', 24)
    FROM generate_series(1, {DISTRICTS}) d, generate_series(1, {CUSTOMERS}) o,
        generate_series(1, 10) l;
INSERT INTO stock SELECT :w, i, 10 + i % 91, repeat('d', 240), 0, 0, repeat('s', 38)
    FROM generate_series(1, {ITEMS}) i;
'''

INDEXES = (
    'ALTER TABLE item ADD PRIMARY KEY (i_id)',
    'ALTER TABLE warehouse ADD PRIMARY KEY (w_id)',
    'ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id)',
    'ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id)',
    'CREATE INDEX ON customer (c_w_id, c_d_id, c_last)',
    'ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id)',
    'CREATE INDEX ON orders (o_w_id, o_d_id, o_c_id, o_id)',
    'ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id)',
    'ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)',
    'ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id)',
)

# Share in percent, and the call.
TRANSACTIONS = (
    (45, 'make_new_order(:w, :d, :seed)'),
    (43, 'make_payment(:w, :d, :seed)'),
    (4, 'make_delivery(:w)'),
    (4, 'show_order_status(:w, :d, :seed)'),
    (4, 'show_stock_level(:w, :d)'),
)


def prepare(server, workload):
    """Fill a database with workload.scale warehouses."""
    server.sql(SCHEMA)
    server.sql("INSERT INTO item SELECT i, 'item', 1 + i % 100, repeat('i', 38) "
               f'FROM generate_series(1, {ITEMS}) i')
    for warehouse in range(1, workload.scale + 1):
        server.sql(WAREHOUSE.replace(':w', str(warehouse)))
    for statement in INDEXES:
        server.sql(statement)
    server.sql('VACUUM ANALYZE')


def write_scripts(directory, warehouses, think_ms):
    """The arguments for pgbench that name the transactions and their shares."""
    arguments = []
    for number, (share, call) in enumerate(TRANSACTIONS):
        path = f'{directory}/dbt2-{number}.sql'
        with host.create(path, encoding='utf-8') as file:
            file.write(f'\\set think random(0, 2 * {think_ms})\n\\sleep :think ms\n'
                       f'\\set w random(1, {warehouses})\n\\set d random(1, {DISTRICTS})\n'
                       f'\\set seed random(1, 1000000000000)\nSELECT {call};\n')
        arguments += ['-f', f'{path}@{share}']
    return arguments


def load(server, workload):
    """Run the transactions, with checkpoints in between."""
    details = workload.details
    scripts = write_scripts(server.socket_directory, workload.scale, details['think_ms'])
    rate = loads.Rate(0, 0)
    for part in range(details['parts']):
        if part > 0:
            server.sql('CHECKPOINT')
        rate += loads.run_transactions(server, workload.amount // details['parts'], *scripts,
                                       clients=details['clients'], seed=part + 1)
    return rate


def make_workload(name, warehouses, transactions, clients, think_ms, settings):
    """A workload of this kind; sessions think for think_ms milliseconds on average."""
    return loads.Workload(
        name, f'{transactions} transactions like DBT-2\'s over {warehouses} warehouses, {clients} '
        f'sessions that think for {think_ms / 1000:g} s, 3 checkpoints in between',
        warehouses, transactions, settings, prepare, load, from_base=True,
        details={'clients': clients, 'think_ms': think_ms, 'parts': 4,
                 'definition': zlib.crc32((SCHEMA + WAREHOUSE).encode())})

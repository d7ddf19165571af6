"""A load whose WAL does a bit of everything, so that redo reads every kind of file.

pgbench, all index types, vacuum with truncation, COPY, multixacts, subtransactions, prepared
transactions, created and dropped relations.
"""
import os

from . import postgres, workload as loads

SETTINGS = {'shared_buffers': '1GB', 'full_page_writes': 'off', 'max_prepared_transactions': '10',
            'track_commit_timestamp': 'on'}

# What exists when the last checkpoint is made.
TABLES = '''
create table indexed (id int primary key, h int, j jsonb, k jsonb, p point,
    t text, b int);
insert into indexed select i, hashint4(i), jsonb_build_array(i % 5000, i % 77),
    jsonb_build_array(i % 4000), point(random() * 1000, random() * 1000),
    md5(i::text), i from generate_series(1, 150000) i;
create index on indexed using hash (h);
create index on indexed using gin (j) with (fastupdate = off);
create index on indexed using gin (k);
create index on indexed using gist (p);
create index on indexed using spgist (t);
create index on indexed using brin (b) with (pages_per_range = 4);
create index on indexed (t);

create table shared_rows (id int primary key, v int);
insert into shared_rows select i, 0 from generate_series(1, 20000) i;
create table child (id serial, parent int references shared_rows);

-- More than one leaf page of the free space map, and toasted values.
create table shrinking (id int primary key, filler text);
insert into shrinking select i, repeat('x', 400)
    from generate_series(1, 150000) i;
create table toasted (id int primary key, v text);
alter table toasted alter v set storage external;
insert into toasted select i, repeat(md5(i::text), 200)
    from generate_series(1, 3000) i;
create table copied (like shrinking);
create table dropped as select * from toasted limit 500;
create table emptied as select * from shrinking limit 5000;
create unlogged table unlogged (id int primary key);

create table burned (i int);
create procedure burn_xids(n int, per_commit int) language plpgsql as $$
begin
    for i in 1..n loop
        begin
            insert into burned values (i);
        exception when others then null;
        end;
        if i % per_commit = 0 then commit; end if;
    end loop;
end $$;

-- Locked by a transaction and updated by its subtransaction: a multixact.
create procedure make_multixacts(n int) language plpgsql as $$
begin
    for i in 1..n loop
        perform 1 from shared_rows where id = i for key share;
        begin
            update shared_rows set v = v + 1 where id = i;
        exception when others then null;
        end;
        if i % 100 = 0 then commit; end if;
    end loop;
end $$;

begin;
insert into child (parent) values (1);
prepare transaction 'committed later';
call burn_xids(40000, 1000);
begin;
insert into child (parent) values (2);
prepare transaction 'aborted later';
call burn_xids(40000, 1000);
call make_multixacts(5000);
'''

# A transaction of many sessions at once.
MIXED = r'''
\set id random(1, 150000)
\set new random(200000, 2000000000)
begin;
update indexed set h = :new, j = jsonb_build_array(:new % 5000), b = :id,
    p = point(:new % 1000, :id % 1000) where id = :id;
savepoint a;
insert into indexed values (:new, :new, jsonb_build_array(:new % 9000),
    jsonb_build_array(:id::int), point(:new % 999, :id % 998), md5(:new::text), :id)
    on conflict do nothing;
rollback to a;
insert into indexed values (:new, :new, jsonb_build_array(:new % 9000),
    jsonb_build_array(:id::int), point(:new % 999, :id % 998), md5(:new::text), :id)
    on conflict do nothing;
delete from indexed where id = :id + 1;
select 1 from shared_rows where id = 1 + :id % 20000 for share;
insert into child (parent) values (1 + :id % 20000);
end;
'''

LATE = '''
delete from shrinking where id > 50000 or id < 0;
vacuum shrinking;
vacuum indexed;
delete from toasted where id % 3 = 0;
update toasted set v = repeat(md5(v), 200) where id % 3 = 1;
call make_multixacts(3000);
call burn_xids(50000, 50000);
drop table dropped;
truncate emptied;
insert into emptied select * from shrinking limit 3000;
create table created as select * from indexed;
create index on created (t);
vacuum created;
update created set b = b + 1 where id % 50 = 0;
-- Not of "indexed": redo of BRIN inserts crashes if the index is dropped later.
vacuum full created;
create database copy strategy wal_log;
'''


def psql(server, text):
    """Run a file of statements, each in a transaction of its own."""
    path = os.path.join(server.socket_directory, 'statements.sql')
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)
    postgres.run([server.build.program('psql'), '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h',
                  server.socket_directory, '-f', path])


def prepare(server, workload):
    loads.prepare_pgbench(server, workload)
    psql(server, TABLES)
    server.session(['VACUUM', 'COPY (SELECT id, filler FROM shrinking LIMIT 20000) TO '
                    f"'{server.socket_directory}/copied.txt'"])


def load(server, workload):
    """What redo has to do."""
    def run(part, *script):
        return loads.run_transactions(server, workload.amount // part, *script, clients=4)

    copied = f'{server.socket_directory}/copied.txt'
    mixed = os.path.join(server.socket_directory, 'mixed.sql')
    with open(mixed, 'w', encoding='ascii') as file:
        file.write(MIXED)
    rate = run(20, '-N')
    # These have old pages of pg_xact, and hold back vacuum.
    server.session(["COMMIT PREPARED 'committed later'", "ROLLBACK PREPARED 'aborted later'"])
    rate += run(2, '-N') + run(10, '-f', mixed)
    server.session([f"COPY copied FROM '{copied}'",
                    f"COPY shrinking FROM PROGRAM 'head -n 2000 {copied} | sed s/^/-/'"])
    psql(server, LATE)
    rate += run(10, '-f', mixed)
    server.session(['VACUUM pgbench_accounts', 'SELECT txid_current()'])
    return rate + run(2, '-N')


def make_workload(scale, transactions):
    """The workload, with a scale of pgbench and about so many of its transactions."""
    return loads.Workload('everything', 'a bit of everything', scale, transactions, SETTINGS,
                          prepare, load)

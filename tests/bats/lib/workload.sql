-- WAL that creates, truncates, drops and recreates what redo is about to read.
-- The databases come first: "file_copy" makes a checkpoint, from which crash
-- recovery starts.

-- A database that is dropped and made again under its number, from another
-- template, has other blocks in files of the same names.
create database copied template template_a strategy file_copy;
create database again template template_a strategy file_copy oid = 60002;
drop database again;
create database again template template_b strategy file_copy oid = 60002;
drop database again;
create database again template template_a strategy wal_log oid = 60002;
\c again
update t set filler = repeat('u', 500) where id % 10 = 0;
\c postgres
drop database again;
create database again template template_b strategy wal_log oid = 60002;
\c again
update t set filler = repeat('v', 500) where id % 10 = 0;
\c postgres
alter database again set tablespace outside;
alter database again set tablespace pg_default;
\c again
update t set filler = repeat('w', 500) where id % 10 = 1;
\c postgres

-- Tablespaces come and go.
create tablespace passing location '';
create table in_passing tablespace passing as select * from shrinking where id < 3000;
update in_passing set filler = 'z' where id % 5 = 0;
alter table in_passing set tablespace pg_default;
drop tablespace passing;
alter table moved set tablespace inside;
update moved set filler = repeat('m', 300) where id % 20 = 0;
alter table moved set tablespace outside;
update moved set filler = repeat('n', 300) where id % 20 = 1;

-- Shorter, empty, gone and back.
delete from shrinking where id > 8000;
vacuum shrinking;
insert into shrinking select i, repeat('s', 400) from generate_series(8001, 15000) i;
delete from shrinking where id > 9000;
vacuum shrinking;
truncate emptied;
insert into emptied select * from shrinking where id < 3000;
truncate emptied;
insert into emptied select * from shrinking where id < 2000;
update dropped set filler = 'd' where id % 3 = 0;
drop table dropped;
create table dropped as select * from shrinking where id < 2000;
update dropped set filler = 'd' where id % 3 = 0;

-- Rewritten.
vacuum full rewritten;
update rewritten set filler = repeat('r', 350) where id % 10 = 0;
cluster rewritten using rewritten_pkey;
update rewritten set filler = repeat('q', 350) where id % 10 = 1;
alter table rewritten alter id type bigint;
update rewritten set filler = repeat('p', 350) where id % 10 = 2;

-- Indexes.
create index on shrinking (filler, id);
create index concurrently on rewritten (filler);
reindex table indexed;
drop index rewritten_filler_idx;
insert into indexed
	select i, i % 999, jsonb_build_array(i % 700), point(i % 79, i % 83), md5(i::text), i
	from generate_series(30001, 34000) i;
delete from indexed where id % 10 = 3;
vacuum indexed;

-- Both sides of a segment boundary.
update large set filler = repeat('z', 2000) where id % 2 = 0;
delete from large where id % 7 = 0;
vacuum large;
insert into large select i, repeat('w', 2000) from generate_series(3001, 3100) i;

-- Transactions of all kinds.
call make_multixacts(2000);
update toasted set v = repeat(md5(v), 200) where id % 3 = 1;
delete from toasted where id % 3 = 0;
begin;
insert into child select i, 'prepared' from generate_series(1, 1000) i;
prepare transaction 'committed later';
begin;
update shrinking set filler = 'never' where id < 500;
prepare transaction 'aborted later';
begin;
insert into child select i, 'left over' from generate_series(1, 1000) i;
prepare transaction 'left over';
insert into unlogged select generate_series(2001, 3000);
create unlogged table unlogged_too (id int primary key);
alter table unlogged set logged;
refresh materialized view summary;
refresh materialized view concurrently summary;
commit prepared 'committed later';
rollback prepared 'aborted later';

select pg_create_restore_point('middle');

update shrinking set filler = repeat('k', 420) where id % 4 = 0;
drop table in_passing;
truncate emptied;
update large set filler = repeat('v', 2000) where id % 3 = 0;
call make_multixacts(500);

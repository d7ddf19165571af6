-- WAL with full-page images of many kinds of pages: of updates after a
-- checkpoint, of index builds, of hints, with holes and without.  One statement
-- a line, as a single-user server takes it, and by one session the same pages
-- each time.  The GiST index is not split, which would put LSNs into its pages.
checkpoint;
update narrow set v = v + 1 where id % 50 = 0;
update shuffled set v = v + 1 where id % 40 = 0;
update wide set filler = repeat(md5((id + 1)::text), 9) where id % 11 = 0;
update wide set doc = doc || '{"new": [1, 2, 3]}' where id % 17 = 0;
update keys set h = h + 1, u = md5((b + 7)::text)::uuid where b % 23 = 0;
delete from narrow where id % 13 = 0;
delete from keys where b % 19 = 0;
vacuum narrow, keys;
create index shuffled_id on shuffled (id);
create index shuffled_both on shuffled (v, id);
create index wide_filler on wide (filler);
create index keys_hash on keys using hash (mail);
create table copied as select * from wide where id % 3 = 0;
alter table copied add primary key (id);
insert into counted (t) select 'more ' || i from generate_series(1, 3000) i;
insert into keys select md5(i::text)::uuid, 'other' || i || '@example.net', i % 700, i from generate_series(10001, 14000) i;
create index keys_gist on keys using gist (point(b, h));
update narrow set v = -1 where id between 100 and 2000;
select count(*) from narrow where v = -1;
vacuum full counted;
truncate unlogged;
insert into unlogged select generate_series(1, 500);
update counted set t = 'last' where id = 7;

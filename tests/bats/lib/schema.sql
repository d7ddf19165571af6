-- What the WAL of workload.sql works on: relations of all kinds, in place before
-- it starts.  psql variables: space, the location of a tablespace.
create extension redoahead;
create tablespace outside location :'space';
create tablespace inside location '';

create table indexed (id int primary key, h int, j jsonb, p point, t text, b int);
insert into indexed
	select i, i % 999, jsonb_build_array(i % 500, i % 7), point(i % 97, i % 89), md5(i::text), i
	from generate_series(1, 20000) i;
create index on indexed using hash (h);
create index on indexed using gin (j);
create index on indexed using gist (p);
create index on indexed using spgist (t);
create index on indexed using brin (b) with (pages_per_range = 4);

create table shrinking (id int primary key, filler text);
insert into shrinking select i, repeat('x', 400) from generate_series(1, 20000) i;
create table emptied (like shrinking including all);
insert into emptied select * from shrinking where id < 5000;
create table dropped as select * from shrinking where id < 5000;
create table rewritten (like shrinking including all);
insert into rewritten select * from shrinking where id < 8000;
create table moved (like shrinking including all) tablespace outside;
insert into moved select * from shrinking where id < 8000;
create table toasted (id int primary key, v text);
alter table toasted alter v set storage external;
insert into toasted select i, repeat(md5(i::text), 200) from generate_series(1, 1000) i;

create table parent (id int primary key, v int default 0);
insert into parent select generate_series(1, 5000);
create table child (parent int references parent, filler text);
create unlogged table unlogged (id int primary key);
insert into unlogged select generate_series(1, 1000);
create materialized view summary as select id % 100 as id, count(*) from indexed group by 1;
create unique index on summary (id);

-- One row on each page; the test makes it grow to a second segment file.
create table large (id int, filler text) with (fillfactor = 10);
alter table large alter filler set storage plain;
insert into large select i, repeat('y', 2000) from generate_series(1, 10) i;

-- Locked by a transaction and updated by its subtransaction: a multixact.
create procedure make_multixacts(n int) language plpgsql as $$
begin
	for i in 1..n loop
		perform 1 from parent where id = i for key share;
		begin
			update parent set v = v + 1 where id = i;
		exception when others then null;
		end;
		if i % 100 = 0 then commit; end if;
	end loop;
end $$;

create database template_a oid = 60000;
create database template_b oid = 60001;
\c template_a
create table t as select i as id, repeat('a', 500) as filler from generate_series(1, 5000) i;
\c template_b
create table t as select i as id, repeat('b', 500) as filler from generate_series(1, 8000) i;

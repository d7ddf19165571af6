-- What images.sql works on: tables and indexes whose pages compress in different
-- ways.  Nothing depends on time or chance, so that it is the same each time.
create extension amcheck;
create extension pg_walinspect;
create extension pageinspect;
create table narrow (id int primary key, v int);
insert into narrow select i, i % 100 from generate_series(1, 60000) i;
create table shuffled (id int, v int);
insert into shuffled select (i * 7919) % 60013, i from generate_series(1, 60000) i;
create table wide (id int primary key, filler text, doc jsonb);
insert into wide select i, repeat(md5(i::text), 8), jsonb_build_object('k', i % 50, 'v', md5((i * 3)::text)) from generate_series(1, 5000) i;
create index on wide using gin (doc);
create table keys (u uuid, mail text, h int, b int);
insert into keys select md5(i::text)::uuid, 'user' || i || '@example' || i % 9 || '.org', i % 500, i from generate_series(1, 10000) i;
create index on keys (u);
create index on keys (mail);
create index on keys using hash (h);
create index on keys using brin (b) with (pages_per_range = 4);
create table counted (id serial primary key, t text);
insert into counted (t) select 'row ' || i from generate_series(1, 2000) i;
create unlogged table unlogged (id int primary key);
insert into unlogged select generate_series(1, 1000);
vacuum analyze;

-- A pgbench script: what many sessions at once do to the tables of schema.sql.
\set id random(1, 20000)
\set new random(100000, 2000000000)
\set parent random(1, 5000)
begin;
update indexed set h = :new % 999, b = :id, p = point(:new % 97, :id % 89) where id = :id;
savepoint a;
insert into child values (:parent, 'rolled back');
rollback to a;
savepoint b;
insert into child values (:parent, 'kept');
release b;
insert into indexed values (:new, :new % 999, jsonb_build_array(:new % 500), point(:new % 97, :id % 89), md5(:new::text), :id)
	on conflict do nothing;
select 1 from parent where id = :parent for share;
end;

#!/usr/bin/env bats
# Servers that defragment pages the patched way, as a whole: updates of single
# rows as in scripts/bench s4, and deletes from each kind of index, recovered
# by stock, and by the patched server with clear_page_space off and on.  The
# functions alone are compared by tests/unit/test_compactify.c.

load lib/servers

# Rows that are deleted all over, with an index of each kind, and the table of s4.
schema="
create table narrow (a int primary key, b int) with (fillfactor = 85);
insert into narrow select i, 0 from generate_series(1, 40000) i;
create table deleted (id int, number int, place point, words text[], label text);
insert into deleted select i, hashint4(i), point(i % 173, i % 211),
	array[md5(i::text), md5((i % 97)::text)], md5(i::text) from generate_series(1, 20000) i;
create index on deleted using btree (id);
create index on deleted using btree (label);
create index on deleted using hash (number);
create index on deleted using gist (place);
create index on deleted using spgist (place);
create index on deleted using gin (words);
create index on deleted using brin (id) with (pages_per_range = 2, autosummarize = off);
vacuum narrow, deleted"

# Deletes and inserts in turn, so that pages are deleted from more than once.
deletes="
delete from deleted where id % 3 = 0;
vacuum deleted;
insert into deleted select i, hashint4(i), point(i % 173, i % 211),
	array[md5(i::text)], repeat(md5(i::text), 1 + i % 3) from generate_series(20001, 24000) i;
delete from deleted where hashint4(id) % 4 = 0;
vacuum deleted;
update deleted set number = number + 1 where id % 5 = 0;
vacuum deleted"

setup_file() {
	suite_begin
	make_cluster "$WORK/crashed"
	start_server "$PATCHED" "$WORK/crashed" "${fast[@]}"
	sql "$WORK/crashed" -f - <<<"$schema"
	sql "$WORK/crashed" -c checkpoint
	write_wal "$WORK/crashed"
	crash_server "$WORK/crashed"
}

write_wal() {				# DATA
	echo '\set a random(1, 40000)
		update narrow set b = b + 1 where a = :a;' | as_server_user tee "$1.sql" >/dev/null
	pgbench "$1" -n -M prepared -f "$1.sql" -c 4 -t 10000
	sql "$1" -f - <<<"$deletes"
}

# Recover a copy of the crashed cluster.
recover_copy() {			# SERVER DATA [SETTING...]
	local server=$1 data=$2
	shift 2
	copy_cluster "$WORK/crashed" "$data"
	settings "$data" "$@"
	recover_with "$server" "$data"
}

# No index may have lost what its table has.
is_sound() {				# DATA
	start_server "$PATCHED" "$1"
	sql "$1" -c "create extension if not exists amcheck"
	as_server_user "$PATCHED/bin/pg_amcheck" -h "$1" --all --install-missing --heapallindexed \
		--parent-check
	[ "$pg_major" -lt 18 ] || sql "$1" -c "select gin_index_check(oid) from pg_class
		where relam = (select oid from pg_am where amname = 'gin')"
	same_by_each_index "$1"
	stop_server "$1"
}

# What pg_amcheck does not check: indexes of other kinds find all rows.
same_by_each_index() {		# DATA
	local found
	found=$(sql "$1" -c "
		set enable_seqscan = off;
		select (select count(*) from deleted),
			(select count(*) from deleted where place <@ box '((-1, -1), (1000, 1000))'),
			(select sum((select count(*) from deleted i where i.number = o.number))
				from (select distinct number from deleted) o),
			(select count(*) from deleted where id between 0 and 100000)")
	awk -F '|' '{ exit !($1 > 1000 && $1 == $2 && $1 == $3 && $1 == $4) }' <<<"$found" || {
		echo "indexes find different numbers of rows: $found"
		return 1
	}
}

# Pages of a relation with something in the hole, where no line pointer can have
# been, as `PAGES-WITH-SOMETHING PAGES-WITH-SUCH-A-HOLE`.
holes() {					# DATA FILE
	/usr/bin/python3 - "$1/$2" <<-'PYTHON'
	import struct, sys

	BEYOND = 24 + 4 * 291               # of a heap page, bytes
	dirty = pages = 0
	with open(sys.argv[1], 'rb') as file:
	    while page := file.read(8192):
	        upper = struct.unpack('<H', page[14:16])[0]
	        if upper > BEYOND:
	            pages += 1
	            dirty += any(page[BEYOND:upper])
	print(dirty, pages)
	PYTHON
}

# Lost otherwise: recovery that leaves other data than stock's, or data that
# makes no sense; and a setting that does nothing, or more than is documented.
@test "recovery leaves the data of stock, with and without clearing, and clears holes only if set" {
	local table dirty pages copy
	recover_copy "$STOCK" "$CASE/stock"
	recover_copy "$PATCHED" "$CASE/off"
	recover_copy "$PATCHED" "$CASE/on" clear_page_space=on
	same_data "$CASE/stock" "$CASE/off"
	# Where a row comes to lie in cleared space, no garbage aligns it.
	same_data --ignore-padding "$CASE/stock" "$CASE/on"

	start_server "$PATCHED" "$CASE/off"
	table=$(sql "$CASE/off" -c "select pg_relation_filepath('narrow')")
	stop_server "$CASE/off"
	read -r dirty pages < <(holes "$CASE/off" "$table")
	echo "off: $dirty of $pages"
	[ "$dirty" -gt 100 ]
	read -r dirty pages < <(holes "$CASE/on" "$table")
	echo "on: $dirty of $pages"
	[ "$dirty" -eq 0 ]
	[ "$pages" -gt 100 ]
	for copy in off on; do
		is_sound "$CASE/$copy"
	done
}

# Lost otherwise: a primary that clears would differ from its standbys in more
# than holes, or its VACUUM would.
@test "a primary that clears is as sound, and its WAL is recovered by stock and by a server that does not clear" {
	local copy
	make_cluster "$DATA" clear_page_space=on
	start_server "$PATCHED" "$DATA" "${fast[@]}"
	sql "$DATA" -f - <<<"$schema"
	sql "$DATA" -c checkpoint
	write_wal "$DATA"
	sql "$DATA" -c "vacuum narrow"
	crash_server "$DATA"
	sed -i '/^clear_page_space/d' "$DATA/postgresql.auto.conf"
	for copy in stock off on; do
		copy_cluster "$DATA" "$CASE/$copy"
	done
	settings "$CASE/on" clear_page_space=on
	recover_with "$STOCK" "$CASE/stock"
	recover_with "$PATCHED" "$CASE/off"
	recover_with "$PATCHED" "$CASE/on"
	same_data "$CASE/stock" "$CASE/off"
	# Where a row comes to lie in cleared space, no garbage aligns it.
	same_data --ignore-padding "$CASE/stock" "$CASE/on"
	is_sound "$CASE/on"
}

@test "only superusers may clear" {
	make_cluster "$DATA"
	start_server "$PATCHED" "$DATA"
	[ "$(sql "$DATA" -c 'show clear_page_space')" = off ]
	sql "$DATA" -c "create role plain login"
	run sql "$DATA" -U plain -c "set clear_page_space = on"
	[ "$status" -ne 0 ]
	[[ $output == *'permission denied to set parameter "clear_page_space"'* ]]
	[ "$(sql "$DATA" -c 'set clear_page_space = on; show clear_page_space')" = on ]
	stop_server "$DATA"
}

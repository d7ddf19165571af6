#!/usr/bin/env bats
# Redo of DROP and TRUNCATE leaves no buffer of what they remove.  The checkpointer would write
# such a buffer to a file that is gone.

load lib/servers

setup_file() { suite_begin; }

# A primary, and a standby that has replayed nothing, so that it knows no size of a relation.
make_pair() {
	primary=$CASE/primary
	make_cluster "$primary" wal_level=replica
	settings "$primary" "${redoahead_settings[@]}"
	start_server "$PATCHED" "$primary"
	sql "$primary" -c "create extension pg_buffercache" -f - <<-'END'
		create table small (i int primary key, t text);
		create table truncated (i int primary key, t text);
		create table large (i int primary key, t text);
		create unlogged table unlogged (i int primary key, t text);
		insert into small select i, repeat('x', 100) from generate_series(1, 1000) i;
		insert into truncated select * from small;
		insert into large select i, repeat('x', 1000) from generate_series(1, 2500) i;
		vacuum;
	END
	as_server_user "$PATCHED/bin/pg_basebackup" -h "$primary" -D "$DATA" -X stream --checkpoint=fast
	rm -f "$DATA/.s.PGSQL."*
	settings "$DATA" hot_standby=on wal_retrieve_retry_interval=100ms shared_buffers=16MB \
		primary_conninfo="host=$primary user=$redoahead_user"
	as_server_user touch "$DATA/standby.signal"
	start_server "$PATCHED" "$DATA"
}

# The files of the tables, their indexes and their TOAST tables, as SQL.
files_of() {				# TABLE...
	sql "$primary" -f - <<-END
		select string_agg(pg_relation_filenode(c.oid)::text, ',') from pg_class c
		where relname ~ '^($(tr ' ' '|' <<<"$*"))(_pkey)?\$' or oid in (
			select unnest(array[t.reltoastrelid, i.indexrelid]) from pg_class t
			join pg_index i on i.indrelid = t.reltoastrelid where t.relname ~ '^($(tr ' ' '|' <<<"$*"))\$')
	END
}

# How many buffers of these files the standby has.
buffers_of() { sql "$DATA" -c "select count(*) from pg_buffercache where relfilenode in ($1)"; }

@test "a standby drops the buffers that queries have read, whatever it knows of the sizes" {
	local dropped large
	make_pair
	dropped=$(files_of small truncated unlogged)
	large=$(files_of large)
	for table in small truncated large; do
		sql "$DATA" -c "select sum(length(t)) from $table" -c "set enable_seqscan = off" \
			-c "select t from $table where i = 700" >/dev/null
	done
	[ "$(buffers_of "$dropped")" -gt 30 ]
	# More than 1/32 of shared buffers, so that all of them are scanned.
	[ "$(buffers_of "$large")" -gt 64 ]
	sql "$primary" -c "truncate truncated" -c "drop table small, unlogged" -c "drop table large" \
		-c "insert into truncated values (1, 'new')"
	wait_until "replay" has_replayed_all "$primary" "$DATA"
	[ "$(buffers_of "$dropped")" -eq 0 ]
	[ "$(buffers_of "$large")" -eq 0 ]
	[ "$(sql "$DATA" -c "select t from truncated")" = new ]
	sql "$primary" -c checkpoint
	wait_until "replay" has_replayed_all "$primary" "$DATA"
	sql "$DATA" -c checkpoint
	stop_server "$DATA"
	stop_server "$primary"
	no grep -E 'PANIC|ERROR|could not' "$DATA.log"
}

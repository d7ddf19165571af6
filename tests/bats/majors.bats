#!/usr/bin/env bats
# Data and WAL with our images between the majors that have patches.  Upstream refuses both; that
# the patches have not made that less certain is what is tested.  Which majors there are here
# depends on what was built: `tests/run others` builds them all.

# bats file_tags=other-majors

bats_require_minimum_version 1.5.0
load lib/servers

setup_file() { suite_begin; }

PATCHED_OURS=$PATCHED		# functions below set PATCHED

# The patched server of a major: that of the other tests, or another that is built,
# with assertions, as `tests/run others` does, or without.
patched_of() {				# MAJOR
	local kind
	[ "$1" != "$pg_major" ] || { echo "$PATCHED_OURS"; return; }
	for kind in assert patched; do
		[ ! -x "$redoahead_root/build/pg/$1/$kind/bin/postgres" ] ||
			{ readlink -f "$redoahead_root/build/pg/$1/$kind"; return; }
	done
}

# The other majors whose patched servers are built.
others() {
	local major
	for major in $(cd "$redoahead_root/build/pg" && echo *); do
		[ "$major" = "$pg_major" ] || [ -z "$(patched_of "$major")" ] || echo "$major"
	done
}

# A crashed cluster of a patched server with transformed images in its WAL; the name of its last
# segment is in DATA.last.
crashed_of() {				# MAJOR DATA
	local PATCHED
	PATCHED=$(patched_of "$1")
	make_cluster "$2" full_page_writes=on wal_compression=lz4:transform
	start_server "$PATCHED" "$2"
	sql "$2" -c "create table t as select i, i % 7 as n from generate_series(1, 50000) i" -c "checkpoint" \
		-c "update t set n = n + 1 where i % 10 = 0" -c "create index on t (n)" -c "select pg_switch_wal()" >/dev/null
	sql "$2" -c "select pg_walfile_name(pg_current_wal_lsn() + 1)" >"$2.last"
	crash_server "$2"
	# A setting that only one of them has would be refused first.
	as_server_user truncate -s 0 "$2/postgresql.conf"
}

# Each pair, once with either as the newer one.
each_pair() {				# COMMAND
	local other
	[ -n "$(others)" ] || skip "no patched server of another major is built"
	for other in $(others); do
		"$1" "$other" "$pg_major"
		"$1" "$pg_major" "$other"
	done
}

refuses_data() {			# MAJOR-OF-DATA MAJOR-OF-SERVER
	local data=$CASE/data-$1-$2
	crashed_of "$1" "$data"
	find "$data" -type f -print0 | sort -z | xargs -0 sha256sum >"$CASE/before"
	run ! start_server "$(patched_of "$2")" "$data"
	grep -q "was initialized by PostgreSQL version $1, which is not compatible with this version $2" "$data.log"
	find "$data" -type f -print0 | sort -z | xargs -0 sha256sum | diff "$CASE/before" -
	# It has done no harm.
	start_server "$(patched_of "$1")" "$data"
	[ "$(sql "$data" -c "select sum(n) from t")" = "$(sql "$data" -c "set enable_seqscan = off" -c "select sum(n) from t" | tail -n 1)" ]
	stop_server "$data"
}

# Lost otherwise: a cluster that the server of another major has begun to recover.
@test "a patched server refuses the data directory of another major, and leaves it alone" {
	each_pair refuses_data
}

# The archive has the other major's segment where that of the cluster should be.
refuses_wal() {				# MAJOR-OF-WAL MAJOR-OF-SERVER
	local wal=$CASE/wal-$1-$2 data=$CASE/cluster-$1-$2 next magic PATCHED
	crashed_of "$1" "$wal"
	crashed_of "$2" "$data"
	next=$(cat "$data.last")
	as_server_user mkdir "$data.archive"
	as_server_user cp "$wal/pg_wal/$(cat "$wal.last")" "$data.archive/$next"
	as_server_user rm "$data/pg_wal/$next"
	settings "$data" restore_command="cp $data.archive/%f %p" recovery_target_timeline=current
	as_server_user touch "$data/recovery.signal"
	PATCHED=$(patched_of "$2")
	recover_with "$PATCHED" "$data"
	magic=$(od -An -tx2 -N2 "$data.archive/$next" | tr -d ' ' | tr a-f A-F)
	grep -q "invalid magic number $magic in WAL segment $next" "$data.log"
}

# Lost otherwise: pages that redo made of what is no image to this server.
@test "a patched server refuses WAL of another major" {
	each_pair refuses_wal
}

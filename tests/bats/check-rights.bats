#!/usr/bin/env bats
# `redoahead check` of data directories of other users, and what root and the owner of the
# data directory can do to each other by it.

load lib/machine
load lib/servers
load lib/checking
bats_require_minimum_version 1.5.0

@test "the directory of another user" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to be another user"
	run -2 setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/redoahead" check -D "$DATA"
	[[ $output == *"belongs to user"*"start it as the owner or as root"* ]]
	chmod -R g+rX "$DATA"
	run -1 setpriv --reuid=65534 --regid="$(stat -c %g "$DATA")" --clear-groups "$WORK/redoahead" check -D "$DATA"
	reports problem data_directory "sudo -u $redoahead_user redoahead check -D $DATA"
}

@test "mode and owner of the data directory" {
	chmod 750 "$DATA"
	run -1 check
	reports ok data_directory "mode 0750"
	chmod 755 "$DATA"
	run -1 check
	reports problem data_directory "mode 0755.*chmod 0700 $DATA"
	cure data_directory
	[ "$(stat -c %a "$DATA")" = 700 ]
	mv "$DATA/pg_wal" "$CASE/wal"
	run -1 check
	reports problem data_directory "pg_wal cannot be read: No such file"
	mv "$CASE/wal" "$DATA/pg_wal"
	rmdir "$DATA/pg_stat_tmp"
	run -1 check
	reports problem data_directory "pg_stat_tmp, .*; install -d -m 700 $DATA/pg_stat_tmp"
	[ "$(id -u)" -eq 0 ] || return 0
	# Root is told to do it as the owner, who could have put a link to another directory there.
	run -1 "$WORK/redoahead" check -D "$DATA"
	reports problem data_directory "; sudo -u $redoahead_user install -d -m 700 $DATA/pg_stat_tmp"
	# A user without a name, as in a container.
	chown -R 54321 "$DATA"
	chmod 755 "$DATA"
	run -1 "$WORK/redoahead" check -D "$DATA"
	reports problem data_directory "; sudo -u '#54321' chmod 0700 $DATA"
}

@test "a tablespace that cannot be read" {
	run -1 check
	reports ok tablespaces "none outside"
	as_server_user touch "$DATA/pg_tblspc/1;x"
	run -1 check
	reports ok tablespaces "none outside"
	as_server_user ln -s "$CASE/hidden" "$DATA/pg_tblspc/70000"
	run -1 check
	reports problem tablespaces "pg_tblspc/70000 cannot be read: No such file.*namei -l $DATA/pg_tblspc/70000"
	as_server_user mkdir -p "$CASE/hidden/$(basename "$(as_server_user "$PATCHED/bin/pg_controldata" "$DATA" |
		sed -n "s/^Catalog version number: */PG_${pg_major}_/p")")"
	run -1 check
	reports ok tablespaces "one, which can be read"
}

@test "a directory of root's, and one that others can write to" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to make one"
	chown root "$DATA"
	run -1 "$WORK/redoahead" check -D "$DATA"
	reports problem data_directory "belongs to root"
	chmod 1777 "$DATA"
	run -2 "$WORK/redoahead" check -D "$DATA"
	[[ $output == *"$DATA\" belongs to root, and others can write to it"* ]]
	for command in "serve --timeline $CASE/timeline" follow "prefault --dry-run" status "trace --output $CASE/trace"; do
		echo "# $command"
		# shellcheck disable=SC2086
		run timeout 10 "$WORK/redoahead" $command -D "$DATA"
		[[ $status != 0 && $status != 124 && $output == *"belongs to root, and others can write to it"* ]]
	done
	[ ! -e "$CASE/timeline" ] && [ ! -e "$CASE/trace" ]
}

@test "programs that the data directory names are not run by root, nor if others can write them" {
	mkdir "$CASE/bin"
	printf '#!/bin/sh\n{ env; echo leads $$ = $(ps -o sid= -p $$), at $(pwd); } >%s/run\necho "postgres (PostgreSQL) %s.6"\n' \
		"$CASE" "$pg_major" >"$CASE/bin/postgres"
	chmod 777 "$CASE/bin/postgres"
	bindir=$CASE/bin run -0 check
	reports warning server "cannot be read, or is no server"
	[ ! -e "$CASE/run" ]
	chmod 755 "$CASE/bin/postgres"
	[ "$(id -u)" -eq 0 ] || return 0
	printf '%s "-D" "%s"\n' "$CASE/bin/postgres" "$DATA" >"$DATA/postmaster.opts"
	# As the owner it may run, without what is root's: environment, terminal, working directory.
	chown "$redoahead_user" "$CASE/bin" "$CASE/bin/postgres"
	SECRET=secret run -0 "$WORK/redoahead" check -D "$DATA"
	[ "$(stat -c %U "$CASE/run")" = "$redoahead_user" ]
	no grep -qi secret "$CASE/run"
	grep -qE '^leads ([0-9]+) = \1, at /$' "$CASE/run"
	rm "$CASE/run"
	chown -R root "$CASE/bin" "$DATA"
	run -1 "$WORK/redoahead" check -D "$DATA"
	[ ! -e "$CASE/run" ]
}

# Lost otherwise: root's terminal, on which processes of the owner could type that trace the child
# which shows whether memory can be read.
@test "what the owner may trace of a check that root has started has nothing of root's" {
	local child
	[ "$(id -u)" -eq 0 ] || skip "must be root"
	need_strace
	strace -f -qq -e trace=setsid,chdir,close_range,prctl -o "$CASE/calls" \
		"$WORK/redoahead" check -D "$DATA" --bindir "$STOCK/bin" || [ $? -eq 1 ]
	child=$(sed -n 's/^\([0-9]*\) *prctl(PR_SET_DUMPABLE, .*) = 0$/\1/p' "$CASE/calls")
	[ -n "$child" ] || { cat "$CASE/calls"; return 1; }
	sed -nE "s/^$child +//p" "$CASE/calls" | sed '/PR_SET_DUMPABLE/q' >"$CASE/before"
	grep -q '^setsid() ' "$CASE/before"
	grep -q '^chdir("/") *= 0' "$CASE/before"
	grep -q '^close_range(0, ' "$CASE/before"
}

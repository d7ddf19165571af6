#!/usr/bin/env bats
# The units of scripts/systemd on a machine whose first process is systemd, made of namespaces,
# with Debian's unit of the server.  What needs no machine is in units.bats.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/feeding
load lib/follow
load lib/systemd

setup_file() {
	suite_begin
	boot_machine
	[ ! -s "$WORK/no-machine" ] || return 0
	make_crashed 5 96000
	copy_cluster "$WORK/crashed" "$WORK/recovered"
	recover_with "$STOCK" "$WORK/recovered"
}

teardown() {
	if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -s "$WORK/init" ]; then
		inside journalctl --no-pager -n 40
		tail -n 20 "$cluster.log" || true
	fi
	reset_machine
	case_end
}

teardown_file() {
	halt_machine
	suite_end
}

# Is this the beginning of the status that `systemctl status` shows?
shows() { [[ $(property "$daemon" StatusText) == "$1"* ]]; }

# Is there another daemon than this one?
another_runs() {			# PID
	local pid
	pid=$(main_pid "$daemon")
	[ -n "$pid" ] && [ "$pid" != "$1" ]
}

# Run a command where the daemon sees the files that it sees.
beside() { nsenter -t "$(main_pid "$daemon")" -m -r setpriv "--reuid=$redoahead_user" --clear-groups -- "$@"; }

# Lost otherwise: the start of a recovery, which is where a cold cache costs most.
@test "the daemon starts with the server, before it" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	sc enable "$daemon"
	start_main
	sc is-active "$daemon"
	[[ $(tr '\0' ' ' <"/proc/$(main_pid "$daemon")/cmdline") == "/usr/bin/redoahead serve "* ]]
	wait_until "the status" shows 'archive recovery'
	[ "$(property "$daemon" ActiveEnterTimestampMonotonic)" -le "$(property "$server" InactiveExitTimestampMonotonic)" ]
	# No line about a server without one.
	feed_until_connected 1
	log_is "$cluster" "$connected"
	feed_rest "$cluster"
	wait_until "the status" shows 'waiting for a recovery; 1 so far'
	ends_well
	# It belongs to the server.
	no sc is-active "$daemon"
}

# Lost otherwise: the server, where redoahead is broken.
@test "a server starts and recovers with a unit that fails" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	printf '[Service]\nEnvironment=REDOAHEAD_COMMAND=run\n' | drop_in "$daemon"
	sc enable "$daemon"
	start_main
	[ "$(property "$daemon" ActiveState)" = failed ]
	# Wrong usage is not tried again.
	[ "$(property "$daemon" NRestarts)" -eq 0 ]
	ends_well
}

journal_has() { inside journalctl --no-pager -u "$daemon" | grep -q "$1"; }

# Is this the drop-in that the last message of this kind has?  It is left in $remedy.
has_remedy() {				# PATTERN DROP-IN
	remedy=$(inside journalctl --no-pager -o cat -u "$daemon" | sed -n "s/.*$1.*; .*add to .*, by systemctl edit: //p" | tail -n 1)
	[ "$remedy" = "$2" ]
}

# Lost otherwise: the remedy, where data is not where Debian has it.
@test "a data directory that the unit cannot write is reported with the drop-in to add" {
	need_machine
	make_main
	printf '[Service]\nReadWritePaths=\n' | drop_in "$daemon"
	no sc start "$daemon"
	wait_until "the remedy in the journal" has_remedy 'pg_stat_tmp" cannot be written by this unit' \
		"[Service] ReadWritePaths=/var/lib/postgresql/$pg_major/main/pg_stat_tmp"
	sc stop "$daemon"
	printf '[Service]\nReadWritePaths=\n%s\n' "${remedy#* }" | drop_in "$daemon"
	sc start "$daemon"
}

# Lost otherwise: prefetching, without a word, where a group may read the data directory.
@test "a server with another group than the unit is reported with the drop-in to add" {
	need_machine
	local group
	group=$(getent group games | cut -d : -f 3)
	make_main
	chgrp -R games "$cluster"
	chmod -R g+rX "$cluster"
	sc start "$daemon"
	wait_until "the remedy of the unit" has_remedy "is of group $group" "[Service] Group=$group"
	start_main
	[ "$(inside stat -c %g "/proc/$(head -n 1 "$cluster/postmaster.pid")")" = "$group" ]
	wait_until "the remedy of follow" has_remedy 'the server of .* cannot be followed' "[Service] Group=$group"
	feed "$cluster"
	[ "$(journal "$daemon" | grep -c 'cannot be followed')" -eq 1 ]
	printf '%s\n' '[Service]' "${remedy#* }" | drop_in "$daemon"
	sc restart "$daemon"
	feed_until_daemon_logs 'following redo by memory'
	no logs "$daemon" 'warning|cannot'
	ends_well
}

has_sockets() {			# NAME...
	local name
	for name; do inside test -S "/var/lib/postgresql/$pg_major/main/pg_stat_tmp/$name.sock" || return 1; done
}

# Lost otherwise: the daemon, or its status, after a restore.  A unit may write to the directory
# of the sockets that is there when it starts, and not to one in its place.
@test "there are sockets in a data directory that was replaced, or restored while the unit was started" {
	need_machine
	local library sockets
	for library in "" redoahead; do
		sockets=(redoahead-status ${library:+redoahead})
		make_main "shared_preload_libraries = '$library'"
		sc start "$daemon"
		mv "$cluster" "$cluster.old"
		cp -a "$cluster.old" "$cluster"
		rm -f "$cluster"/pg_stat_tmp/*.sock
		start_main
		wait_until "the sockets" has_sockets "${sockets[@]}"
		[ "$(property "$daemon" NRestarts)" -eq 1 ]
		wait_until "the reason" journal_has 'redoahead: error: .*replaced'
		ends_well

		sc stop "$daemon"
		make_main "shared_preload_libraries = '$library'"
		mv "$cluster/pg_stat_tmp" "$cluster.rest"
		sc start "$daemon" || true
		mv "$cluster.rest" "$cluster/pg_stat_tmp"
		start_main
		wait_until "the sockets" has_sockets "${sockets[@]}"
		ends_well
		sc stop "$daemon"
	done
}

# Lost otherwise: prefetching, or the server, whenever the daemon has gone.  A kill stands
# for that of the kernel when memory ends.
@test "in one recovery the daemon starts late, restarts and is killed" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	start_main
	feed "$cluster"
	no sc is-active "$daemon"
	postmaster=$(head -n 1 "$cluster/postmaster.pid")
	sc start "$daemon"
	feed_until_connected 1

	sc restart "$daemon"
	feed_until_connected 2

	first=$(main_pid "$daemon")
	kill -KILL "$first"
	wait_until "another daemon" another_runs "$first"
	[ "$(property "$daemon" NRestarts)" -eq 1 ]
	feed_until_connected 3
	[ "$(head -n 1 "$cluster/postmaster.pid")" -eq "$postmaster" ]
	ends_well
}

# Lost otherwise: upgrades of the package while a recovery runs.
@test "in a recovery, the program is upgraded and the daemon restarted" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	sc start "$daemon"
	start_main
	feed_until_connected 1
	postmaster=$(head -n 1 "$cluster/postmaster.pid")
	# As a package does: the new file replaces the name, and the old program runs on.
	old=$(main_pid "$daemon")
	inside sh -c 'cp /usr/bin/redoahead /usr/bin/new && mv /usr/bin/new /usr/bin/redoahead'
	[[ $(readlink "/proc/$old/exe") == *' (deleted)' ]]
	sc daemon-reload
	sc try-restart "$daemon"
	[[ $(readlink "/proc/$(main_pid "$daemon")/exe") != *' (deleted)' ]]
	feed_until_connected 2
	[ "$(head -n 1 "$cluster/postmaster.pid")" -eq "$postmaster" ]
	ends_well
}

# Lost otherwise: a quick restart of the server, which waits for the unit.
@test "in a recovery, it stops within a second, and leaves nothing" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	sc start "$daemon"
	start_main
	feed_until_connected 1
	sc stop "$daemon"
	us=$(($(property "$daemon" InactiveEnterTimestampMonotonic) - $(property "$daemon" ActiveExitTimestampMonotonic)))
	echo "stopped within $us us"
	[ "$us" -lt 1000000 ]
	[ "$(property "$daemon" Result)" = success ]
	[ ! -e "$cluster/pg_stat_tmp/redoahead.sock" ]
	ends_well
}

# Lost otherwise: a mode that fits, after the extension has been installed or removed; and
# the recovery after a crash.
@test "a restart of the server decides anew what runs, and a crash leaves it running" {
	need_machine
	make_main
	sc enable "$daemon"
	start_main
	follower=$(main_pid "$daemon")
	[[ $(tr '\0' ' ' <"/proc/$follower/cmdline") == "/usr/bin/redoahead follow "* ]]
	feed_rest "$cluster"
	wait_until "the end for follow" logs "$daemon" 'recovery ended'
	wait_until "the server's unit" sc is-active "$server"

	kill -KILL "$(main_pid "$server")"
	wait_until "the failure of the server" sc is-failed "$server"
	[ "$(main_pid "$daemon")" = "$follower" ]
	sc start "$server"
	[ "$(main_pid "$daemon")" = "$follower" ]

	inside sh -c 'echo "shared_preload_libraries = redoahead" >>/etc/postgresql/'"$pg_major"'/main/postgresql.conf'
	sc restart "$server"
	[[ $(tr '\0' ' ' <"/proc/$(main_pid "$daemon")/cmdline") == "/usr/bin/redoahead serve "* ]]
}

# Lost otherwise: log rotation, and the daemon, to a reload.
@test "a reload opens the output files again" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	printf '[Service]\nEnvironment=REDOAHEAD_OPTIONS=--timeline=/var/lib/redoahead/'"$pg_major"'-main/timeline\n' | drop_in "$daemon"
	sc start "$daemon"
	pid=$(main_pid "$daemon")
	inside mv /var/lib/redoahead/$pg_major-main/timeline /var/lib/redoahead/$pg_major-main/old
	sc reload "$daemon"
	wait_until "the file" inside test -e /var/lib/redoahead/$pg_major-main/timeline
	wait_until "the end of the reload" sc is-active "$daemon"
	[ "$(main_pid "$daemon")" = "$pid" ]
}

# Lost otherwise: users other than the owner, who watch a recovery.
@test "status, metrics and report are where the manual has them" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	drop_in "$daemon" <<-end
		[Service]
		SupplementaryGroups=games
		Environment="REDOAHEAD_OPTIONS=--status-group=games --status-socket=/run/redoahead/$pg_major-main/status.sock \
		    --metrics=/run/redoahead/$pg_major-main/redoahead.prom --report=/var/lib/redoahead/$pg_major-main"
	end
	sc start "$daemon"
	start_main
	wait_until "the socket" inside test -S /run/redoahead/$pg_major-main/status.sock
	[ "$(inside stat -c '%a %U %G' /run/redoahead/$pg_major-main/status.sock)" = "660 $redoahead_user games" ]
	wait_until "the metrics" inside grep -q '^redoahead_up' /run/redoahead/$pg_major-main/redoahead.prom
	inside setpriv --reuid=games --regid=games --clear-groups redoahead status --socket=/run/redoahead/$pg_major-main/status.sock | grep recovery
	ends_well
	inside sh -c 'ls /var/lib/redoahead/'"$pg_major"'-main/*.html'
	no inside test -e /run/redoahead/$pg_major-main
}

reports_after() {			# TIME
	local last
	last=$(property "$daemon" WatchdogTimestampMonotonic)
	[ -n "$last" ] && [ "$last" != "$1" ]
}

# Lost otherwise: prefetching, by a loop that hangs; here the whole process is stopped.
@test "a daemon that hangs is replaced" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	printf '[Service]\nWatchdogSec=6s\nTimeoutStopSec=1s\n' | drop_in "$daemon"
	sc start "$daemon"
	# It reports to be alive, each half of that time, and so lives longer.
	pid=$(main_pid "$daemon")
	for _ in 1 2 3; do
		last=$(property "$daemon" WatchdogTimestampMonotonic)
		wait_until "a report" reports_after "$last"
	done
	[ "$(main_pid "$daemon")" = "$pid" ]
	kill -STOP "$pid"
	wait_until "another daemon" another_runs "$pid"
	wait_until "the reason" journal_has 'Watchdog timeout'
}

# Lost otherwise: io_uring, the check of the page cache and the memory of the startup
# process, to a filter; or the data, to who takes over the daemon.
@test "the daemon has what it needs and no more" {
	need_machine
	make_main "shared_preload_libraries = redoahead"
	sc start "$daemon"
	start_main
	feed_until_connected 1
	logs "$daemon" 'serving .* with io_uring'
	no logs "$daemon" 'warning|cannot'
	status=/proc/$(main_pid "$daemon")/status
	[ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):	0*$' "$status")" -eq 5 ]
	grep -qE '^NoNewPrivs:	1' "$status"
	grep -qE '^Seccomp:	2' "$status"
	grep -qE '^Max open files +4096 ' "${status%status}limits"
	# `ip` may be missing; the file names the interfaces after two lines.
	[ "$(tail -n +3 "${status%status}net/dev" | cut -d : -f 1 | tr -d ' ')" = lo ]
	main=/var/lib/postgresql/$pg_major/main
	beside touch "$main/pg_stat_tmp/file" /var/lib/redoahead/$pg_major-main/file
	for file in file base/file; do
		no beside touch "$main/$file"
		[ ! -e "$cluster/$file" ]
	done
	rm "$cluster/pg_stat_tmp/file"
	ends_well
}

# Lost otherwise: what follow needs, which is more than serve does.
@test "follow reads the position of redo from memory, or by BPF with the drop-in of the examples" {
	need_machine
	make_main
	sc start "$daemon"
	start_main
	feed_until_daemon_logs 'following redo by memory'
	no logs "$daemon" 'warning|cannot'
	ends_well

	need_bpf
	make_main
	{ cat "$units/examples/follow-bpf.conf"; echo Environment=REDOAHEAD_OPTIONS=--position=bpf; } | drop_in "$daemon"
	sc start "$daemon"
	start_main
	feed_until_daemon_logs 'following redo by bpf'
	grep -qE '^CapEff:	000000c000000000' "/proc/$(main_pid "$daemon")/status"
	ends_well
}

# Lost otherwise: servers that are not Debian's.
@test "the unit of a data directory is tied to a server of another name" {
	need_machine
	make_main
	daemon=$(systemd-escape --path --template=redoahead-data@.service /var/lib/postgresql/$pg_major/main)
	daemon=${daemon%.service}
	server=postgresql-$pg_major
	inside sh -c 'cat >/run/systemd/system/postgresql-'"$pg_major"'.service' <<-end
		[Service]
		Type=exec
		User=postgres
		ExecStart=/usr/lib/postgresql/$pg_major/bin/postgres -D /var/lib/postgresql/$pg_major/main
		KillSignal=SIGINT
		TimeoutSec=0
		StandardError=append:/var/lib/postgresql/$pg_major/main.log
	end
	settings "$cluster" shared_preload_libraries=redoahead unix_socket_directories=/run/postgresql
	sed "s/postgresql-18/$server/" "$units/examples/other-unit.conf" | drop_in "$daemon"
	sc enable "$daemon"
	start_main
	feed_until_connected 1
	logs "$daemon" "serving \"/var/lib/postgresql/$pg_major/main\""
	feed_rest "$cluster"
	sc restart "$server"
	sc is-active "$daemon"
	sc stop "$server"
	wait_until "the end of the daemon" no sc is-active "$daemon"
	sc disable "$daemon"
	same_data "$WORK/recovered" "$cluster"
}

# A machine whose first process is systemd, with the units of scripts/systemd and Debian's
# postgresql@.service.  To be loaded after lib/servers.  $MACHINE is its directory; what is
# in postgresql/ there is its /var/lib/postgresql.  Limits of memory and CPU work there
# only if the controllers of this machine are of version 2.

units=$BATS_TEST_DIRNAME/../../scripts/systemd

# Where cgroups of version 2 are mounted.
cgroup_mount() { findmnt -nro TARGET -t cgroup2 | head -n 1; }

# Why no such machine can be had here; nothing if one can.
why_no_machine() {
	if [ "$(id -u)" -ne 0 ]; then
		echo "needs root"
	elif [ ! -x /lib/systemd/systemd ] || [ ! -e /lib/systemd/system/postgresql@.service ]; then
		echo "systemd or postgresql-common is not installed"
	elif [ -z "$(cgroup_mount)" ] || [ ! -w "$(cgroup_mount)/cgroup.procs" ]; then
		echo "no cgroups of version 2 can be made"
	elif [[ $(readlink -f "$PATCHED") =~ ^(/var)?/tmp/ ]]; then
		echo "the units have a /tmp and a /var/tmp of their own, and would not find $PATCHED"
	else
		unshare --mount --pid --fork --cgroup --uts --ipc --net true 2>&1 ||
			echo "no namespaces can be made"
	fi
}

need_machine() { [ ! -s "$WORK/no-machine" ] || skip "$(cat "$WORK/no-machine")"; }

# A copy of the units and of what they run, as installed below a directory.
install_units() {			# DIRECTORY
	install -D -m 755 "$REDOAHEAD" "$1/bin/redoahead"
	install -D -m 755 "$units/run-unit" "$1/libexec/redoahead/run-unit"
	mkdir -p "$1/lib/systemd/system"
	install -m 644 "$units"/*.service "$1/lib/systemd/system"
}

# ---------- the machine ----------

# Names of places, once there is $WORK.
machine_names() {
	MACHINE=$WORK/machine
	cluster=$MACHINE/postgresql/$pg_major/main
}
[ -z "${WORK:-}" ] || machine_names

# Boot it, with units and program installed, and the patched server as Debian's.
boot_machine() {
	local tree
	machine_names
	tree=$MACHINE/etc
	why_no_machine >"$WORK/no-machine" 2>&1
	[ ! -s "$WORK/no-machine" ] || return 0
	mkdir -p "$MACHINE/usr/lib/postgresql" "$tree/systemd/system" "$tree/postgresql" "$MACHINE/postgresql/$pg_major"
	install_units "$MACHINE/usr"
	ln -s "$PATCHED" "$MACHINE/usr/lib/postgresql/$pg_major"
	printf '[Unit]\nRequires=basic.target\nAfter=basic.target\n' >"$tree/systemd/system/redoahead-test.target"
	install -m 755 "$WORK/restore" "$MACHINE/postgresql"
	chown "$redoahead_user:" "$MACHINE/postgresql" "$MACHINE/postgresql/$pg_major"
	mktemp -d "$(cgroup_mount)/redoahead-test.XXXXXX" >"$WORK/cgroup"
	unshare --mount --pid --fork --kill-child --propagation private \
		"$BATS_TEST_DIRNAME/lib/boot-systemd" "$MACHINE" "$(<"$WORK/cgroup")" "$redoahead_cache" \
		>"$WORK/boot.log" 2>&1 </dev/null 3>&- &
	echo $! >"$WORK/unshare"
	wait_until "the start of systemd" has_booted || { cat "$WORK/boot.log"; return 1; }
}

has_booted() {
	pgrep -P "$(<"$WORK/unshare")" >"$WORK/init" &&
		[ "$(sc is-system-running)" != offline ] && sc is-active redoahead-test.target
}

halt_machine() {
	[ -s "$WORK/cgroup" ] || return 0
	if [ -s "$WORK/init" ]; then
		kill -KILL "$(<"$WORK/init")"
		wait_until "the end of systemd" is_gone "$(<"$WORK/unshare")"
	fi
	find "$(<"$WORK/cgroup")" -depth -type d -exec rmdir {} + 2>/dev/null || true
}

# Run a command on the machine.
inside() { timeout "$patience" nsenter -t "$(<"$WORK/init")" -m -p -C -u -i -n -r -- "$@"; }
sc() { inside systemctl --no-pager "$@"; }
property() { sc show -P "$2" "$1"; }			# UNIT NAME

# A process of the machine, as a process of this one.
main_pid() {				# UNIT
	local pid outer
	pid=$(property "$1" MainPID)
	[ "$pid" -gt 0 ] || return 1
	# Other machines have processes of that number, too.
	for outer in $(cat /proc/[0-9]*/status 2>/dev/null |
		awk -v pid="$pid" '/^Pid:/ { outer = $2 } /^NSpid:/ && NF == 3 && $3 == pid { print outer }'); do
		[ ! "/proc/$outer/ns/pid" -ef "/proc/$(<"$WORK/init")/ns/pid" ] || echo "$outer"
	done
}

# What a unit has logged since it was last started.
journal() { inside journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(property "$1" InvocationID)"; }
logs() { journal "$1" | grep -qE -- "$2"; }		# UNIT PATTERN

# Add a drop-in from standard input to a unit.
drop_in() {					# UNIT-WITHOUT-SUFFIX
	inside sh -c 'mkdir -p "/run/systemd/system/$1.service.d" && cat >"/run/systemd/system/$1.service.d/test.conf"' - "$1"
	sc daemon-reload
}

# No drop-ins, nothing runs, and nothing has failed.
reset_machine() {
	[ -s "$WORK/init" ] || return 0
	sc stop '*redoahead*.service' '*postgres*.service' 2>&1
	inside sh -c 'rm -rf /run/systemd/system/*.d /run/systemd/system/*postgres*'
	sc disable redoahead@$pg_major-main >/dev/null 2>&1 || true
	sc daemon-reload
	sc reset-failed
}

# ---------- Debian's cluster MAJOR/main ----------

server=postgresql@$pg_major-main
daemon=redoahead@$pg_major-main

# Make the crashed cluster that of the machine, with its configuration where Debian has it.
# Its WAL comes from an archive that the test feeds.
make_main() {
	local archive=/var/lib/postgresql/$pg_major/main.archive
	rm -rf "$cluster" "$cluster".*
	copy_cluster "$WORK/crashed" "$cluster"
	feed_from_archive "$cluster"
	as_server_user touch "$cluster.log"
	settings "$cluster" restore_command="/var/lib/postgresql/restore $archive %f %p" log_destination=stderr
	inside sh -c 'install -d -o postgres -g postgres /etc/postgresql/'"$pg_major"'/main /run/postgresql /var/log/postgresql; cd /etc/postgresql/'"$pg_major"'/main; cat >postgresql.conf; echo auto >start.conf; echo "local all all trust" >pg_hba.conf; touch pg_ident.conf; ln -sfn /var/lib/postgresql/'"$pg_major"'/main.log log; chown -h postgres: *' <<-end
		data_directory = '/var/lib/postgresql/$pg_major/main'
		hba_file = '/etc/postgresql/$pg_major/main/pg_hba.conf'
		ident_file = '/etc/postgresql/$pg_major/main/pg_ident.conf'
		unix_socket_directories = '/run/postgresql'
		${1:-}
	end
}

# Start the server, and wait until it waits for WAL.
start_main() {
	sc start --no-block "$server"
	wait_until "the start of redo" grep -q 'redo starts at' "$cluster.log"
}

# Let recovery go on until the server has a daemon, the COUNT'th since its start.  It tries
# again after seconds where it lost one within a minute.
feed_until_connected() {	# COUNT
	until [ "$(grep -c 'redoahead: connected to daemon' "$cluster.log")" -ge "$1" ]; do
		feed "$cluster" || return 1
		sleep 0.3
	done
}

# Let recovery go on until the daemon's log has a line.  Redo of the segments that are there
# may be over before a daemon has found the startup process.
feed_until_daemon_logs() {	# PATTERN
	until logs "$daemon" "$1"; do
		feed "$cluster" || { echo "the daemon's log never had: $1" >&2; return 1; }
		sleep 0.3
	done
}

# Let recovery end; the data must be that of a server without redoahead.
ends_well() {
	feed_rest "$cluster"
	wait_until "the server's unit" sc is-active "$server"
	sc stop "$server"
	good_checksums "$cluster"
	same_data "$WORK/recovered" "$cluster"
}

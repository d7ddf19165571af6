# A machine whose first process is systemd, with the units of scripts/systemd and Debian's
# postgresql@.service.  To be loaded after lib/servers.  $MACHINE is its directory; what is
# in postgresql/ there is its /var/lib/postgresql.

units=$BATS_TEST_DIRNAME/../../scripts/systemd
MACHINE=${WORK:-}/machine

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

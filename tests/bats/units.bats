#!/usr/bin/env bats
# The units of scripts/systemd, by systemd-analyze, and which program run-unit starts.  What needs
# a machine is in systemd.bats.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/systemd

setup_file() { suite_begin; }
teardown() { case_end; }
teardown_file() { suite_end; }

# A directory of units as installed, whose programs exist.
installed_units() {
	install_units "$CASE/usr"
	sed -i "s|/usr/|$CASE/usr/|" "$CASE/usr/libexec/redoahead/run-unit"
	sed -i "s|=/usr/|=$CASE/usr/|" "$CASE"/usr/lib/systemd/system/*.service
	installed=$CASE/usr/lib/systemd/system
}

# Lost otherwise: settings that systemd ignores with a warning in the journal.
@test "systemd-analyze verifies the units" {
	command -v systemd-analyze >/dev/null || skip "systemd is not installed"
	installed_units
	mkdir "$installed"/redoahead{,-data}@.service.d
	for unit in redoahead@$pg_major-main redoahead-data@srv-pg; do
		out=$(SYSTEMD_UNIT_PATH=$installed: systemd-analyze verify --man=no "$unit.service" 2>&1) ||
			{ echo "$out"; return 1; }
		[ -z "$out" ] || { echo "$out"; return 1; }
	done
	cp "$units/examples/follow-bpf.conf" "$installed/redoahead@.service.d"
	cp "$units/examples/other-unit.conf" "$installed/redoahead-data@.service.d"
	for unit in redoahead@$pg_major-main redoahead-data@srv-pg; do
		out=$(SYSTEMD_UNIT_PATH=$installed: systemd-analyze verify --man=no "$unit.service" 2>&1)
		[ -z "$out" ] || { echo "$out"; return 1; }
	done
}

# Lost otherwise: the machine, to who takes over the daemon.
@test "the exposure of the units is at most 2.0" {
	command -v systemd-analyze >/dev/null || skip "systemd is not installed"
	for unit in redoahead@ redoahead-data@; do
		systemd-analyze security --no-pager --offline=true --threshold=20 "$units/$unit.service"
	done
	cat "$units/redoahead@.service" "$units/examples/follow-bpf.conf" >"$CASE/redoahead@.service"
	systemd-analyze security --no-pager --offline=true --threshold=20 "$CASE/redoahead@.service"
}

# What they do besides.
@test "the units have the same rights and resources" {
	settings_of() { sed -n '/^\[Service\]/,/^\[Install\]/p' "$units/$1.service" | grep -v '^#' | grep -vE '^(ExecStart|ReadWritePaths|PrivateTmp)='; }
	[ -n "$(settings_of redoahead@)" ]
	diff <(settings_of redoahead@) <(settings_of redoahead-data@)
	# It would remove the server's shared memory.
	no grep -h '^RemoveIPC' "$units"/*.service
	# It would let the server's start fail.
	no grep -hE '^(Requires|RequiredBy|BindsTo|After)=.*postgres' "$units"/*.service "$units"/examples/*
}

# What run-unit runs, and its options; or its message and exit status.
run_unit() { as_server_user env "REDOAHEAD_POSTGRES=$PATCHED/bin/postgres" "${with[@]}" "$CASE/usr/libexec/redoahead/run-unit" "$@" 2>&1 || echo "status $?"; }

# Lost otherwise: prefetching, where the other command than the right one is chosen.
@test "it serves servers with the extension and follows those without" {
	installed_units
	printf '#!/bin/sh\necho "$@"\n' >"$CASE/usr/bin/redoahead"
	make_cluster "$DATA"
	with=()
	[ "$(run_unit "$DATA" --io-depth=5)" = "follow -D $DATA --io-depth=5" ]
	settings "$DATA" 'shared_preload_libraries=auto_explain, "redoahead"'
	[ "$(run_unit "$DATA")" = "serve -D $DATA" ]
	settings "$DATA" 'shared_preload_libraries=$libdir/redoahead' "redoahead.socket=$CASE/other"
	[ "$(run_unit "$DATA")" = "serve --socket=$CASE/other -D $DATA" ]
	settings "$DATA" shared_preload_libraries=redoahead_other
	[ "$(run_unit "$DATA")" = "follow -D $DATA" ]
	# The user decides, also where there is no program of the server.
	with=(REDOAHEAD_COMMAND=serve REDOAHEAD_POSTGRES=/nowhere)
	[ "$(run_unit "$DATA")" = "serve -D $DATA" ]
	with=(REDOAHEAD_COMMAND=run)
	[[ $(run_unit "$DATA") == *'REDOAHEAD_COMMAND is "run"'*'status 2' ]]
	with=(REDOAHEAD_POSTGRES=/nowhere)
	[[ $(run_unit "$DATA") == *'cannot find out whether'*'status 1' ]]
	with=()
	[[ $(run_unit "$CASE/none") == *'is not a PostgreSQL data directory'*'status 1' ]]
	[[ $(run_unit 99-none) == *'/etc/postgresql/99/none/postgresql.conf" cannot be read'*'status 1' ]]
	rm -r "$DATA/pg_stat_tmp"
	[[ $(run_unit "$DATA") == *'pg_stat_tmp" is not there'*'status 1' ]]
	[[ $(run_unit main) == *'neither VERSION-CLUSTER nor the path'*'status 2' ]]
}

# Lost otherwise: the remedy, where the unit may not write to the directory of redoahead.socket.
@test "the directory of the configured socket must be there and writable" {
	local directory
	installed_units
	printf '#!/bin/sh\necho "$@"\n' >"$CASE/usr/bin/redoahead"
	make_cluster "$DATA" shared_preload_libraries=redoahead
	with=()
	for directory in "$DATA/sockets" "$CASE/sockets"; do
		settings "$DATA" "redoahead.socket=${directory#"$DATA/"}/socket"
		[[ $(run_unit "$DATA") == *"$directory\" is not there"*'status 1' ]]
		as_server_user mkdir -m 500 "$directory"
		if [ "$(id -u "$redoahead_user")" -ne 0 ]; then
			[[ $(run_unit "$DATA") == *"$directory\" cannot be written"*" ReadWritePaths=$directory"$'\n''status 1' ]]
		fi
		# The user decides.
		[ "$(run_unit "$DATA" --socket=/other)" = "serve -D $DATA --socket=/other" ]
		as_server_user chmod 700 "$directory"
		[ "$(run_unit "$DATA")" = "serve --socket=${directory#"$DATA/"}/socket -D $DATA" ]
	done
	settings "$DATA" redoahead.socket=socket
	[ "$(run_unit "$DATA")" = "serve --socket=socket -D $DATA" ]
}

# Lost otherwise: the daemon of a patched server, which would be followed instead.
@test "a configuration that the server's program cannot read is an error" {
	installed_units
	printf '#!/bin/sh\necho "$@"\n' >"$CASE/usr/bin/redoahead"
	make_cluster "$DATA" shared_preload_libraries=redoahead
	with=()
	[ "$(run_unit "$DATA")" = "serve -D $DATA" ]
	for line in 'bogus line here' "include 'missing.conf'" 'setting_of_another_major = on'; do
		as_server_user cp "$DATA/postgresql.conf" "$DATA/whole.conf"
		echo "$line" | as_server_user tee -a "$DATA/postgresql.conf" >/dev/null
		for command in '' serve; do
			with=("REDOAHEAD_COMMAND=$command")
			[[ $(run_unit "$DATA") == *"postgresql.conf\" is invalid; see what $PATCHED/bin/postgres -D $DATA -C data_directory reports"*'status 1' ]]
		done
		# That needs none of the settings.
		with=(REDOAHEAD_COMMAND=follow)
		[ "$(run_unit "$DATA")" = "follow -D $DATA" ]
		as_server_user mv "$DATA/whole.conf" "$DATA/postgresql.conf"
	done
}

# Lost otherwise: the remedy, to who searches the manual for a message.
@test "redoahead.service(7) explains each message of run-unit" {
	page=$units/../../userspace/redoahead.service.7
	sed -n '/^\.SH TROUBLESHOOTING/,/^\.SH FILES/p' "$page" | grep -A 1 '^\.TP' | grep -vE '^(\.TP|--)|of systemd' | sed 's/\\-/-/g' >"$CASE/explained"
	while read -r message; do
		grep -qF -- "$message" "$units/run-unit" || { echo "no message: $message"; return 1; }
	done <"$CASE/explained"
	[ "$(wc -l <"$CASE/explained")" -eq "$(grep -cE '\b(fail|warn) "' "$units/run-unit")" ]
}

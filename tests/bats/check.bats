#!/usr/bin/env bats
# `redoahead check`: what it reports about good and bad machines, servers and settings,
# and that its remedies help.

load lib/machine
load lib/servers
load lib/checking
bats_require_minimum_version 1.5.0

# Lost otherwise: a DBA does not learn in minutes whether all is there.
@test "a patched server with the extension has no problem" {
	settings "$DATA" "${redoahead_settings[@]}"
	run -0 check
	reports ok data_directory "$DATA belongs to .*, mode 0700"
	run -0 as_server_user env -C "$PATCHED" "$WORK/redoahead" check -D "$DATA" --bindir bin
	reports ok server "PostgreSQL $pg_major\.[0-9]+, patched"
	reports ok control_file "blocks of 8192 bytes, WAL segments of 1 MB; it was shut down cleanly"
	reports ok server "PostgreSQL $pg_major[.0-9a-z]*, patched: redoahead serve is for it"
	reports ok configuration
	reports ok extension "/redoahead.so is preloaded"
	reports ok recovery_prefetch try
	reports ok wal_decode_buffer_size "32 MB"
	reports ok huge_pages
	reports ok data_checksums
	reports ok full_page_writes on
	[ "$(grep -c '^problem' <<<"$output")" = 0 ]
	# A line for each need.
	[ "$(grep -cE '^(ok|warning) +[a-z_]+ +[^ ]' <<<"$output")" = "${#lines[@]}" ]
}

# Lost otherwise: scripts, and who looks up a name.
@test "JSON has the same needs, and the man page has each" {
	settings "$DATA" redoahead.socket=/run/x debug_io_direct=data
	run -1 check
	cut -c 10- <<<"$output" | cut -d ' ' -f 1 | sort >"$CASE/names"
	run -1 --separate-stderr check --json
	echo "$output" >"$CASE/json"
	/usr/bin/python3 - "$CASE/json" <<-'END' | sort >"$CASE/json_names"
		import json, sys
		report = json.load(open(sys.argv[1]))
		needs = report['needs']
		for status in ('problem', 'warning'):
		    assert report[status + 's'] == sum(need['status'] == status for need in needs)
		assert report['status'] == 'problem' and report['command'] == 'serve'
		assert report['server_version'].startswith(str(report['server_major'])), report
		assert all((need['remedy'] is None) == (need['status'] == 'ok') for need in needs), needs
		assert [need['block_size'] for need in needs if need['name'] == 'control_file'] == [8192]
		with open(sys.argv[1] + '.members', 'w') as file:
		    print(*report, sep='\n', file=file)
		print(*(need['name'] for need in needs), sep='\n')
	END
	sed -n '/^\.SH JSON/,/^\.TE/s/^\([a-z_, ]*\)\tT{$/\1/p' "$redoahead_root/userspace/redoahead-check.1" | sed 's/, /\n/' >"$CASE/members"
	diff -u <(sort "$CASE/members") <(sort "$CASE/json.members")
	diff -u "$CASE/names" "$CASE/json_names"
	bindir=$STOCK/bin run -1 check
	cut -c 10- <<<"$output" | cut -d ' ' -f 1 | sort - "$CASE/names" | uniq >"$CASE/all"
	sed -n '/^\.SH NEEDS/,/^\.TE/s/^\([a-z_.]*\)\tT{$/\1/p' "$redoahead_root/userspace/redoahead-check.1" | sort >"$CASE/page"
	grep -q position "$CASE/page"
	diff -u "$CASE/page" "$CASE/all"
}

# Lost otherwise: a remedy that does not help.
@test "remedies for settings help, while the server runs and while it does not" {
	settings "$DATA" recovery_prefetch=off redoahead.decode_buffer_size=1MB full_page_writes=off
	run -1 check
	reports problem extension "shared_preload_libraries = ''; echo "
	reports problem recovery_prefetch "off turns redoahead off"
	reports warning wal_decode_buffer_size "1 MB"
	reports warning full_page_writes
	for need in extension recovery_prefetch; do cure "$need"; done
	run -0 check
	reports ok extension
	reports ok recovery_prefetch
	start_server "$PATCHED" "$DATA"
	for need in wal_decode_buffer_size full_page_writes; do cure "$need"; done
	run -0 check
	reports ok control_file "a server runs"
	reports ok wal_decode_buffer_size
	reports ok full_page_writes
	[ "$(sql "$DATA" -c 'show full_page_writes' -c 'show redoahead.decode_buffer_size')" = "$(printf 'on\n32MB')" ]
	stop_server "$DATA"
}

# Lost otherwise: libraries that a server had before.
@test "the remedy for the extension keeps other libraries" {
	settings "$DATA" 'shared_preload_libraries=autoinc, amcheck'
	start_server "$PATCHED" "$DATA"
	cure extension
	stop_server "$DATA"
	start_server "$PATCHED" "$DATA"
	[ "$(sql "$DATA" -c 'show shared_preload_libraries')" = "autoinc, amcheck, redoahead" ]
	run -0 check
	stop_server "$DATA"
}

# Lost otherwise: users of stock servers are told to patch, and learn nothing of follow.
@test "a stock server is for redoahead follow" {
	bindir=$STOCK/bin
	run -0 check
	reports ok server "stock: redoahead follow is for it"
	reports ok extension
	reports warning recovery_prefetch "again.*'off'"
	reports ok position
	cure recovery_prefetch
	run -0 check
	reports ok recovery_prefetch off
	run -0 as_server_user "${without[@]}" process_vm_readv EPERM "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	reports warning position "ptrace_scope"
	# What the configuration of a patched server has, one by one, as the server reports it.
	for name in wal_keep_block_data=on clear_page_space=on wal_compression=lz4:transform; do
		cp "$DATA/postgresql.auto.conf" "$CASE/conf"
		settings "$DATA" "$name"
		run -1 check
		reports problem extension "does not know ${name%=*} = ${name#*=}: it does not start; remove it in $DATA/postgresql.auto.conf, line"
		cat "$CASE/conf" >"$DATA/postgresql.auto.conf"
	done
	settings "$DATA" shared_preload_libraries=redoahead
	run -1 check
	reports problem extension "does not start; remove it in .*auto.conf, line [0-9]+"
	# All of them at once.
	settings "$DATA" wal_keep_block_data=on wal_compression=lz4:transform
	run -1 check
	[ "$(grep -cE '^problem +extension .*does not start; remove it in ' <<<"$output")" -eq 3 ]
}

# Lost otherwise: why a daemon refuses the server although both packages have the same version.
@test "a server that runs with the library of before an upgrade is reported" {
	local library=$CASE/redoahead.so
	as_server_user cp "$("$PATCHED/bin/pg_config" --pkglibdir)/redoahead.so" "$library"
	settings "$DATA" "shared_preload_libraries=$library"
	start_server "$PATCHED" "$DATA"
	run check
	reports ok extension "is preloaded"
	as_server_user cp "$library" "$library.new"
	as_server_user mv "$library.new" "$library"
	run check
	reports warning extension "replaced since the server was started.*restart the server"
	stop_server "$DATA"
}

# Lost otherwise: the wrong file is read, and all settings with it.
@test "the configuration is found elsewhere, by the command of the last start, and by the option" {
	mkdir "$CASE/etc"
	mv "$DATA/postgresql.conf" "$CASE/etc"
	printf "include_dir 'conf.d'\nrecovery_prefetch = off\n" >>"$CASE/etc/postgresql.conf"
	mkdir "$CASE/etc/conf.d"
	echo "redoahead.socket = ''" >"$CASE/etc/conf.d/ours.conf"
	chmod -R a+rX "$CASE/etc"
	run -1 check
	reports problem configuration "postgresql.conf: No such file"
	no grep -q ' recovery_prefetch ' <<<"$output"
	run -1 check --config-file "$CASE/etc/postgresql.conf"
	reports problem recovery_prefetch
	reports problem redoahead.socket
	[ "$(id -u)" -ne 0 ] || chown -R "$redoahead_user" "$CASE/etc"
	start_server "$PATCHED" "$DATA" "config_file=$CASE/etc/postgresql.conf" recovery_prefetch=try redoahead.decode_buffer_size=2MB
	stop_server "$DATA"
	run -1 as_server_user "$WORK/redoahead" check -D "$DATA"
	reports ok server patched
	reports ok configuration "$CASE/etc/postgresql.conf"
	reports ok recovery_prefetch try
	reports problem redoahead.socket
	reports warning wal_decode_buffer_size "without redoahead.decode_buffer_size on its command line"
}

# Lost otherwise: nobody knows why seconds are lost, or that all is.
@test "huge pages and direct I/O" {
	local pages
	settings "$DATA" shared_buffers=900GB debug_io_direct=data
	run -1 check
	reports problem debug_io_direct
	reports warning huge_pages "sysctl -w vm.nr_hugepages=[0-9]+"
	pages=$(sed -n 's/.*vm.nr_hugepages=\([0-9]*\).*/\1/p' <<<"$output")
	[ "$pages" -ge $((900 * 1024 * 1024 / $(sed -n 's/^Hugepagesize: *\([0-9]*\).*/\1/p' /proc/meminfo))) ]
	settings "$DATA" huge_pages=off
	run -1 check
	reports warning huge_pages "off with shared_buffers = 900 GB"
}

# Lost otherwise: a warning on a machine that has what is needed.
@test "transparent huge pages for shared memory" {
	local modes=/sys/kernel/mm/transparent_hugepage/shmem_enabled
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	[ -e "$modes" ] || skip "the kernel has no transparent huge pages"
	need_namespace --mount
	settings "$DATA" shared_buffers=900GB
	with_modes() {				# MODES
		echo "$1" >"$CASE/modes"
		run unshare --mount sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$CASE/modes" "$modes" \
			"${as_user[@]}" "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	}
	with_modes "always within_size [advise] never deny force"
	reports ok huge_pages "the extension requests transparent ones for shared_buffers = 900 GB"
	with_modes "always within_size advise [never] deny force"
	reports warning huge_pages vm.nr_hugepages
	bindir=$STOCK/bin
	with_modes "always within_size [advise] never deny force"
	reports warning huge_pages vm.nr_hugepages
}

# Lost otherwise: a check that needs what it checks, or that ends with a signal.
@test "what is no data directory, or cannot be entered, ends with status 2" {
	run -2 "$WORK/redoahead" check -D "$CASE/absent"
	[[ $output == *"cannot be opened: No such file"* ]]
	run -2 "$WORK/redoahead" check -D "$CASE"
	[[ $output == *"not a PostgreSQL data directory"* ]]
	PGDATA= run -2 "$WORK/redoahead" check
	[[ $output == *"no data directory"* ]]
	echo 12 >"$DATA/PG_VERSION"
	run -2 check
	[[ $output == *"is of PostgreSQL 12"* ]]
	echo x >"$DATA/PG_VERSION"
	run -2 check
	: >"$DATA/global/pg_control"
	echo "$pg_major" >"$DATA/PG_VERSION"
	run -2 check
	[[ $output == *"pg_control: too short"* ]]
	run -2 check --frob
	run -2 bash -c '"$0" check -D "$1" >/dev/full' "$WORK/redoahead" "$WORK/cluster"
	[[ $output == *"the report cannot be written"* ]]
}

# Lost otherwise: the advice to start as the owner.
# Lost otherwise: mode and owner with which the server does not start.
# Lost otherwise: what a daemon reads of a tablespace that is hidden from it.
# Lost otherwise: root's files, if the owner's path leads to a directory such as /tmp, in which
# root's rights would not be given up.
# Lost otherwise: what a damaged cluster needs; and other needs with it.
@test "a damaged control file, and settings that are garbage" {
	truncate -s 100 "$DATA/global/pg_control"
	run -1 check
	reports problem control_file "cut off"
	reports ok io_uring
	reports problem extension
	truncate -s 8192 "$DATA/global/pg_control"
	run -1 check
	reports problem control_file
	head -c 100000 /dev/urandom >>"$DATA/postgresql.conf"
	run -1 check
	reports problem configuration "postgresql.conf:[0-9]+: syntax error, and others: the server refuses it"
	rm "$DATA/postgresql.conf"
	mkfifo "$DATA/postgresql.conf"
	run -1 check
	reports problem configuration "not a file"
	rm "$DATA/postgresql.conf"
	printf "port = 1\nfrob\n" >"$DATA/postgresql.conf"
	chmod a+r "$DATA/postgresql.conf"
	run -1 check
	reports problem configuration "postgresql.conf:2: syntax error: the server refuses it"
}

@test "a standby, and a server of another version" {
	as_server_user touch "$DATA/standby.signal"
	run -1 check
	reports ok control_file "replay of a standby"
	# The WAL is the primary's, which has images.
	settings "$DATA" full_page_writes=off
	run -1 check
	reports ok full_page_writes on
	echo $((pg_major - 1)) >"$DATA/PG_VERSION"
	run -1 check
	reports problem server "is PostgreSQL $pg_major.*, the data directory is of PostgreSQL $((pg_major - 1))"
	bindir=$CASE/absent run -0 check
	reports warning server "PostgreSQL $((pg_major - 1)) is not found in $CASE/absent"
	# Preloaded by a server that is not patched, the extension would prevent its start.
	reports warning extension "not known; redoahead check --bindir"
}

# Lost otherwise: servers that do not start, because they are told to load what is not there.
@test "a patched server without the extension's library" {
	mkdir -p "$CASE/server"/{bin,lib/postgresql}
	cp "$PATCHED/bin/postgres" "$CASE/server/bin"
	bindir=$CASE/server/bin
	run -1 check
	reports problem extension "not in the server's directory.*make install-extension PG_CONFIG=$bindir/pg_config"
	touch "$CASE/server/lib/postgresql/libpqwalreceiver.so"
	run -1 check
	reports problem extension "redoahead.so is not in $CASE/server/lib/postgresql; make install-extension"
	cp "$(find -L "$PATCHED/lib" -name redoahead.so)" "$CASE/server/lib/postgresql"
	run -1 check
	reports problem extension "not loaded"
}

# Lost otherwise: the owner of a data directory has root run a program.
# Lost otherwise: why reads are slow in a container.
@test "io_uring and cachestat that are refused" {
	local error
	for error in EPERM ENOSYS; do
		run -1 as_server_user "${without[@]}" io_uring_setup $error "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
		reports warning io_uring "posix_fadvise.*seccomp"
	done
	run -1 as_server_user "${without[@]}" io_uring_enter EPERM "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	reports warning io_uring
	run -1 as_server_user "${without[@]}" cachestat ENOSYS "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	reports warning page_cache "Linux 6.5"
}

# Lost otherwise: why a container without a volume is slow, and cannot be traced.
@test "a data directory on overlayfs" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	as_server_user mkdir -p -m 700 "$CASE"/{up,merged}
	mkdir "$CASE/work"
	mount -t overlay -o "lowerdir=$DATA,upperdir=$CASE/up,workdir=$CASE/work" overlay "$CASE/merged" ||
		skip "the kernel has no overlayfs"
	run "$WORK/redoahead" check -D "$CASE/merged" --bindir "$bindir"
	umount "$CASE/merged"
	[ "$status" -eq 1 ]
	! has_cachestat || reports warning page_cache "on overlay, .*volume"
	reports warning io_uring "thread of the kernel"
	reports warning trace "overlayfs"
}

# Lost otherwise: why so little is read ahead in a unit or a container.
@test "a memory limit" {
	need_memory_cgroup
	python "$WORK/redoahead" "$DATA" "$bindir" <<-'END' >"$CASE/memory"
		import json, subprocess, sys
		from bench.cgroup import MemoryLimit
		program, data, bindir = sys.argv[1:]
		with MemoryLimit(200 << 20) as limit:
		    report = subprocess.run(limit.command([program, 'check', '-D', data, '--bindir', bindir, '--json']),
		                            capture_output=True, check=False, text=True)
		need = next(need for need in json.loads(report.stdout)['needs'] if need['name'] == 'memory')
		assert need['status'] == 'warning' and 'memory cgroup' in need['finding'], need
		assert 'MemoryMax' in need['remedy'], need
		assert 100 << 20 < need['available_bytes'] <= 200 << 20, need
		assert need['readahead_bytes'] == need['available_bytes'] // 16, need
	END
	run -1 check
	reports ok memory
}

# Lost otherwise: Debian's clusters that were never started have no settings.
@test "Debian's configuration of a data directory is found" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	[ -d /etc/postgresql ] || skip "there is no /etc/postgresql to mount on"
	need_namespace --mount
	echo "data_directory = '$DATA'" >>"$DATA/postgresql.conf"
	run -1 unshare --mount bash -c '
		mount -t tmpfs -o mode=755 tmpfs /etc/postgresql
		mkdir -p "$4"/{a,main}
		echo "data_directory = nowhere" >"$4/a/postgresql.conf"
		mv "$2/postgresql.conf" "$4/main"
		"$1" check -D "$2" --bindir "$3"' - "$WORK/redoahead" "$DATA" "$bindir" "/etc/postgresql/$pg_major"
	reports ok configuration "/etc/postgresql/$pg_major/main/postgresql.conf"
	reports problem extension "[|] sudo -u $redoahead_user tee -a /etc/postgresql/$pg_major/main/postgresql.conf"
}

# Lost otherwise: limits of a unit or a container.
@test "few open files" {
	run -1 as_server_user bash -c 'ulimit -n 100 && exec "$@"' - "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	reports warning open_files "at most 100 .*LimitNOFILE"
}

# Lost otherwise: whom the trace refuses, and why.
@test "rights for a trace" {
	run -1 check
	[ "$(id -u)" -ne 0 ] || reports warning trace "CAP_BPF and CAP_PERFMON"
	[ -z "$(why_no_bpf)" ] || skip "$(why_no_bpf)"
	run -1 "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	reports ok trace
	run -1 "${without[@]}" bpf EPERM "$WORK/redoahead" check -D "$DATA" --bindir "$bindir"
	reports warning trace "allow bpf.2. in the seccomp filter"
}

# Lost otherwise: a report that nobody can read on a terminal.
@test "on a terminal, lines are broken between words" {
	local columns
	for columns in 80 60 20; do
		run -0 script -qec "stty cols $columns; '$WORK/redoahead' check -D '$WORK/cluster' --bindir '$STOCK/bin'" /dev/null
		[ "$columns" = 20 ] || [ "$(awk -v most="$columns" '/ [^ ]+ [^ ]+\r$/ && length($0) - 1 > most' <<<"$output")" = "" ]
		reports ok extension
	done
}

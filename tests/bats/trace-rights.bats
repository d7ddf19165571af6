#!/usr/bin/env bats
# `redoahead trace` as root: the cluster's owner gets no rights of root by what is in the data
# directory, nor does who names the file of the report.

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/lib/traces.bash"

need_root() { [ "$(id -u)" -eq 0 ] || skip 'needs root'; }

# As the cluster's owner, pretend a recovery: a postmaster, which is bash, and a startup process,
# which runs a command in $DATA.  Their ids are in $POSTMASTER and $STARTUP.
pretend() {					# COMMAND...
	as_server_user mkdir -p "$CASE/bin"
	[ -e "$CASE/bin/postgres" ] || as_server_user cp /bin/bash "$CASE/bin/postgres"
	(cd "$DATA" && exec "${as_user[@]}" "$CASE/bin/postgres" -c '(exec -a "postgres: startup" "$@") &
		printf "%s\n" $$ "$PWD" 0 5432 "$PWD" "" "" "ready   " >postmaster.new
		echo $! >startup.pid && mv postmaster.new postmaster.pid; wait' - "$@") \
		>"$CASE/pretend.log" 2>&1 </dev/null 3>&- &
	POSTMASTER=$!
	wait_until 'the pretended server' pretends
	STARTUP=$(cat "$DATA/startup.pid")
}

pretends() { [ "$(head -n 1 "$DATA/postmaster.pid")" = $POSTMASTER ]; }

end_pretending() {
	kill -KILL $STARTUP $POSTMASTER
	wait $POSTMASTER || true
}

traces() { wait_until 'the trace' grep -q "tracing the startup process (PID $1)" "$DATA.trace.log"; }

# Reads a file of the cluster, so that there is something to report, and goes on.
reader='
import os, sys, time
file = os.open("base/5/1259", os.O_RDONLY)
while os.pread(file, 8192, 0) and os.pread(file, 8192, 8192):
    print("read", flush=True)
    time.sleep(0.1)'

# Lost otherwise: root, to a server that a test has broken.
# bats test_tags=untraced
@test "the servers' user cannot replace a program that root runs" {
	need_root
	local tree
	as_server_user cp /bin/true "$CASE/true"
	no as_server_user mv -f "$CASE/true" "$WORK/redoahead"
	no as_server_user rm -f "$WORK/redoahead"
	cmp "$WORK/redoahead" "$REDOAHEAD"
	for tree in "$WORK/redoahead" "$STOCK" "$PATCHED"; do
		[ -z "$(as_server_user find "$tree" -writable ! -type l -print -quit)" ]
	done
	tree=$PATCHED
	while [ "$tree" != / ]; do
		tree=$(dirname "$tree")
		as_server_user test ! -w "$tree" -o -k "$tree"
	done
}

# Lost otherwise: root, to the cluster's owner, who decides which psql is found.
@test "the psql that it finds has the owner's rights, and nothing of who traces" {
	need_root
	copy_cluster "$WORK/crashed" "$DATA"
	echo secret >"$CASE.secret"
	chmod 600 "$CASE.secret"
	trace_wrapper=(sh -c 'exec 7<"$0"; exec "$@"' "$CASE.secret")
	start_trace "$DATA" --names=auto
	# Written by the server's user.
	pretend /usr/bin/python3 -c "$reader"
	as_server_user tee "$CASE/bin/psql" >/dev/null <<-'EOS'
		#!/bin/bash
		here=${0%/*}
		{ cat /proc/self/status; ls -l /proc/self/fd; env; } >"$here/found" 2>&1
		cat <&7 >"$here/stolen"
		exec head -c 1G /dev/zero
	EOS
	as_server_user chmod 755 "$CASE/bin/psql"
	traces $STARTUP
	# Once it is traced.
	: >"$CASE/pretend.log"
	wait_until 'reads' grep -q read "$CASE/pretend.log"
	kill -INT "$TRACE"
	end_trace "$DATA"
	end_pretending
	rm "$CASE.secret"
	[ ! -s "$CASE/bin/stolen" ]
	grep -qE "^Uid:(	$(id -u "$redoahead_user")){4}$" "$CASE/bin/found"
	grep -qE '^Groups:[^0-9]*$' "$CASE/bin/found"
	[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):	0*$' "$CASE/bin/found")" -eq 4 ]
	grep -q '^NoNewPrivs:	1$' "$CASE/bin/found"
	no grep -q secret "$CASE/bin/found"
	# Its answer would have filled the memory.
	grep -q 'by their paths' "$DATA.trace.log"
}

# Lost otherwise: other users' processes and files, to an owner who has them traced or read by root.
@test "a postmaster.pid that names another user's process, or leads to another's file, is none" {
	need_root
	local other
	copy_cluster "$WORK/crashed" "$DATA"
	# Root in the data directory, with a child of that title.
	(cd "$DATA" && exec bash -c '(exec -a "postgres: startup" sleep 600) & wait' >/dev/null 2>&1 </dev/null 3>&-) &
	other=$!
	wait_until 'the child' pgrep -P $other
	echo $other | as_server_user tee "$DATA/postmaster.pid" >/dev/null
	start_trace "$DATA"
	pretend sleep 600
	traces $STARTUP
	kill -KILL "$(pgrep -P $other)" $other
	[ "$(grep -c 'tracing the startup' "$DATA.trace.log")" -eq 1 ]
	kill -INT "$TRACE"
	end_trace "$DATA"
	end_pretending

	# The number in a file that only root may read.
	pretend sleep 600
	mv "$DATA/postmaster.pid" "$CASE.secret"
	chown root "$CASE.secret"
	chmod 600 "$CASE.secret"
	as_server_user ln -s "$CASE.secret" "$DATA/postmaster.pid"
	first=$STARTUP first_postmaster=$POSTMASTER
	start_trace "$DATA"
	pretend sleep 600
	traces $STARTUP
	no grep -q "(PID $first)" "$DATA.trace.log"
	kill -INT "$TRACE"
	end_trace "$DATA"
	end_pretending
	kill -KILL $first $first_postmaster
	rm "$CASE.secret"
}

# Lost otherwise: what only root may read, or devices that must not be opened.
# bats test_tags=untraced
@test "a link in place of PG_VERSION or pg_control is followed with the owner's rights only" {
	need_root
	local name
	for name in PG_VERSION global/pg_control; do
		copy_cluster "$WORK/crashed" "$DATA"
		mv "$DATA/$name" "$CASE.secret"
		chown root "$CASE.secret"
		chmod 600 "$CASE.secret"
		as_server_user ln -s "$CASE.secret" "$DATA/$name"
		run -1 timeout 20 "$REDOAHEAD" trace -D "$DATA"
		[[ $output == *"is not a PostgreSQL data directory: its $name: Permission denied"* ]]
		rm -r "$DATA" "$CASE.secret"
	done
}

# Lost otherwise: any file of root, to who puts a link where the report goes.
# bats test_tags=untraced
@test "--output follows no link, and empties no file of another user" {
	local output
	cd "$CASE"
	echo kept >"$CASE.kept"
	ln -s "$CASE.kept" "$CASE.link"
	ln -s "$CASE.absent" "$CASE.dangling"
	ln "$CASE.kept" "$CASE.twin"
	for name in link:'it is a symbolic link' dangling:'it is a symbolic link' twin:'it has other names, too'; do
		run -1 timeout 20 "$REDOAHEAD" trace -D "$WORK/crashed" --output "$CASE.${name%%:*}"
		[[ $output == *"$CASE.${name%%:*}\" cannot be written: ${name#*:}; give another one with --output"* ]]
	done
	[ "$(cat "$CASE.kept")" = kept ]
	[ ! -e "$CASE.absent" ]
	rm "$CASE".{kept,link,dangling,twin}
	need_root
	echo theirs | as_server_user tee "$CASE/theirs" >/dev/null
	run -1 timeout 20 "$REDOAHEAD" trace -D "$WORK/crashed" --output "$CASE/theirs"
	[[ $output == *'it belongs to another user'* ]]
	[ "$(cat "$CASE/theirs")" = theirs ]
}

# Copies of a program whose section headers are damaged, which run all the same.
damage() {					# PROGRAM DIRECTORY
	/usr/bin/python3 - "$@" <<-'EOS'
		import os, random, struct, sys
		program, directory = sys.argv[1:]
		with open(program, 'rb') as file:
		    whole = file.read()
		start, = struct.unpack_from('<Q', whole, 40)
		size, count = struct.unpack_from('<HH', whole, 58)
		random.seed(1)
		damaged = {'truncated': whole[:start], 'cut': whole[:start + size + 10],
		           'garbage': whole[:start] + random.randbytes(size * count)}
		def changed(**fields):
		    # of SHT_DYNSYM
		    headers = bytearray(whole)
		    for i in range(start, start + size * count, size):
		        if struct.unpack_from('<I', headers, i + 4)[0] == 11:
		            for name, value in fields.items():
		                at, form = {'offset': (24, '<Q'), 'size': (32, '<Q'), 'link': (40, '<I'),
		                            'entsize': (56, '<Q')}[name]
		                struct.pack_into(form, headers, i + at, value)
		    return bytes(headers)
		damaged['link'] = changed(link=0xffff)
		damaged['entry'] = changed(entsize=1)
		damaged['beyond'] = changed(offset=1 << 62, size=1 << 62)
		damaged['large'] = changed(offset=len(whole), size=1 << 30)
		for name, text in damaged.items():
		    with open(f'{directory}/{name}', 'wb') as file:
		        file.write(text)
		    os.chmod(f'{directory}/{name}', 0o755)
		os.truncate(f'{directory}/large', len(whole) + (1 << 30))
	EOS
}

# Lost otherwise: the trace, the machine's memory or root, to a damaged program.
@test "a server's program is read by a process without rights, whatever is in it" {
	need_root
	local name reader_pid
	copy_cluster "$WORK/crashed" "$DATA"
	as_server_user mkdir "$CASE/bin"
	damage "$(command -v sleep)" "$CASE/bin"
	for name in truncated cut garbage link entry beyond large; do
		start_trace "$DATA" --json
		reader_pid=$(pgrep -P "$TRACE")
		wait_until 'the end of its rights' grep -qx 'Name:	confined' "/proc/$reader_pid/status"
		grep -qE '^Uid:(	65534){4}$' "/proc/$reader_pid/status"
		[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):	0*$' "/proc/$reader_pid/status")" -eq 4 ]
		[ "$(ls "/proc/$reader_pid/fd")" = 0 ]
		pretend "$CASE/bin/$name" 600
		traces $STARTUP
		grep -q 'resource managers are not known: the program of process' "$DATA.trace.log"
		# It was not read into root's memory.
		[ "$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$TRACE/status")" -lt 300000 ]
		kill -INT "$TRACE"
		end_trace "$DATA"
		holds "$DATA" 'r["outcome"] == "stopped" and not r["records_followed"]'
		end_pretending
		rm "$DATA/postmaster.pid"
	done
}

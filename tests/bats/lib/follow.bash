# What the tests of `redoahead follow` share.  To be loaded after lib/servers.

# As start_daemon and stop_daemon; $DAEMON is its process id.  What is in $follow_as is put
# before the command.
follow_as=("${as_user[@]}")
start_follow() {			# DATA [OPTION...]
	local data=$1
	shift
	: >"$data.follow.log"
	(cd / && exec "${follow_as[@]}" "$WORK/redoahead" follow -D "$data" --stats "$data.stats" "$@") \
		>"$data.follow.log" 2>&1 </dev/null 3>&- &
	DAEMON=$!
	wait_until "follow" grep -q 'following recoveries of' "$data.follow.log"
}

stop_follow() {				# DATA
	kill -TERM "$DAEMON"
	wait "$DAEMON" || { echo "follow ended with status $?" >&2; return 1; }
}

follow_logs() { grep -qE -- "$2" "$1.follow.log" || { cat "$1.follow.log" >&2; return 1; }; }		# DATA PATTERN
has_followed() { grep -q 'recovery ended' "$1.follow.log"; }

# Does a daemon know where redo is, which is stopped?  It may have been stopped as soon as the
# daemon was connected, before it has shown that.
knows_redo() { read_status "$1" && goes_on_unless "$2" shows_redo; }		# DATA STARTUP-PROCESS
shows_redo() {
	[ "$(json_member "$CASE/status" recovery)" != None ] &&
		[ "$(json_member "$CASE/status" recovery replay_lsn)" != None ]
}

# The number of bytes that an LSN is.
lsn_bytes() { echo $((16#${1%/*} * 0x100000000 + 16#${1#*/})); }

# Where the record begins that redo replayed last.
redo_end() { sed -n 's/.*redo done at \([0-9A-F/]*\) .*/\1/p' "$1.log"; }		# DATA

# Has a daemon decoded what begins there?
has_decoded() {				# DATA LSN
	read_status "$1" &&
		(( $(lsn_bytes "$(json_member "$CASE/status" recovery decode_lsn)") > $(lsn_bytes "$2") ))
}

# Start a server whose redo is stopped as soon as it begins, until the recovery has been found;
# then, with TEXT, it goes on for moments until the log of follow has that.  The startup
# process is in $startup.
start_server_followed() {	# SERVER DATA [TEXT]
	rm -f "$2.log"
	start_server_and_stop_redo "$1" "$2" "$2.log" 'redo starts at'
	startup=$(startup_pid "$2")
	wait_until "recovery" grep -q 'recovery of PostgreSQL' "$2.follow.log"
	[ -z "${3:-}" ] || wait_until "$3" goes_on_unless "$startup" grep -q "$3" "$2.follow.log"
}

# Let it end, and stop the server.
end_followed() {			# DATA
	end_held_recovery "$1"
	wait_until "the end for follow" has_followed "$1"
}

# Recover with follow, which runs.
recover_found() {			# SERVER DATA
	start_server_followed "$@"
	end_followed "$2"
}

# What the server must not notice: all it logs is what it logs without.
recover_followed() {		# DATA [OPTION-OF-FOLLOW...]
	start_follow "$@"
	recover_found "$STOCK" "$1"
}

# A crashed cluster, and the same recovered without us.
follow_setup() {
	suite_begin
	make_crashed 10 16000
	copy_cluster "$WORK/crashed" "$WORK/recovered"
	recover_with "$STOCK" "$WORK/recovered"
}

# Skip where no BPF program can be loaded; otherwise set $methods to the attach methods that the kernel has.
need_bpf() {
	local reason
	reason=$(why_no_bpf)
	[ -z "$reason" ] || skip "$reason"
	methods=(raw_tp)
	if bpftool btf dump file /sys/kernel/btf/vmlinux 2>/dev/null | grep -q btf_trace_mm_filemap_get_pages; then
		methods+=(tp_btf)
	fi
}

# The owner, with what BPF needs; for root.
with_bpf=(setpriv "--reuid=$redoahead_user" "--regid=$redoahead_user" --init-groups
	--inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon --)

# What the tests of `redoahead follow` share.  To be loaded after lib/servers.

# As start_daemon and stop_daemon; $DAEMON is its process id.  What is in $follow_as is put
# before the command.
follow_as=("${as_user[@]}")
start_follow() {			# DATA [OPTION...]
	local data=$1
	shift
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

# What the server must not notice: all it logs is what it logs without.
recover_followed() {		# DATA [OPTION-OF-FOLLOW...]
	start_follow "$@"
	recover_with "$STOCK" "$1"
	wait_until "the end for follow" has_followed "$1"
}

# A crashed cluster, and the same recovered without us.
follow_setup() {
	suite_begin
	make_crashed 10 4000
	copy_cluster "$WORK/crashed" "$WORK/recovered"
	recover_with "$STOCK" "$WORK/recovered"
}

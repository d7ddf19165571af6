# For tests of recoveries with a daemon that something happens to: each recovers a copy of one
# crashed pgbench cluster from a cold cache.

load lib/servers
load lib/feeding

setup_file() {
	suite_begin
	make_crashed 4 100000
	make_reference
}

setup() {
	case_begin
	copy_crashed
}

# Recover from what is in pg_wal, as after any crash.
recover() {
	evict "$DATA"
	recover_with "$PATCHED" "$DATA"
}

# Recover step by step: feed_until and feed_rest set how far.
begin_recovery() {
	feed_from_archive "$DATA"
	evict "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
}

finish_recovery() {
	feed_rest "$DATA"
	stop_server "$DATA"
}

same_as_stock() {
	same_data "$DATA" "$WORK/reference"
}

# Recover with a daemon, which must read.  The log must have this line alone.
recover_with_daemon() {		# PATTERN
	start_daemon "$DATA"
	evict "$DATA"
	recover_behind_daemon "$DATA" 1000
	stop_daemon "$DATA"
	log_is "$DATA" "$1"
	same_as_stock
}

# The same step by step: begin, and be connected; finish, with these lines in the log.
begin_with_daemon() {
	start_daemon "$DATA"
	begin_recovery
	feed_until "$DATA" 'redoahead: connected'
}

finish_with_daemon() {		# PATTERN...
	finish_recovery
	stop_daemon "$DATA"
	log_is "$DATA" "$@"
	same_as_stock
}

no_daemon='^no daemon at "[^"]*": '
meanwhile='; using built-in prefetching until one is available$'
lost='^lost connection to daemon \(PID [0-9]+\): '
instead='; using built-in prefetching$'
stalled='^daemon \(PID [0-9]+\) has not responded for [0-9]+ ms; using built-in prefetching until it does$'
responding='^daemon \(PID [0-9]+\) is responding again$'

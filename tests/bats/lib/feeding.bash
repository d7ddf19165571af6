# Recovery from an archive to which a test adds one WAL segment at a time.  To be loaded after
# servers.bash.

# Make a cluster recover from an archive into which the test puts the
# WAL: all but its beginning is set aside.  The server counts itself consistent
# at the end of that, so no file may hold what truncation in later WAL left.
feed_from_archive() {		# DATA
	local data=$1 first segment kept=0
	as_server_user mkdir "$data.store" "$data.archive"
	first=$("$PATCHED/bin/pg_controldata" "$data" | sed -n "s/.*REDO WAL file: *//p")
	for segment in "$data"/pg_wal/????????????????????????; do
		[[ ! ${segment##*/} < $first ]] || continue
		# The checkpoint record may be in the second segment.  Crash recovery
		# takes both from pg_wal, and archive recovery then requests the last.
		if [ $kept -lt 2 ]; then
			kept=$((kept + 1))
			cp -a "$segment" "$data.archive"
		else
			mv "$segment" "$data.store"
		fi
	done
	settings "$data" restore_command="$WORK/restore $data.archive %f %p" hot_standby=off
	# Looking ahead waits for WAL, too: with the default, redo would begin when most has come.
	grep -q '^redoahead.lookahead ' "$data/postgresql.auto.conf" || settings "$data" redoahead.lookahead=65536
	as_server_user touch "$data/recovery.signal"
}

# Let recovery have the next segment, and wait until it requests another.
feed() {					# DATA
	local segment
	segment=$(ls "$1.store" | head -n 1)
	[ -n "$segment" ] || { echo "all WAL was replayed before the condition was met" >&2; return 1; }
	mv "$1.store/$segment" "$1.archive/"
	wait_until "replay of $segment" has_been_asked_beyond "$1" "$segment" || return 1
	[ -e "$1/postmaster.pid" ] || { echo "the server has gone" >&2; return 1; }
}

has_been_asked_beyond() {	# DATA SEGMENT
	[[ $(tail -n 1 "$1.archive/requested") > $2 ]] || server_has_gone "$1"
}

# Feed segments, about ten a second if nothing else is said, until the server's log has a line.
feed_until() {				# DATA PATTERN [SECONDS between two segments]
	until grep -qE -- "$2" "$1.log"; do
		feed "$1" || { echo "the log never had: $2" >&2; return 1; }
		sleep "${3:-0.1}"
	done
}

# Let recovery have all the rest.
feed_all() {				# DATA
	find "$1.store" -type f -exec mv -t "$1.archive" {} +
	touch "$1.archive/end"
}

# The same, and wait until it has finished.
feed_rest() {				# DATA
	feed_all "$1"
	wait_until "the end of recovery" is_ready "$1"
}

# What the tests of `redoahead restore` share: an archive, calls as the server makes them, and a
# server that is none.  To be loaded after lib/servers.

setup_file() {
	suite_begin
	make_crashed 5 16000
	copy_cluster "$WORK/crashed" "$WORK/recovered"
	recover_with "$STOCK" "$WORK/recovered"
	# What the archive has, in the order of names.
	as_server_user mkdir "$WORK/archive"
	as_server_user cp "$WORK/crashed"/pg_wal/0* "$WORK/archive"
	# A command that notes what is requested, and how often.
	cat >"$WORK/fetch" <<-'END'
		#!/bin/bash
		# usage: fetch ARCHIVE NOTES FILE PATH [slow|piecemeal]
		echo "$3" >>"$2"
		case ${5-} in
			slow) sleep 0.2 ;;
			piecemeal) [ -e "$1/$3" ] || exit 1
				exec 3>"$4"
				dd if="$1/$3" bs=200000 count=1 status=none >&3; sleep 0.05
				dd if="$1/$3" bs=200000 skip=1 status=none >&3; exit ;;
		esac
		cp "$1/$3" "$4"
	END
	chmod 755 "$WORK/fetch"
}

setup() {
	case_begin
	mapfile -t segments < <(as_server_user ls "$WORK/archive" | sort)
	as_server_user mkdir -p "$CASE/server/pg_wal" "$CASE/server/global"
	as_server_user cp "$WORK/crashed/global/pg_control" "$CASE/server/global"
	spool=$CASE/server/pg_wal/redoahead.spool
}

# As the server calls it, in its data directory.
restore() {					# [OPTION...] COMMAND FILE PATH
	as_server_user env -C "$CASE/server" "$WORK/redoahead" restore "$@"
}

fetch_command() { echo "$WORK/fetch $WORK/archive $CASE/notes %f %p ${1-}"; }	# [HOW]
# What is in the spool beside the files that have no segment.
spooled() { ls -I recovery -I fetching "$spool"; }
# Do no processes of ours run any more?
nothing_restores() { ! pgrep -f "$WORK/redoahead restore" >/dev/null; }
settled() { wait_until "the end of the background" nothing_restores; }

# A data directory, and two processes that pass for its postmaster and startup process.
pretend_server() {
	rm -rf "$CASE/server"
	copy_cluster "$WORK/crashed" "$CASE/server"
	evict "$CASE/server/base"
	start_pretended
}

start_pretended() {
	(exec "${as_user[@]}" env -C "$CASE/server" bash -c '
		echo $$ >postmaster.pid; (exec -a "postgres: startup recovering" sleep 1000) & wait') 3>&- &
	pretended=$!
	wait_until "the pretended server" has_startup
}

has_startup() { startup=$(pgrep -P "$(cat "$CASE/server/postmaster.pid")" -f '^postgres: startup'); }

end_pretended() {
	kill -KILL "$startup"
	wait "$pretended"
}

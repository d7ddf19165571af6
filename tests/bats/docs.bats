#!/usr/bin/env bats
# Documents against program and sources: options, ranges and defaults, counters,
# columns, messages, links.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/daemon

docs() { /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/docs.py" "$@"; }

# Compare two lists; an empty one proves nothing.
same() {					# FILE FILE
	[ "$(grep -c . "$1")" -gt 0 ]
	diff -u "$1" "$2"
}

# Run a command that succeeds and has nothing to complain about.
nothing() {					# COMMAND...
	run -0 "$@"
	[ -z "$output" ] || { echo "$output"; return 1; }
}

@test "each command has a man page" {
	"$redoahead" --help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort >"$work/commands"
	sed -nE 's/^\.BR redoahead\\-([a-z]+) .*/\1/p' "$top/userspace/redoahead.1" | sort -u >"$work/page"
	same "$work/commands" "$work/page"
	while read -r command; do
		[ -e "$top/userspace/redoahead-$command.1" ]
	done <"$work/commands"
}

# Lost otherwise: what a new option does, and defaults that were changed.
@test "--help and man page have the same options, ranges and defaults" {
	local command
	for command in check follow lesslog prefault restore serve status trace; do
		"$redoahead" "$command" --help | docs help >"$work/help"
		docs options "$top/userspace/redoahead-$command.1" >"$work/page"
		same "$work/help" "$work/page"
	done
}

@test "ranges are those that the program enforces" {
	local command option least most wrong
	for command in follow lesslog prefault restore serve status trace; do
		docs ranges "$top/userspace/redoahead-$command.1" >"$work/ranges"
		[ -s "$work/ranges" ]
		wrong=2
		[ "$command" != restore ] || wrong=126
		while read -r option least most; do
			PGDATA=$pgdata run "-$wrong" "$redoahead" "$command" "$option=x"
			[[ $output == *"from $least to $most"* ]] || { echo "$option: $output"; return 1; }
		done <"$work/ranges"
	done
}

@test "the man page has each member of the statistics file and each column of the timeline" {
	start -- --timeline "$work/timeline"
	docs members "$work/stats" "$top/userspace/report/statistics.c" >"$work/members"
	docs rows "$top/userspace/redoahead.statistics.7" STATISTICS >"$work/page"
	same "$work/members" "$work/page"
	head -n 1 "$work/timeline" | tr '\t' '\n' | sort >"$work/columns"
	docs rows "$top/userspace/redoahead.statistics.7" TIMELINE >"$work/page"
	same "$work/columns" "$work/page"
}

@test "the man page has each member of the status" {
	docs members "$BATS_TEST_DIRNAME/lib/metrics/down.json" "$top/userspace/monitor/document.c" |
		grep -vE '^(cpu|device_latency|device_throughput|wal_supply|pause_or_delay|lock_conflict|checkpoint|interval_seconds)$' >"$work/members"
	docs rows "$top/userspace/redoahead-status.1" STATUS >"$work/page"
	same "$work/members" "$work/page"
}

@test "the man page has each member of the summary of lesslog" {
	echo 1 >"$work/00000002.history"
	"$redoahead" lesslog --json "$work/00000002.history" "$work/archived" >"$work/summary"
	docs members "$work/summary" "$top/userspace/lesslog/lesslog_report.c" >"$work/members"
	docs rows "$top/userspace/redoahead-lesslog.1" SUMMARY >"$work/page"
	same "$work/members" "$work/page"
}

# Lost otherwise: the script that the tests of archives run, in the page where it is looked up.
@test "OPERATING and the man page of lesslog have the same restore_command" {
	local page=$top/userspace/redoahead-lesslog.1
	sed -n '/^    #!\/bin\/sh$/,/^$/s/^    //p' "$top/OPERATING.md" >"$work/operating"
	sed -n '/^#!\/bin\/sh$/,/^\.EE$/p' "$page" | sed "/^\.EE/d; s/\\\\-/-/g; s/\\\\(aq/'/g" >"$work/page"
	same "$work/operating" "$work/page"
	grep -o "^ *restore_command = 'exec /usr.*" "$top/OPERATING.md" | tr -d ' ' >"$work/operating"
	sed "s/\\\\-/-/g; s/\\\\(aq/'/g" "$page" | grep "^restore_command = 'exec /usr" | tr -d ' ' >"$work/page"
	same "$work/operating" "$work/page"
}

@test "the man page has each column of the view" {
	sed -n 's/.*OUT \([a-z_]*\) .*/\1/p' "$top/pg-patch/redoahead/redoahead--1.0.sql" | sort >"$work/columns"
	docs rows "$top/userspace/redoahead.statistics.7" pg_stat_redoahead >"$work/page"
	same "$work/columns" "$work/page"
}

# Lost otherwise: a message that nobody can look up, and remedies for one that is gone.
@test "TROUBLESHOOTING has each message, and no other" {
	nothing docs unexplained "$top"/userspace/*.1
	nothing docs unknown "$top"/userspace/*.1
}

@test "links and paths in the documents lead somewhere, and README is short" {
	local -a files
	mapfile -t files < <(find "$top" \( -name README.md -o -name OPERATING.md \) -not -path '*/build/*')
	[ ${#files[@]} -ge 4 ]
	nothing docs broken "${files[@]}"
	[ "$(wc -c <"$top/README.md")" -le 8192 ]
}

@test "man pages have no errors" {
	local file
	for file in "$top"/userspace/*.[1-8]; do
		nothing mandoc -T lint -W warning "$file"
	done
}

@test "the documents have each patch of the queue and each setting of the extension" {
	sed -n 's/\.patch$//p' "$top/pg-patch/18/series" | sort >"$work/series"
	sed -nE 's/^\| `([0-9]{4}-[a-z-]+)` .*/\1/p' "$top/pg-patch/README.md" | sort >"$work/page"
	same "$work/series" "$work/page"
	# Other majors have the same patches, or fewer.
	for queue in "$top"/pg-patch/[0-9]*/series; do
		no grep -vxF -e "$(head -n 1 "$queue")" -f "$top/pg-patch/18/series" "$queue"
		grep -qE "^# PostgreSQL $(basename "$(dirname "$queue")")[.a-z0-9]+$" "$queue"
	done
	grep -ohE '"redoahead\.[a-z_]+",' "$top"/pg-patch/redoahead/settings.c | tr -d '",' | sort >"$work/settings"
	sed -nE 's/^\| `(redoahead\.[a-z_]+)` .*/\1/p' "$top/OPERATING.md" | sort >"$work/page"
	same "$work/settings" "$work/page"
}

# What the tests of `redoahead check` share.  To be loaded after lib/machine and lib/servers.

without=("$redoahead_root/build/tests/tools/without_call")

setup_file() {
	suite_begin
	make_cluster "$WORK/cluster" full_page_writes=on
}

setup() {
	case_begin
	copy_cluster "$WORK/cluster" "$DATA"
	bindir=$PATCHED/bin
}

# Check as the owner; a program before it is part of the command.
check() { as_server_user "$WORK/redoahead" check -D "$DATA" --bindir "$bindir" "$@"; }

# Status, and what must be in finding or remedy, of a need.
reports() {					# STATUS NEED [PATTERN]
	local line
	line=$(grep -E "^[a-z]+ +$2 " <<<"$output") && [[ $line == "$1 "* ]] && [[ $line =~ ${3:-} ]] && return
	printf 'expected: %s %s %s\nreported:\n%s\n' "$1" "$2" "${3:-}" "$output" >&2
	return 1
}

# Run the remedy of a need, where psql would go to another server by itself.
cure() {					# NEED
	local remedy
	remedy=$(check --json | /usr/bin/python3 -c '
import json, sys
print(*(n["remedy"] for n in json.load(sys.stdin)["needs"] if n["name"] == sys.argv[1]))' "$1")
	echo "remedy: $remedy"
	as_server_user env PATH="$PATCHED/bin:$PATH" PGHOST=/nonexistent PGPORT=1 PGDATABASE=postgres bash -c "$remedy" >/dev/null
}

# The servers that tests/run builds: those of most tests at the start, others beside tests.
# To be sourced after jobs.sh; it sets functions and the variables below.
#
# The caller sets $groups (what is tested), $fast, $pg_major and $work.

builder=				# process that builds servers beside tests, until it was waited for
first_builder=			# the same of those that tests wait for
patched=				# where the patched server is, once all servers are built
declare -A built=()		# "KIND MAJOR" -> was it built? yes or no
declare -A untested=()	# another major release -> why it is not tested, or nothing

# Does a group use the servers of build_servers()?
uses_servers() {
	local group
	for group in "${groups[@]}"; do
		case $group in unit|fuzz|bats|others) [ -n "$fast" ] || return 0 ;; esac
	done
	return 1
}

# Build the servers that are not built, and set $patched to where one is.
build_servers() {
	[ -z "$patched" ] || return 0
	scripts/build-postgresql stock >/dev/null
	scripts/build-postgresql pg13-compactify >/dev/null		# of scripts/bench s4
	patched=$(scripts/build-postgresql patched | tail -n 1)
}

# Servers that the groups need beside those: "KIND MAJOR", a line each.
group_servers() {
	local group major
	for group in "${groups[@]}"; do
		case $group in
			postgresql) echo "assert $pg_major" ;;
			release) printf '%s\n' "stock-assert $pg_major" "assert $pg_major" ;;
			others)
				for major in "${!untested[@]}"; do
					[ -n "${untested[$major]}" ] || printf '%s\n' "stock-assert $major" "assert $major"
				done ;;
		esac
	done
}

# Build them in the background, with what CPU time is left: in a session of its own with a
# low weight, for CPU time is divided among sessions first, see "autogroup" in sched(7).
build_in_background() {
	local wanted
	wanted=$(group_servers)
	[ -n "$wanted" ] || return 0
	(
		set +m
		session=
		trap '[ -z "$session" ] || kill -TERM "$session"; wait' TERM
		# shellcheck disable=SC2016
		setsid bash -c '
			trap "trap \"\" TERM; kill -TERM 0; wait; exit 1" TERM
			{ echo 19 >/proc/self/autogroup; } 2>/dev/null
			echo $$ >"$2/session"
			failed=
			while read -r kind major; do
				[ "$major" != "$failed" ] || continue
				scripts/build-postgresql "$kind" "$major" </dev/null >/dev/null &
				wait $! && echo "yes $kind $major" || { failed=$major; echo "no $kind $major"; }
			done <<<"$1" >"$2/built"' bash "$wanted" "$work" &
		session=$!
		wait
	) &
	builder=$!
}

# Wait for that, at full speed and without tests beside it.
wait_for_builds() {
	local answer key
	[ -n "$builder" ] || return 0
	end_all
	if [[ $'\n'$(jobs -pr)$'\n' == *$'\n'$builder$'\n'* ]]; then
		echo "# waiting for servers to be built"
		{ echo 0 >"/proc/$(cat "$work/session")/autogroup"; } 2>/dev/null || true
	fi
	wait "$builder" || true
	builder=
	[ -e "$work/built" ] || return 0
	while read -r answer key; do
		built[$key]=$answer
	done <"$work/built"
}

# Build a server, once and not while tests run, and return whether that worked; what fails
# is on standard error.
build_once() {				# KIND MAJOR
	local key="$1 $2"
	wait_for_builds
	if [ -z "${built[$key]:-}" ]; then
		end_all
		built[$key]=no
		! scripts/build-postgresql "$1" "$2" >/dev/null || built[$key]=yes
	fi
	[ "${built[$key]}" = yes ]
}

# Find the other major releases that have a queue, and why some are not tested.
find_others() {
	local queue major release
	[ ${#untested[@]} -eq 0 ] || return 0
	for queue in pg-patch/[0-9]*/; do
		major=$(basename "$queue")
		[ "$major" != "$pg_major" ] || continue
		release=$(pg_tree__queue_release "$queue")
		untested[$major]=
		if [ -n "${PG_SRC:-}" ]; then
			untested[$major]="PG_SRC is a source of PostgreSQL $pg_major"
		elif [[ ! $release =~ ^$major\.[0-9]+$ ]]; then
			untested[$major]="Debian has no source package of $release; with one by hand: PG=$major PG_SRC=DIR tests/run release"
		elif ! scripts/pristine-source "$major" >"$work/source-$major" 2>&1; then
			untested[$major]=$(tail -n 1 "$work/source-$major")
		fi
	done
}

# Build the servers that run_release tests, which have assertions.
build_release() {			# MAJOR
	build_once stock-assert "$1" && build_once assert "$1"
}

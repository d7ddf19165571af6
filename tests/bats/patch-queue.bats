#!/usr/bin/env bats
# The patch queue: that it survives import and export unchanged and applies
# without fuzz, and that what does not is refused by name.  Whether each prefix
# of it builds and passes takes hours to find out: scripts/check-prefixes, which
# is tested with a tree of a few files.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
setup_file()
{
	export ROOT="$BATS_TEST_DIRNAME/../.."
	. "$ROOT/scripts/lib/common.sh"
	export PG="$pg_major" QUEUE="$ROOT/pg-patch/$pg_major"
}

setup()
{
	COPY="$BATS_TEST_TMPDIR/queue"
	cp -R "$QUEUE" "$COPY"
	first=$(sed -e 's/#.*//' -e '/^ *$/d' "$COPY/series" | head -n 1)
}

@test "the queue comes back from import and export unchanged, and applies without fuzz" {
	run -0 "$ROOT/scripts/patch-queue" check
	echo "$output"
	[[ "$output" == *"unchanged by a round trip, applied without fuzz"* ]]
}

# The copy is another queue, and is refused with all these texts.
refused() {					# TEXT...
	local text
	run -1 diff -rq "$QUEUE" "$COPY"
	run -1 "$ROOT/scripts/patch-queue" -q "$COPY" check
	echo "$output"
	for text; do
		[[ "$output" == *"$text"* ]]
	done
}

@test "a patch with a changed context line is refused, with its name and the remedy" {
	# Turn the first context line that is long enough to be unique into another.
	awk '/^@@ / { body = 1 }
		body && !done && /^ / && length($0) > 20 { $0 = " this line stands nowhere in PostgreSQL"; done = 1 }
		{ print }' "$QUEUE/$first" >"$COPY/$first"
	refused "$first does not apply" "without fuzz" quilt
}

@test "a patch whose line numbers are off is refused, with the remedy" {
	awk '/^@@ / && !done { split($2, from, ","); split($3, to, ",")
			$2 = "-" (-from[1] + 3) "," from[2]; $3 = "+" (to[1] + 3) "," to[2]; done = 1 }
		{ print }' "$QUEUE/$first" >"$COPY/$first"
	refused "changes in a round trip" import export
}

@test "a series that names a missing patch is refused" {
	echo 9999-not-there.patch >>"$COPY/series"
	refused "9999-not-there.patch is in the series but is missing"
}

@test "a patch that the series does not name is refused" {
	cp "$COPY/$first" "$COPY/9999-forgotten.patch"
	refused 9999-forgotten.patch
}

@test "a directory without a series is refused" {
	rm "$COPY/series"
	refused "series is missing"
}

# What check-prefixes uses of a source tree of PostgreSQL.
small_tree() {				# DIRECTORY
	mkdir -p "$1/config" "$1/src/backend" "$1/src/test/regress"
	echo 'int main(void) { return 0; }' >"$1/src/main.c"
	printf '#!/bin/sh\n' >"$1/config/prep_buildtree"
	printf '#!/bin/bash\nPACKAGE_VERSION=%s\n' "'$PG.6'" >"$1/configure"
	cat >>"$1/configure" <<-'CONFIGURE'
		tree=${0%/*}
		mkdir -p src/test/regress
		printf 'all:\n\t%s -Wall $(COPT) -o main %s/src/main.c\n' gcc "$tree" >Makefile
		printf 'check:\n\t../../../main\n' >src/test/regress/Makefile
	CONFIGURE
	chmod +x "$1/configure" "$1/config/prep_buildtree"
}

# A patch that changes the only line.
small_patch() {				# NAME OLD NEW
	printf '%s\n\n--- a/src/main.c\n+++ b/src/main.c\n@@ -1 +1 @@\n-%s\n+%s\n' "$1" "$2" "$3" \
		>"$BATS_TEST_TMPDIR/small/$1"
	echo "$1" >>"$BATS_TEST_TMPDIR/small/series"
}

# Lost otherwise: after a rebase that was given up, servers of a release whose queue there is not.
@test "of several sources in the cache, that of the queue's release is taken" {
	local release tree
	release=$(sed -n '1s/^# PostgreSQL //p' "$QUEUE/series")
	unset PG_SRC
	export REDOAHEAD_CACHE=$BATS_TEST_TMPDIR/cache
	for tree in "$PG.0" "$release" "$PG.99"; do
		mkdir -p "$REDOAHEAD_CACHE/source/$tree"
	done
	[ "$("$ROOT/scripts/pristine-source" "$PG")" = "$REDOAHEAD_CACHE/source/$release" ]
	[ "$("$ROOT/scripts/pristine-source" "$PG" "$PG.0")" = "$REDOAHEAD_CACHE/source/$PG.0" ]
	rmdir "$REDOAHEAD_CACHE/source/$release"
	[ "$("$ROOT/scripts/pristine-source" "$PG")" = "$REDOAHEAD_CACHE/source/$PG.99" ]
}

# Lost otherwise: servers of the release that was first fetched, for ever.
@test "a source that is older than the queue's release is replaced where Debian has that, and is used where not" {
	local log=$BATS_TEST_TMPDIR/log
	grep -qE "^# PostgreSQL $PG\.[1-9]" "$QUEUE/series" || skip "Debian has no source package of the queue's release"
	unset PG_SRC
	export REDOAHEAD_CACHE=$BATS_TEST_TMPDIR/cache
	mkdir -p "$REDOAHEAD_CACHE/source/$PG.0" "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/apt-get"
	chmod +x "$BATS_TEST_TMPDIR/bin/apt-get"
	pristine_source() { PATH=$BATS_TEST_TMPDIR/bin:$PATH "$ROOT/scripts/pristine-source" "$PG" 2>"$log"; }
	[ "$(pristine_source)" = "$REDOAHEAD_CACHE/source/$PG.0" ]
	grep -q "fetching the source of PostgreSQL $PG\.[1-9]" "$log"
	grep -q "taking PostgreSQL $PG.0, though the queue is for" "$log"
	# Not again at once.
	[ "$(pristine_source)" = "$REDOAHEAD_CACHE/source/$PG.0" ]
	[ ! -s "$log" ]
	touch -d '2 days ago' "$REDOAHEAD_CACHE"/source/missing-*
	pristine_source
	grep -q "fetching the source of PostgreSQL $PG\.[1-9]" "$log"
}

# Lost otherwise: a machine where another user can replace what root runs.
@test "a cache that others can write to is refused" {
	local script
	[ "$(id -u)" -eq 0 ] || skip "only root is to run nothing of others"
	export REDOAHEAD_CACHE=$BATS_TEST_TMPDIR/cache PATH=/usr/bin:/bin
	mkdir -m 777 "$REDOAHEAD_CACHE"
	printf '#!/bin/sh\n' >"$REDOAHEAD_CACHE/promtool"
	chmod +x "$REDOAHEAD_CACHE/promtool"
	for script in "build-postgresql stock" pristine-source fetch-promtool; do
		[ "$script" != fetch-promtool ] || ! command -v promtool || continue
		# shellcheck disable=SC2086	# with its argument
		run -1 "$ROOT"/scripts/$script
		[[ $output == "${script%% *}: $REDOAHEAD_CACHE cannot be used, because "*"name a directory with REDOAHEAD_CACHE"* ]]
	done
	rm "$REDOAHEAD_CACHE/promtool"
	[ -z "$(ls "$REDOAHEAD_CACHE")" ]
}

# Lost otherwise: a queue that a git that fails leaves without its patches.
@test "commits that cannot be listed leave the queue as it is" {
	mkdir -p "$BATS_TEST_TMPDIR/broken/.git"
	run -1 bash -c '. "$1/scripts/lib/common.sh"; . "$1/scripts/lib/pg-tree.sh"; . "$1/scripts/lib/queue.sh"
		set -euo pipefail
		pg_tree__version() { echo 18.6; }
		mkdir "$2/scratch"
		! queue__export "$2/broken" "$3" "$2/scratch" || true' - "$ROOT" "$BATS_TEST_TMPDIR" "$COPY"
	[[ $output == *"cannot list the commits of $BATS_TEST_TMPDIR/broken"* ]]
	diff -r "$QUEUE" "$COPY"
}

# Lost otherwise: scripts that take another directory for the clone.
@test "an exported CDPATH changes nothing" {
	mkdir -p "$BATS_TEST_TMPDIR/scripts/lib"
	cd "$ROOT"
	CDPATH=$BATS_TEST_TMPDIR run -0 bash -c '. scripts/lib/common.sh && echo "$redoahead_root"'
	[ "$output" = "$PWD" ]
}

# Lost otherwise: tests that fail because a user of libpq, or of another TMPDIR, runs them.
@test "settings of the user's own clients do not reach servers and their clients" {
	run -0 env TMPDIR=/root/tmp PGHOST=h PGPORT=1 PGUSER=u PGDATABASE=d PGDATA=a PGOPTIONS=o PGSERVICE=s \
		bash -c '. "$1/scripts/lib/common.sh"; drop_own_settings; as_server_user env' - "$ROOT"
	[[ $output == *PATH=* ]]
	[[ ! $output =~ (^|$'\n')(TMPDIR|PG(HOST|PORT|USER|DATABASE|DATA|OPTIONS|SERVICE))= ]]
}

# Lost otherwise: a patch that builds or passes only with a later one.
@test "each prefix is built with warnings as errors and tested, and failures do not end the check" {
	local good='int main(void) { int c = 0; return c; }'
	local warns='int main(void) { int c; return 0; }' fails='int main(void) { return 1; }'
	export REDOAHEAD_CACHE=$BATS_TEST_TMPDIR/cache PG_SRC=$BATS_TEST_TMPDIR/tree
	small_tree "$PG_SRC"
	mkdir "$BATS_TEST_TMPDIR/small"
	small_patch 0001-good.patch 'int main(void) { return 0; }' "$good"
	small_patch 0002-warns.patch "$good" "$warns"
	small_patch 0003-fails.patch "$warns" "$fails"
	small_patch 0004-good.patch "$fails" "$good"
	check_small() {
		"$ROOT/scripts/check-prefixes" -q "$BATS_TEST_TMPDIR/small" --cc gcc --suite regress "$@"
	}
	run -1 check_small
	echo "$output"
	diff <(grep -v '^#' <<<"$output") - <<-'TAP'
		1..8
		ok 1 - 0001-good: builds with gcc
		ok 2 - 0001-good: regress
		not ok 3 - 0002-warns: builds with gcc
		ok 4 - 0002-warns: regress # skip it does not build
		ok 5 - 0003-fails: builds with gcc
		not ok 6 - 0003-fails: regress
		ok 7 - 0004-good: builds with gcc
		ok 8 - 0004-good: regress
	TAP
	grep -q 'unused variable' "$ROOT/build/check-prefixes/0002-warns-builds-with-gcc/output"
	run -0 check_small --from 4
	echo "$output"
	[ "$(grep -c '^ok ' <<<"$output")" -eq 2 ]
	rm -r "$ROOT/build/check-prefixes"/000[23]-{warns,fails}-*
}

@test "prefixes of a queue that is not there, or beyond its end, are refused" {
	run -1 "$ROOT/scripts/check-prefixes" -q "$BATS_TEST_TMPDIR"
	[[ "$output" == *"series is missing"* ]]
	run -1 "$ROOT/scripts/check-prefixes" --from 1000
	[[ "$output" == *"there is no patch 1000"* ]]
}

@test "wrong usage exits with 2" {
	run -2 "$ROOT/scripts/patch-queue" frobnicate
	run -2 "$ROOT/scripts/check-prefixes" --frobnicate
	run -2 "$ROOT/scripts/check-prefixes" --from
}

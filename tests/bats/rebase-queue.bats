#!/usr/bin/env bats
# Rebasing a queue onto another release, with trees of a few files.  The tests that follow a
# rebase are those of tests/run, and are left out here.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

setup() {
	ROOT=$BATS_TEST_DIRNAME/../..
	export REDOAHEAD_CACHE=$BATS_TEST_TMPDIR/cache
	QUEUE=$BATS_TEST_TMPDIR/queue REPOSITORY=$BATS_TEST_TMPDIR/repository
	release 18.1 alpha beta gamma first second third fourth fifth sixth seventh eighth ninth tenth
	mkdir "$QUEUE"
	echo "# The queue of a test" >"$QUEUE/series"
	make_patch 0001-change-the-first.patch first FIRST
	make_patch 0002-change-the-tenth.patch tenth TENTH
	rebase 18.1					# in the form that export gives them
	rm -rf "$REPOSITORY"
}

# A source tree of a version with a file of some lines.
release() {					# VERSION LINE...
	local tree=$BATS_TEST_TMPDIR/$1
	mkdir -p "$tree/src/backend"
	printf "#!/bin/sh\nPACKAGE_VERSION='%s'\n" "$1" >"$tree/configure"
	shift
	printf '%s\n' "$@" >"$tree/src/backend/main.c"
}

# A patch for the oldest release that changes a line.
make_patch() {				# NAME OLD NEW
	local tree=$BATS_TEST_TMPDIR/18.1 new=$BATS_TEST_TMPDIR/new
	[ -d "$new" ] || cp -R "$tree/src/backend" "$new"
	cp -R "$new" "$new.before"
	sed -i "s/^$2\$/$3/" "$new/main.c"
	{
		printf 'Change %s\n\n# 1: a line that git would strip\n\nExit: upstream has it.\n\n' "$2"
		echo "diff --git a/src/backend/main.c b/src/backend/main.c"
		diff -u --label a/src/backend/main.c --label b/src/backend/main.c "$new.before/main.c" "$new/main.c"
	} >"$QUEUE/$1" || true
	rm -r "$new.before"
	echo "$1" >>"$QUEUE/series"
}

rebase() {					# VERSION [OPTION...]
	local version=$1
	shift
	"$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --from "$BATS_TEST_TMPDIR/18.1" \
		--onto "$BATS_TEST_TMPDIR/$version" --no-tests "$@" 18 "$version"
}

# Lost otherwise: a queue that has to be corrected by hand for each minor release.
@test "patches whose lines have moved get the new places, and keep names and heads" {
	release 18.2 zeroth alpha beta gamma first second third fourth fifth sixth seventh eighth ninth tenth
	run -0 rebase 18.2
	echo "$output"
	[[ $output == *"2 patches, rebased onto PostgreSQL 18.2"* ]]
	[ "$(cat "$QUEUE/series")" = "# The queue of a test
0001-change-the-first.patch
0002-change-the-tenth.patch" ]
	grep -q '^Exit: upstream has it' "$QUEUE/0001-change-the-first.patch"
	grep -q '^@@ -2,7 +2,7 @@' "$QUEUE/0001-change-the-first.patch"
	cp -R "$BATS_TEST_TMPDIR/18.2" "$BATS_TEST_TMPDIR/patched"
	for patch in "$QUEUE"/*.patch; do
		run -0 patch -p1 --fuzz=0 -d "$BATS_TEST_TMPDIR/patched" -i "$patch"
		[[ $output != *offset* ]]
	done
	# And back, from where it is now; a series that has the release gets the new one.
	sed -i '1i # PostgreSQL 18.2' "$QUEUE/series"
	rm -rf "$REPOSITORY"
	run -0 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --from "$BATS_TEST_TMPDIR/18.2" \
		--onto "$BATS_TEST_TMPDIR/18.1" --no-tests 18 18.1
	grep -q '^@@ -1,7 +1,7 @@' "$QUEUE/0001-change-the-first.patch"
	[ "$(head -n 1 "$QUEUE/series")" = "# PostgreSQL 18.1" ]
}

# Lost otherwise: what the release and the patch have changed, or the rest of the queue.
@test "a conflict is shown with its patch, and the same command goes on when it is resolved" {
	release 18.2 alpha beta gamma First second third fourth fifth sixth seventh eighth ninth tenth
	cp -R "$QUEUE" "$QUEUE.before"
	run -1 rebase 18.2
	echo "$output"
	[[ $output == *"0001-change-the-first.patch conflicts with PostgreSQL 18.2"* ]]
	[[ $output == *" +First"*"+ FIRST"* ]]
	[[ $output == *"src/backend/main.c"*"Patches that follow: 1"* ]]
	diff -r "$QUEUE" "$QUEUE.before"
	# Nothing is resolved yet; and it is no rebase onto another release.
	run -1 rebase 18.2
	[[ $output == *"conflicts with PostgreSQL 18.2"* ]]
	release 18.3 first
	run -1 rebase 18.3
	[[ $output == *"a rebase onto PostgreSQL 18.2 has stopped"* ]]
	git -C "$REPOSITORY" add src/backend/main.c
	run -1 rebase 18.2
	[[ $output == *"main.c:4: leftover conflict marker"*"with conflicts in them"* ]]
	printf '%s\n' alpha beta gamma FIRST! second third fourth fifth sixth seventh eighth ninth tenth >"$REPOSITORY/src/backend/main.c"
	git -C "$REPOSITORY" add src/backend/main.c
	run -0 rebase 18.2
	echo "$output"
	[[ $output == *"2 patches, rebased onto PostgreSQL 18.2"* ]]
	grep -q '^+FIRST!' "$QUEUE/0001-change-the-first.patch"
	grep -q '^# 1: a line that git would strip' "$QUEUE/0001-change-the-first.patch"
	no grep -q 'Conflicts' "$QUEUE/0001-change-the-first.patch"
	grep -q '^+TENTH' "$QUEUE/0002-change-the-tenth.patch"
	# It is done: the same command would only test.
	run -0 rebase 18.2
	[[ $output == *"2 patches, rebased onto PostgreSQL 18.2"* ]]
}

# Lost otherwise: the head of a patch, or what git writes for an editor in its place.
@test "git itself may continue the rebase: heads stay as they are" {
	release 18.2 alpha beta gamma First second third fourth fifth sixth seventh eighth ninth tenth
	run -1 rebase 18.2
	sed -i -e '/^<<<<<<</,/^=======/d' -e '/^>>>>>>>/d' -e 's/^FIRST/FIRST!/' "$REPOSITORY/src/backend/main.c"
	git -C "$REPOSITORY" add src/backend/main.c
	GIT_EDITOR=true git -C "$REPOSITORY" -c user.name=x -c user.email=x@localhost rebase --continue
	run -0 rebase 18.2
	grep -q '^+FIRST!' "$QUEUE/0001-change-the-first.patch"
	[ "$(sed '/^diff --git/,$d' "$QUEUE/0001-change-the-first.patch")" = "Change first

# 1: a line that git would strip

Exit: upstream has it." ]
	sed -i '2i # Please enter the commit message for your changes.' "$QUEUE/0001-change-the-first.patch"
	run -1 "$ROOT/scripts/patch-queue" -q "$QUEUE" check 18
	[[ $output == *"0001-change-the-first.patch: git's text for the editor is in the head"* ]]
}

# Lost otherwise: the queue, with the release as a patch of it.
@test "git itself may continue the rebase, and a patch of which nothing is left is named" {
	release 18.2 alpha beta gamma First second third fourth fifth sixth seventh eighth ninth tenth
	run -1 rebase 18.2
	git -C "$REPOSITORY" checkout -q --ours src/backend/main.c
	git -C "$REPOSITORY" add src/backend/main.c
	GIT_EDITOR=true git -C "$REPOSITORY" -c user.name=x -c user.email=x@localhost rebase --continue
	GIT_EDITOR=false run -0 rebase 18.2
	echo "$output"
	[[ $output == *"0001-change-the-first.patch is left out: nothing of it was left when its conflicts were resolved"* ]]
	[ "$(ls "$QUEUE")" = "0002-change-the-tenth.patch
series" ]
}

@test "a rebase that has stopped can be given up" {
	release 18.2 alpha beta gamma First second third fourth fifth sixth seventh eighth ninth tenth
	cp -R "$QUEUE" "$QUEUE.before"
	run -1 rebase 18.2
	run -0 "$ROOT/scripts/rebase-queue" -w "$REPOSITORY" --abort 18
	diff -r "$QUEUE" "$QUEUE.before"
	run -1 "$ROOT/scripts/rebase-queue" -w "$REPOSITORY" --abort 18
	[[ $output == *"no rebase has stopped"* ]]
	release 18.3 alpha beta gamma first second third fourth fifth sixth seventh eighth ninth tenth
	run rebase 18.3
	echo "$output"
	[ "$status" -eq 0 ]
}

# Lost otherwise: that a patch of ours has become superfluous.
@test "a patch that the release has already is left out, and named" {
	release 18.2 alpha beta gamma FIRST second third fourth fifth sixth seventh eighth ninth tenth
	run -0 rebase 18.2
	echo "$output"
	[[ $output == *"0001-change-the-first.patch is left out: PostgreSQL 18.2 has all of it"* ]]
	[ ! -e "$QUEUE/0001-change-the-first.patch" ]
	[ -e "$QUEUE/0002-change-the-tenth.patch" ]
}

@test "trees of other versions, configured trees, and what was not exported are refused" {
	release 18.2 alpha beta gamma first second third fourth fifth sixth seventh eighth ninth tenth
	run -1 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --onto "$BATS_TEST_TMPDIR/18.2" --no-tests 18 18.3
	[[ $output == *"18.2 is PostgreSQL 18.2, not 18.3"* ]]
	run -1 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --onto "$BATS_TEST_TMPDIR/18.2" --no-tests 17 18.2
	[[ $output == *"18.2 is no version of PostgreSQL 17"* ]]
	mkdir "$BATS_TEST_TMPDIR/foreign"
	echo mine >"$BATS_TEST_TMPDIR/foreign/file"
	REPOSITORY=$BATS_TEST_TMPDIR/foreign run -1 rebase 18.2
	[[ $output == *"foreign differs from"* ]]
	[ "$(cat "$BATS_TEST_TMPDIR/foreign/file")" = mine ]
	run -1 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --onto "$BATS_TEST_TMPDIR" --no-tests 18 18.2
	[[ $output == *"is no source tree of PostgreSQL"* ]]
	mkdir -p "$BATS_TEST_TMPDIR/18.2/src/include"
	touch "$BATS_TEST_TMPDIR/18.2/src/include/pg_config.h"
	run -1 rebase 18.2
	[[ $output == *"has been configured"* ]]
	rm "$BATS_TEST_TMPDIR/18.2/src/include/pg_config.h"
	run -0 rebase 18.2
	echo changed >>"$REPOSITORY/src/backend/main.c"
	run -1 rebase 18.2
	[[ $output == *"differs from $QUEUE; export it first, or remove it"* ]]
	run -1 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --onto "$BATS_TEST_TMPDIR/18.2" 18 18.2
	[[ $output == *"give --no-tests with -q"* ]]
}

# Lost otherwise: three-way merges, if the cache has newer releases, too.
@test "without --from, the source is the release in the series, or the newest in the cache that fits" {
	local version
	for version in 18.3 18.4; do
		release $version zeroth alpha beta gamma First second third fourth fifth sixth seventh eighth ninth tenth
	done
	release 18.2 alpha beta gamma first second third fourth fifth sixth seventh eighth ninth tenth
	mkdir -p "$REDOAHEAD_CACHE/source"
	cp -R "$BATS_TEST_TMPDIR"/18.? "$REDOAHEAD_CACHE/source"
	run -1 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --no-tests 18 18.4
	[[ $output == *"0001-change-the-first.patch conflicts with PostgreSQL 18.4"* ]]
	[ "$(git -C "$REPOSITORY" log -1 --format=%s upstream)" = "PostgreSQL 18.2" ]
	run -0 "$ROOT/scripts/rebase-queue" -w "$REPOSITORY" --abort 18
	rm -rf "$REPOSITORY"
	sed -i '1i # PostgreSQL 18.1' "$QUEUE/series"
	run -1 "$ROOT/scripts/rebase-queue" -q "$QUEUE" -w "$REPOSITORY" --no-tests 18 18.4
	[ "$(git -C "$REPOSITORY" log -1 --format=%s upstream)" = "PostgreSQL 18.1" ]
}

@test "wrong usage exits with 2" {
	for arguments in "" 18 "18 18.2 more" "x 18.2" "--onto" "--frobnicate 18 18.2" "--abort" "--abort 18 18.2"; do
		# shellcheck disable=SC2086
		run -2 "$ROOT/scripts/rebase-queue" $arguments
	done
}

#!/usr/bin/env bats
# The patch queue: that it survives import and export unchanged and applies
# without fuzz, and that what does not is refused by name.
# bats file_tags=fast

setup_file()
{
	export ROOT="$BATS_TEST_DIRNAME/../.."
	export QUEUE="$ROOT/pg-patch/18"
}

setup()
{
	COPY="$BATS_TEST_TMPDIR/queue"
	cp -R "$QUEUE" "$COPY"
	first=$(sed -e 's/#.*//' -e '/^ *$/d' "$COPY/series" | head -n 1)
}

@test "the queue comes back from import and export unchanged, and applies without fuzz" {
	run "$ROOT/scripts/patch-queue" check
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"unchanged by a round trip, applied without fuzz"* ]]
}

@test "a patch with a changed context line is refused, with its name and the remedy" {
	# Turn the first context line that is long enough to be unique into another.
	awk '/^@@ / { body = 1 }
		body && !done && /^ / && length($0) > 20 { $0 = " this line stands nowhere in PostgreSQL"; done = 1 }
		{ print }' "$QUEUE/$first" >"$COPY/$first"
	run cmp -s "$QUEUE/$first" "$COPY/$first"
	[ "$status" -eq 1 ]
	run "$ROOT/scripts/patch-queue" -q "$COPY" check
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"$first does not apply"*"without fuzz"* ]]
	[[ "$output" == *"quilt"* ]]
}

@test "a patch whose line numbers are off is refused, with the remedy" {
	awk '/^@@ / && !done { split($2, from, ","); split($3, to, ",")
			$2 = "-" (-from[1] + 3) "," from[2]; $3 = "+" (to[1] + 3) "," to[2]; done = 1 }
		{ print }' "$QUEUE/$first" >"$COPY/$first"
	run cmp -s "$QUEUE/$first" "$COPY/$first"
	[ "$status" -eq 1 ]
	run "$ROOT/scripts/patch-queue" -q "$COPY" check
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"changes in a round trip"*"import"*"export"* ]]
}

@test "a series that names a missing patch is refused" {
	echo 9999-not-there.patch >>"$COPY/series"
	run "$ROOT/scripts/patch-queue" -q "$COPY" check
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"9999-not-there.patch is in the series but is missing"* ]]
}

@test "a patch that the series does not name is refused" {
	cp "$COPY/$first" "$COPY/9999-forgotten.patch"
	run "$ROOT/scripts/patch-queue" -q "$COPY" check
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"9999-forgotten.patch"* ]]
}

@test "a directory without a series is refused" {
	run "$ROOT/scripts/patch-queue" -q "$BATS_TEST_TMPDIR" check
	[ "$status" -eq 1 ]
	[[ "$output" == *"series is missing"* ]]
}

@test "wrong usage exits with 2" {
	run "$ROOT/scripts/patch-queue" frobnicate
	[ "$status" -eq 2 ]
}

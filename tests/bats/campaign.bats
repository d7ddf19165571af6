#!/usr/bin/env bats
# Many small recoveries with random faults: tests/campaign.  A fixed seed, so that
# what passed once passes again; and a fresh one, which is printed.

# bats file_tags=exclusive

# Run rounds; show those that were not as they should be, and what happened to all.
rounds() {					# OPTION...
	local status=0
	"$BATS_TEST_DIRNAME/../campaign" "$@" >"$BATS_TEST_TMPDIR/rounds" 2>&1 3>&- || status=$?
	grep -vE '^(ok|slow): |^    ' "$BATS_TEST_TMPDIR/rounds" | sed 's/^/# /' >&3
	grep -E '^(FAILED|slow): |^    ' "$BATS_TEST_TMPDIR/rounds" || true
	return "$status"
}

# Lost otherwise: what no test of one fault alone finds.
@test "50 recoveries end as stock's do, whatever happens to them" {
	rounds --seed 18 --rounds 50
}

@test "10 others, too" {
	rounds --rounds 10
}

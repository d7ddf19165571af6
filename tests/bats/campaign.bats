#!/usr/bin/env bats
# Many small recoveries with random faults: tests/campaign.  A fixed seed, so that
# what passed once passes again, for 50, and a fresh one, which is printed, for 10.
# For the rounds of this seed, faults of all kinds are drawn.

# Lost otherwise: what no test of one fault alone finds.
@test "60 recoveries end as stock's do, whatever happens to them" {
	local status=0
	"$BATS_TEST_DIRNAME/../campaign" --seed 169 --rounds 50 --fresh 10 \
		>"$BATS_TEST_TMPDIR/rounds" 2>&1 3>&- || status=$?
	# Also of rounds that passed: which faults there were, and the seed.
	grep -E '^(faults|seed)' "$BATS_TEST_TMPDIR/rounds" | sed 's/^/# /' >&3 || true
	grep -v '^ok: ' "$BATS_TEST_TMPDIR/rounds" || true
	# No test fails on a time alone, which status 3 is about.
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
}

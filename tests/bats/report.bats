#!/usr/bin/env bats
# The report of a recovery, an HTML page: by headless Chromium's judgement, in light and
# dark, on a phone and on a screen; and its file.  Documents come from lib/report.py, not
# from a daemon.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

setup() {
	recovery_report=$BATS_TEST_DIRNAME/../../build/tests/tools/recovery_report
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/redoahead-report.XXXXXX")
	relations=(1663/16384/16397/0/1800000 1663/16384/16397/2/4021 1663/16384/16397/1/12001 1664/0/1262/0/3
		16500/16384/2345/0/77123 slru/0/5120)
}

teardown() { rm -rf "$work"; }

document() { /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/report.py" "$1"; }

# The page of a document, and of some relations.
page() {					# NAME
	document "$1" | "$recovery_report" - "${relations[@]}" >"$work/$1.html"
}

need_chromium() {
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
		skip "Chromium is not installed; scripts/bootstrap installs it"
}

# What the browser has to complain about: nothing.
judge() {					# OPTION... PAGE...
	run -0 /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/browser.py" "$@"
	[ -z "$output" ]
}

# Lost otherwise: a page that cannot be read in one scheme or on one screen, or that needs a network.
@test "pages are readable at 400 and 1400 px in light and dark, without errors and requests" {
	need_chromium
	local name
	for name in crash streaming short no-samples empty; do
		page "$name"
	done
	judge --width 400 --width 1400 "$work"/*.html
}

# Lost otherwise: whoever names a directory runs scripts in the browser of who reads the report.
@test "nothing in a document becomes markup, and no number breaks the page" {
	page hostile
	no grep -iE '<script|<img|nan[^a-z]|[^a-z]inf[^a-z]' "$work/hostile.html"
	need_chromium
	judge --width 320 --width 400 --width 1400 "$work/hostile.html"
}

# Lost otherwise: a judge that finds nothing wrong with any page.
@test "what is wrong with a page is found" {
	need_chromium
	page crash
	sed 's|</main>|<p style="white-space:nowrap;color:#999;background:#aaa;font-size:8px">NaN '"$(printf '%400s' | tr ' ' x)"'</p></main>'\
'<script>console.log(1)</script><img src="http://192.0.2.1/a.png" onerror="console.log(2)">|
		s|<meta http-equiv="Content[^>]*>||' "$work/crash.html" >"$work/wrong.html"
	run -1 /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/browser.py" --scheme light --width 1400 "$work/wrong.html"
	local fault
	for fault in 'px wide, of 1400' 'contrast 1.2' 'small: ' 'text of p' 'element <script>' 'element <img' \
		'attribute onerror' 'attribute src' 'outside: ' 'console: ' 'request: http://192.0.2.1/a.png'; do
		grep -qF "$fault" <<<"$output" || { echo "not found: $fault; output: $output"; return 1; }
	done
}

# Lost otherwise: figures on the page that are not those of the document.
@test "the page has the figures, limits, samples, relations and counters of the document" {
	page crash
	/usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/report.py" --text "$work/crash.html" >"$work/text"
	local line
	while read -r line; do
		grep -qxF "$line" "$work/text" || { echo "not found: $line"; cat "$work/text"; return 1; }
	done <<'END'
Recovery of | /var/lib/postgresql/18/main
Time | 8 min 06 s
WAL replayed | 42.9 GB
Mean rate | 100 MB/s
Coverage | 99.3 %
Blocks read | 4 098 900
Blocks per request | 2.71
Mean time of a read | 3.00 ms
Device throughput | redo waited for a device that had as many requests as it should | 61.0 s | 13.1 %
1 | base/16384/16397 | 1 800 000 | 94.8 %
2 | pg_tblspc/16500/PG_*/16384/2345 | 77 123 | 4.1 %
3 | base/16384/16397_fsm | 12 001 | 0.6 %
4 | pg_xact | 5 120 | 0.3 %
5 | base/16384/16397_vm | 4 021 | 0.2 %
6 | global/1262 | 3 | 0.0 %
End of WAL | 1C/1000028 | found in pg_wal
refs_taken | 5 312 876
blocks_failed_by_reason: missing_file | 220
END
	# A row for each sample.
	[ "$(grep -c ' GB | .* MB/s | \|kB/s | \|MB | ' "$work/text")" -ge 200 ]
	grep -q '^Largest error after the first fifth: ' "$work/text"
}

# Lost otherwise: reports that replace each other, of which a half is seen, or that follow a link.
@test "a report has a file of its own, which is complete, of the umask's mode, and no link" {
	local first second pattern
	mkdir "$work/reports"
	document crash >"$work/document"
	first=$(umask 027; TZ=UTC "$recovery_report" "$work/reports" "${relations[@]}" <"$work/document")
	[ "$first" = "$work/reports/redoahead-report-20251125T090806-4711.html" ]
	[ "$(stat -c %a "$first")" = 640 ]
	page crash
	TZ=UTC "$recovery_report" - "${relations[@]}" <"$work/document" | cmp - "$first"
	# The next name is taken by a link that leads elsewhere.
	ln -s "$work/elsewhere" "$work/reports/redoahead-report-20251125T090806-4711-2.html"
	second=$(TZ=UTC "$recovery_report" "$work/reports" <"$work/document")
	[ "$second" = "$work/reports/redoahead-report-20251125T090806-4711-3.html" ]
	[ ! -e "$work/elsewhere" ]
	[ "$(find "$work/reports" -mindepth 1 | wc -l)" -eq 3 ]
	# All names at once.
	printf '%s\0' {1..20} | TZ=UTC xargs -0 -P 8 -I '{number}' sh -c '"$1" "$2" <"$3"' sh "$recovery_report" "$work/reports" \
		"$work/document" >"$work/names"
	[ "$(sort -u "$work/names" | wc -l)" -eq 20 ]
	[ "$(find "$work/reports" -name '*.html' | wc -l)" -eq 23 ]
	[ -z "$(find "$work/reports" -name '.*' -type f)" ]
}

# Lost otherwise: half a report, and nobody who hears of it.
@test "a report that cannot be written is an error, and leaves nothing behind" {
	document crash >"$work/document"
	run -1 "$recovery_report" "$work/missing" <"$work/document"
	[[ "$output" = *"No such file or directory"* ]]
	run -1 "$recovery_report" "$work/document" <"$work/document"
	[[ "$output" = *"Not a directory"* ]]
	mkdir "$work/reports"
	run -1 "$recovery_report" "$work/reports" <<<'{"pid": 1, "recovery": null}'
	[[ "$output" = *"Invalid argument"* ]]
	run -1 bash -c '"$1" - <"$2" >/dev/full' bash "$recovery_report" "$work/document"
	[[ "$output" = *"No space left on device"* ]]
	# No file may be that long.
	run -1 bash -c 'trap "" XFSZ; ulimit -f 4; "$1" "$2" <"$3"' bash "$recovery_report" "$work/reports" "$work/document"
	[[ "$output" = *"File too large"* ]]
	[ -z "$(ls -A "$work/reports")" ]
}

#!/usr/bin/env bats
# Source packages that the mirror has and no list names: what is believed of them.  The key in
# lib/source is of no use for anything else; its secret part was never kept.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

setup_file() {
	export MIRROR=$BATS_FILE_TMPDIR/mirror
	mkdir "$MIRROR"
	/usr/bin/python3 -u -c '
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", 0), handler)
print(server.server_port)
server.serve_forever()' "$MIRROR" >"$BATS_FILE_TMPDIR/port" 2>/dev/null 3>&- &
	export SERVER=$!
	wait_until "the mirror" test -s "$BATS_FILE_TMPDIR/port"
	PORT=$(cat "$BATS_FILE_TMPDIR/port")
	export PORT
}

teardown_file() { kill "$SERVER"; }

setup() {
	export no_proxy=127.0.0.1
	cp "$BATS_TEST_DIRNAME"/lib/source/*.dsc "$MIRROR"
	echo "a tarball" >"$MIRROR/postgresql-17_17.1.orig.tar.bz2"
	echo "of Debian" >"$MIRROR/postgresql-17_17.1-1.debian.tar.xz"
	into=$BATS_TEST_TMPDIR/into
	mkdir "$into"
	base64 -d "$BATS_TEST_DIRNAME/lib/source/key" >"$BATS_TEST_TMPDIR/keyring.gpg"
	. "$BATS_TEST_DIRNAME/../../scripts/lib/signed-source.sh"
}

teardown() { rm -f "$MIRROR"/*; }

fetch() {					# [--all]
	signed_source__fetch "$@" "http://127.0.0.1:$PORT/postgresql-17_17.1-1.dsc" "$into" \
		"$BATS_TEST_TMPDIR/keyring.gpg" postgresql-17 17.1
}

@test "the tarball, or all files, of a package that was signed" {
	run -0 fetch
	[ "$(ls "$into")" = "postgresql-17_17.1-1.dsc
postgresql-17_17.1.orig.tar.bz2" ]
	run -0 fetch --all
	diff -r "$MIRROR" "$into"
}

# Lost otherwise: a server that was built from anybody's source.
@test "what was changed, is missing, or was signed by nobody known is refused" {
	sed -i 's/^Format/format/' "$MIRROR"/*.dsc
	run ! fetch
	[[ $output == *"BAD signature"* ]]
	sed '/^-----BEGIN PGP SIGNED/d; /^Hash:/d; /^-----BEGIN PGP SIGNATURE/,$d' "$BATS_TEST_DIRNAME"/lib/source/*.dsc \
		>"$MIRROR/postgresql-17_17.1-1.dsc"
	run ! fetch
	cp "$BATS_TEST_DIRNAME"/lib/source/*.dsc "$MIRROR"
	echo "another tarball" >"$MIRROR/postgresql-17_17.1.orig.tar.bz2"
	run ! fetch
	[[ $output == *"Hash Sum mismatch"* || $output == *"unexpected size"* ]]
	rm "$MIRROR/postgresql-17_17.1.orig.tar.bz2"
	run ! fetch
	echo "a tarball" >"$MIRROR/postgresql-17_17.1.orig.tar.bz2"
	: >"$BATS_TEST_TMPDIR/keyring.gpg"
	run ! fetch
}

# Lost otherwise: a fix of security, where a mirror gives an old release for a new one.
@test "a package that was signed, but is another one, is refused" {
	run -1 signed_source__fetch "http://127.0.0.1:$PORT/postgresql-17_17.1-1.dsc" "$into" \
		"$BATS_TEST_TMPDIR/keyring.gpg" postgresql-17 17.2
	[[ $output == *"is not the source of postgresql-17 17.2"* ]]
	run -1 signed_source__fetch "http://127.0.0.1:$PORT/postgresql-17_17.1-1.dsc" "$into" \
		"$BATS_TEST_TMPDIR/keyring.gpg" postgresql-18 17.1
	[[ $output == *"is not the source of postgresql-18 17.1"* ]]
}

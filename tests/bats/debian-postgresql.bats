#!/usr/bin/env bats
# scripts/packaging/build-debian-postgresql, with a source package that has just the files of
# PostgreSQL that the patch queue changes.  Debian's own takes a quarter of an hour to build.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../../scripts/lib/common.sh"
load lib/common

setup_file() {
	local queue=$redoahead_root/pg-patch/$pg_major source file
	export TREE=$BATS_FILE_TMPDIR/tree
	mkdir "$TREE"
	source=$("$redoahead_root/scripts/pristine-source")
	cat "$queue"/*.patch | sed -n 's|^--- a/\([^\t]*\).*|\1|p' | sort -u | while read -r file; do
		[ ! -e "$source/$file" ] || (cd "$source" && cp --parents "$file" "$TREE")
	done
}

setup() {
	top=$BATS_TEST_DIRNAME/../..
	work=$BATS_TEST_TMPDIR
	version=$pg_major.6
	unset DEB_BUILD_PROFILES DEBEMAIL DEBFULLNAME
}

build() { "$top/scripts/packaging/build-debian-postgresql" --output "$work/out" "$@"; }

# A source package of PostgreSQL with one patch of Debian's own; prints the name of its .dsc.
source_package() {			# MAJOR VERSION
	local tree=$work/postgresql-$1-$2 package
	cp -R "$TREE" "$tree"
	tar -C "$work" -czf "$work/postgresql-$1_$2.orig.tar.gz" "${tree##*/}"
	mkdir -p "$tree/debian/source" "$tree/debian/patches"
	echo '3.0 (quilt)' >"$tree/debian/source/format"
	printf 'postgresql-%s (%s-3) unstable; urgency=medium\n\n  * A version.\n\n -- A <a@b.example>  %s\n' \
		"$1" "$2" "$(date -R)" >"$tree/debian/changelog"
	{
		printf 'Source: postgresql-%s\nMaintainer: A <a@b.example>\nStandards-Version: 4.7.0\n' "$1"
		printf 'Rules-Requires-Root: no\n%s' "${build_depends:-}"
		for package in "postgresql-$1" "postgresql-server-dev-$1" "postgresql-client-$1"; do
			printf '\nPackage: %s\nArchitecture: any\n' "$package"
			[ "$package" != "postgresql-$1" ] || printf 'Provides:\n postgresql-contrib-%s,\n' "$1"
			printf 'Description: a package\n Of PostgreSQL.\n'
		done
	} >"$tree/debian/control"
	cat >"$tree/debian/rules" <<-'RULES'
		#!/usr/bin/make -f
		.RECIPEPREFIX = >
		build clean:
		binary:
		> set -e; for package in $$(sed -n 's/^Package: //p' debian/control); do \
		  mkdir -p "debian/$$package/DEBIAN"; \
		  dpkg-gencontrol -p"$$package" -P"debian/$$package"; \
		  dpkg-deb --root-owner-group -b "debian/$$package" ..; done
	RULES
	chmod +x "$tree/debian/rules"
	printf -- '--- /dev/null\n+++ b/50-of-debian\n@@ -0,0 +1 @@\n+of Debian\n' >"$tree/debian/patches/50-of-debian.patch"
	echo 50-of-debian.patch >"$tree/debian/patches/series"
	(cd "$work" && dpkg-source -b "$tree" >"$work/log" 2>&1) || { cat "$work/log" >&2; return 1; }
	echo "$work/postgresql-$1_$2-3.dsc"
}

# Lost otherwise: a server without the patches, or without Debian's, under a name that promises both.
@test "the source package gets the queue behind Debian's patches, and a version that apt prefers" {
	local dsc new=$work/out/postgresql-${pg_major}_$version-3+redoahead1.dsc
	dsc=$(source_package "$pg_major" "$version")
	build --dsc "$dsc" --source
	dpkg-source -x "$new" "$work/new" >"$work/log" 2>&1
	diff <(echo 50-of-debian.patch; sed -e '/^#/d' -e '/^ *$/d' -e 's|^|redoahead/|' "$top/pg-patch/$pg_major/series") \
		"$work/new/debian/patches/series"
	grep -q XLogPrefetchRoutine "$work/new/src/include/access/xlogprefetcher.h"
	[ -e "$work/new/50-of-debian" ]
	dpkg --compare-versions "$version-3+redoahead1" gt "$version-3"
	dpkg --compare-versions "$version-3+redoahead1" lt "$version-4"
}

# Lost otherwise: the extension cannot be installed, or comes together with a stock server.
@test "server and development packages provide what the extension depends on, other packages do not" {
	local package out=$work/out
	build --dsc "$(source_package "$pg_major" "$version")" --suffix +redoahead7 2>"$work/messages"
	for package in postgresql-{,client-,server-dev-}"$pg_major"; do
		grep -q "apt install .*/${package}_$version-3+redoahead7_" "$work/messages"
	done
	for package in "postgresql-$pg_major" "postgresql-server-dev-$pg_major"; do
		[[ "$(dpkg-deb -f "$out/${package}_$version-3+redoahead7_$(dpkg --print-architecture).deb" Provides)" == \
			*"postgresql-$pg_major-redoahead-server (= $version-3+redoahead7)"* ]]
		[[ "$(dpkg-deb -f "$out/${package}_$version-3+redoahead7_$(dpkg --print-architecture).deb" Provides)" =~ \
			postgresql-$pg_major-redoahead-hooks-[0-9a-f]{8} ]]
	done
	[[ "$(dpkg-deb -f "$out"/postgresql-"$pg_major"_*.deb Provides)" == *postgresql-contrib-$pg_major* ]]
	[ -z "$(dpkg-deb -f "$out"/postgresql-client-"$pg_major"_*.deb Provides)" ]
	grep -q '^Depends: postgresql-18-redoahead-server' "$top/scripts/packaging/debian/control"
}

@test "a major version without patches, and another package, are refused by name" {
	run -1 build --dsc "$(source_package 15 15.9)"
	[[ "$output" == *"is PostgreSQL 15; there are no patches for it in pg-patch"* ]]
	[ -z "$(ls "$work/out")" ]
	run -1 build --dsc "$(source_package common 275)"
	[[ "$output" == *"is the source package postgresql-common; that of postgresql-$pg_major is needed"* ]]
}

@test "a package that has the patches already is refused" {
	build --dsc "$(source_package "$pg_major" "$version")" --source
	run -1 build --dsc "$work"/out/*redoahead1.dsc --source
	[[ "$output" == *"has these patches already"* ]]
}

@test "a package that the patches do not fit is refused, with the patch" {
	local dsc file
	cp -R "$TREE" "$work/other"
	TREE=$work/other
	find "$TREE" -name xlogprefetcher.c -exec sed -i 's/$/ /' {} +
	run -1 build --dsc "$(source_package "$pg_major" "$pg_major.99")" --source
	echo "$output"
	[[ "$output" == *"0004-xlog-prefetch-routine.patch"*"does not apply"* ]]
}

@test "packages that the build needs are named" {
	build_depends=$'Build-Depends: not-in-debian\n'
	run -1 build --dsc "$(source_package "$pg_major" "$version")"
	[[ "$output" == *"not-in-debian"*"apt-get build-dep"* ]]
}

@test "wrong usage exits with 2, and a wrong file or suffix with 1 and the reason" {
	run -2 build --frobnicate
	run -2 build --dsc
	run -1 build --dsc "$work/missing.dsc"
	[[ "$output" == *"missing.dsc cannot be read"* ]]
	run -1 build --suffix redoahead1
	[[ "$output" == *"a version needs + or ~"* ]]
}

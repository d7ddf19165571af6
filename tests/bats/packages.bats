#!/usr/bin/env bats
# The Debian packages: that they build, that lintian finds no fault, what is in them, and
# that installing, upgrading and purging leaves nothing.  The machine's own root file system
# is the lower layer of an overlay here; tests/packages does the same in fresh systems.

bats_require_minimum_version 1.5.0
load lib/common

setup_file() {
	local top
	top=$BATS_TEST_DIRNAME/../..
	. "$top/scripts/lib/common.sh"
	export DEBS=$BATS_FILE_TMPDIR/deb pg_major
	if type dh >/dev/null 2>&1 || [ "$(id -u)" -eq 0 ]; then
		"$top/scripts/packaging/build-deb" --output "$DEBS" >&2
		# The next version differs in its number only.
		dpkg-deb -R "$DEBS"/redoahead_*.deb "$BATS_FILE_TMPDIR/next"
		sed -i 's/^Version: .*/Version: 99/' "$BATS_FILE_TMPDIR/next/DEBIAN/control"
		dpkg-deb --root-owner-group -b "$BATS_FILE_TMPDIR/next" "$DEBS/next.deb" >&2
	fi
}

setup() {
	top=$BATS_TEST_DIRNAME/../..
	work=$BATS_TEST_TMPDIR
	extension=postgresql-$pg_major-redoahead
	[ -d "$DEBS" ] || skip "packages cannot be built: debhelper is not installed; scripts/bootstrap --packaging installs it"
}

package() { ls "$DEBS"/"$1"_*.deb; }

contents() { dpkg-deb -c "$(package "$1")" | awk '$1 !~ /^d/ { print $6 }' | sed 's|^\.||' | sort; }

# Lost otherwise: packages of another version than the program has.
@test "packages have the version of the program" {
	local version
	version=$(sed -nE 's/^#define REDOAHEAD_VERSION\s+"(.*)"/\1/p' "$top/userspace/base/version.h")
	[ "$(dpkg-deb -f "$(package redoahead)" Version)" = "$version" ]
	[ "$(dpkg-deb -f "$(package "$extension")" Version)" = "$version" ]
}

@test "lintian finds neither errors nor warnings" {
	command -v lintian >/dev/null || skip "lintian is not installed; scripts/bootstrap --packaging installs it"
	# Some of its temporary files stay.
	TMPDIR=$work run -0 lintian --allow-root --fail-on error,warning "$DEBS"/*.changes
	echo "$output"
}

@test "the packages have what make install installs, and the extension where Debian's server looks for it" {
	make -s -C "$top" install DESTDIR="$work/root" prefix=/usr
	(cd "$work/root" && find . -type f | sed 's|^\.||') >"$work/installed"
	diff <(sed '/man[0-9]/s/$/.gz/' "$work/installed" | sort) \
		<(contents redoahead | grep -vE '^/usr/share/(doc/redoahead/(changelog|copyright)|lintian/)')
	diff - <(contents "$extension" | grep -v /usr/share/doc/) <<-LIST
		/usr/lib/postgresql/$pg_major/lib/redoahead.so
		/usr/share/postgresql/$pg_major/extension/redoahead--1.0.sql
		/usr/share/postgresql/$pg_major/extension/redoahead.control
	LIST
}

# Lost otherwise: libraries that are found on the machine that built them only.
@test "no path of the build is in the packages" {
	local name
	for name in redoahead "$extension"; do
		dpkg-deb -x "$(package "$name")" "$work/$name"
	done
	no grep -rlE '/var/tmp/|/var/cache/redoahead|/build/redoahead' "$work"
	run -0 readelf -d "$work/$extension/usr/lib/postgresql/$pg_major/lib/redoahead.so"
	[[ $output != *RUNPATH* && $output != *RPATH* ]]
}

# Run a script in a system that is this one with changes of its own and an empty /tmp, and list
# what it left in $work/left.
in_overlay() {				# SCRIPT
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	need_namespace --mount --pid --fork
	mkdir "$work/tmp"
	cat >"$work/script"
	WORK=$work DEBS=$DEBS unshare --mount --pid --fork --kill-child bash -eu -c '
		mount -t tmpfs none "$WORK"/tmp
		mkdir "$WORK"/tmp/{changes,work,root}
		mount -t overlay -o "lowerdir=/,upperdir=$WORK/tmp/changes,workdir=$WORK/tmp/work" none "$WORK/tmp/root" ||
			exit 77
		mount --bind "$DEBS" "$WORK/tmp/root/mnt"
		mount -t proc proc "$WORK/tmp/root/proc"
		mount --bind /dev "$WORK/tmp/root/dev"
		mount -t tmpfs none "$WORK/tmp/root/tmp"
		touch "$WORK/tmp/root/begun"
		echo "hooks() { dpkg-deb -f /mnt/postgresql-$pg_major-redoahead_*.deb Depends |
			grep -o \"postgresql-$pg_major-redoahead-hooks-[0-9a-f]*\"; }" | cat - "$WORK/script" >"$WORK/tmp/all"
		chroot "$WORK/tmp/root" env -u DEBS -u WORK -u pg_major MAJOR="$pg_major" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			DEBIAN_FRONTEND=noninteractive bash -eux <"$WORK/tmp/all" >&2
		# What is left, but for the logs and the backups of package tools.
		cd "$WORK/tmp/changes"
		find . \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./var/backups \
			-o -path ./var/lib/apt \) -prune -o ! -type d -print | grep -v ^./begun$ || true
	' >"$work/left" 2>"$work/output" || {
		[ $? -ne 77 ] || skip "overlayfs cannot be mounted"
		cat "$work/output"
		return 1
	}
}

# Lost otherwise: systems that redoahead cannot be removed from without a trace, and standbys
# whose restore_command is gone.
@test "install, enable, upgrade and purge leave nothing, and removal names commands that need it" {
	in_overlay <<-'EOF'
		dpkg -i /mnt/redoahead_*.deb
		redoahead --version
		mkdir -p /etc/systemd/system/redoahead@.service.d
		touch /etc/systemd/system/redoahead@.service.d/mine.conf
		ln -s /dev/null /etc/systemd/system/redoahead@$MAJOR-other.service
		systemctl enable redoahead@$MAJOR-main redoahead-data@srv-pg
		test -L /etc/systemd/system/postgresql@$MAJOR-main.service.wants/redoahead@$MAJOR-main.service
		mkdir -p /var/lib/redoahead/$MAJOR-main && touch /var/lib/redoahead/$MAJOR-main/state
		dpkg -i /mnt/next.deb
		test -L /etc/systemd/system/postgresql@$MAJOR-main.service.wants/redoahead@$MAJOR-main.service
		mkdir -p /srv/pg /etc/postgresql/$MAJOR/{main,other}
		echo "$MAJOR" >/srv/pg/PG_VERSION
		echo "restore_command = 'redoahead restore /archive/%f.zst %p'" >/srv/pg/postgresql.auto.conf
		echo "archive_command 'exec redoahead lesslog %p /archive/%f'" >/etc/postgresql/$MAJOR/main/postgresql.conf
		echo "#restore_command = 'redoahead restore'" >/etc/postgresql/$MAJOR/other/postgresql.conf
		mkfifo /srv/pg/postgresql.conf
		dpkg --remove redoahead 2>/tmp/log
		grep -q '/srv/pg/postgresql.auto.conf names redoahead in restore_command' /tmp/log
		grep -q "/etc/postgresql/$MAJOR/main/postgresql.conf names redoahead in archive_command" /tmp/log
		[ "$(grep -c warning: /tmp/log)" -eq 2 ]
		rm -r /srv/pg /etc/postgresql/$MAJOR
		test -e /etc/systemd/system/redoahead@.service.d/mine.conf
		no_redoahead() { ! command -v redoahead; }
		hash -r; no_redoahead
		dpkg --purge redoahead
	EOF
	cat "$work/left"
	[ ! -s "$work/left" ]
}

# Lost otherwise: a stock server in place of the patched one, by an upgrade of the system.
@test "apt upgrade keeps the patched server back when a stock one is newer" {
	in_overlay <<-'EOF'
		server() {			# VERSION PROVIDES
			mkdir -p /tmp/server/DEBIAN
			printf '%s\n' "Package: postgresql-$MAJOR" "Version: $1" 'Architecture: all' $2 \
				'Maintainer: nobody' 'Description: stand-in' >/tmp/server/DEBIAN/control
			dpkg-deb -b /tmp/server "/tmp/repository/server_$1.deb"
		}
		IFS=$'\n'
		mkdir /tmp/repository
		server "$MAJOR.6-3+redoahead1" "Provides: postgresql-$MAJOR-redoahead-server (= $MAJOR.6-3+redoahead1), $(hooks)"
		dpkg -i /tmp/repository/*.deb /mnt/postgresql-$MAJOR-redoahead_*.deb
		rm /tmp/repository/*
		newest() {			# VERSION: what apt upgrade would do once that has come
			server "$1" ''
			(cd /tmp/repository && dpkg-scanpackages . >Packages 2>/dev/null)
			set -- -o Dir::Etc::sourcelist=/tmp/list -o Dir::Etc::sourceparts=-
			echo 'deb [trusted=yes] file:/tmp/repository ./' >/tmp/list
			apt-get "$@" -o APT::Sandbox::User=root update
			apt-get "$@" -s upgrade >/tmp/upgrade
			cat /tmp/upgrade
		}
		newest $MAJOR.6-3
		grep -q '^0 upgraded.*and 0 not upgraded' /tmp/upgrade
		newest $MAJOR.6-4
		grep -A1 'kept back' /tmp/upgrade | grep -q "postgresql-$MAJOR"
		dpkg --purge "postgresql-$MAJOR-redoahead" "postgresql-$MAJOR"
	EOF
}

# Lost otherwise: a stock server that is started with an extension that it cannot load, and a
# patched one that does not start because the extension is gone.
@test "the extension goes with patched servers only, and its removal names settings that need it" {
	in_overlay <<-'EOF'
		dpkg -i /mnt/postgresql-$MAJOR-redoahead_*.deb >/tmp/log 2>&1 && exit 1
		grep -q "depends on postgresql-$MAJOR-redoahead-server" /tmp/log
		dpkg --purge "postgresql-$MAJOR-redoahead"
		mkdir -p /tmp/server/DEBIAN /etc/postgresql/$MAJOR/main
		server() {			# HOOKS
			printf '%s\n' "Package: postgresql-$MAJOR" "Version: $MAJOR.6-3+redoahead1" 'Architecture: all' \
				"Provides: postgresql-$MAJOR-redoahead-server, $1" 'Maintainer: nobody' 'Description: stand-in' \
				>/tmp/server/DEBIAN/control
			dpkg-deb -b /tmp/server /tmp/server.deb
		}
		server "postgresql-$MAJOR-redoahead-hooks-00000000"
		dpkg -i /tmp/server.deb /mnt/postgresql-$MAJOR-redoahead_*.deb >/tmp/log 2>&1 && exit 1
		grep -q "depends on $(hooks)" /tmp/log
		dpkg --purge "postgresql-$MAJOR-redoahead"
		server "$(hooks)"
		dpkg -i /tmp/server.deb /mnt/postgresql-$MAJOR-redoahead_*.deb
		mkdir -p /srv/cluster /etc/systemd/system/multi-user.target.wants
		echo "$MAJOR" >/srv/cluster/PG_VERSION
		echo "shared_preload_libraries = 'redoahead'" | tee /etc/postgresql/$MAJOR/main/postgresql.conf \
			/srv/cluster/postgresql.base.conf
		unit=/etc/systemd/system/multi-user.target.wants/redoahead-data@srv-cluster.service
		ln -s /usr/lib/systemd/system/redoahead-data@.service "$unit"
		dpkg --purge "postgresql-$MAJOR-redoahead" 2>/tmp/log
		grep -q "/etc/postgresql/$MAJOR/main/postgresql.conf names redoahead" /tmp/log
		grep -q "/srv/cluster/postgresql.base.conf names redoahead" /tmp/log
		rm -r /etc/postgresql/$MAJOR /srv/cluster "$unit"
		dpkg --purge "postgresql-$MAJOR"
	EOF
	cat "$work/left"
	[ ! -s "$work/left" ]
}

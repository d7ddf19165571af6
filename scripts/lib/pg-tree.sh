# What the scripts know about trees of PostgreSQL: their version, the patch
# queue, how to configure a build tree and how to move it.  To be sourced after
# common.sh; it sets functions and does nothing else.

# Set the array configure_flags to the options of configure that all builds have.
pg_tree__set_configure_flags() {	# MAJOR
	configure_flags=(--enable-depend --with-lz4 --with-zstd)
	[ "$1" -lt 18 ] || configure_flags+=(--with-liburing)
	configure_flags+=(--without-icu --enable-tap-tests CFLAGS=-O2)
}

# The version of a source tree, such as 18.6.
pg_tree__version() {		# SOURCE
	sed -n "s/^PACKAGE_VERSION='\(.*\)'$/\1/p" "$1/configure"
}

# The release that a queue was made for, such as 18.6, which its series names at the top.
pg_tree__queue_release() {	# QUEUE
	sed -n '1s/^# PostgreSQL //p' "$1/series" 2>/dev/null || true
}

# What the extension and a patched server must have in common: a checksum of the headers
# that declare the hooks.  It changes when the patches or a minor release change these.
pg_tree__hooks_key() {		# DIRECTORY-OF-HEADERS
	local header headers=()
	for header in xlog xlogprefetcher xlogreader xlogrecord; do
		headers+=("$1/access/$header.h")
	done
	cat -- "${headers[@]}" | sha256sum | cut -c 1-8
}

# The names of the patches of a queue, in order.
pg_tree__patches() {		# QUEUE
	[ ! -e "$1/series" ] || sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$1/series"
}

# Apply one patch.  An offset is accepted, for minor releases move code; fuzz
# is not, for it means that the code around has changed.
pg_tree__patch_one() {		# SOURCE PATCH-FILE [OPTION...]
	local source=$1 patch=$2 output
	shift 2
	[ -r "$patch" ] || die "$patch is in the series but is missing; restore it or take it out of the series"
	output=$(patch -p1 --fuzz=0 --force --no-backup-if-mismatch --reject-file=- \
		-d "$source" "$@" <"$patch" 2>&1) || {
		echo "$output" | sed 's/^/  /' >&2
		die "${patch##*/} does not apply to PostgreSQL $(pg_tree__version "$source") without fuzz; fix it with quilt on that source (push -f, resolve the rejects, refresh), then run scripts/patch-queue import and export"
	}
}

# Apply a whole queue.
pg_tree__patch() {			# SOURCE QUEUE
	local name
	pg_tree__patches "$2" | while read -r name; do
		pg_tree__patch_one "$1" "$2/$name"
	done
}

# Make a copy of a configured build tree believe that it was configured where
# it is now: paths below OLD become paths below NEW in text files and in links.
# Times of files are kept, so that make sees nothing to do.
pg_tree__move() {			# BUILD-TREE OLD NEW
	local link target
	{ grep -rlIF --null -- "$2/" "$1" || true; } | OLD=$2 NEW=$3 xargs -0r perl -e '
		for my $file (@ARGV) {
			my ($atime, $mtime) = (stat $file)[8, 9];
			open my $in, "<", $file or die "$file: $!\n";
			my $text = do { local $/; <$in> };
			$text =~ s|\Q$ENV{OLD}\E/|$ENV{NEW}/|g;
			open my $out, ">", $file or die "$file: $!\n";
			print $out $text;
			close $out or die "$file: $!\n";
			utime $atime, $mtime, $file;
		}'
	find "$1" -type l -lname "$2/*" | while read -r link; do
		target=$(readlink "$link")
		ln -sfn "$3/${target#"$2/"}" "$link"
	done
}

# Remove all that was linked, and the objects that name the installation
# directory OLD, so that the next make uses this tree's own paths and libraries.
# Archives go too: PostgreSQL's makefiles have .SECONDARY, by which an object
# that is missing from under an up-to-date archive is not made again.
pg_tree__unlink_programs() {	# BUILD-TREE OLD
	find "$1" -type f \( -name '*.so' -o -name '*.so.*' -o -name '*.a' \) -delete
	find "$1" -type f -perm -u+x ! -name config.status -delete
	grep -rlF --include='*.o' -- "$2" "$1" | xargs -r rm -f
}

# What a script that runs test suites does at its exit: end what it has started, and
# the servers that are left below its directory, and remove that.
pg_tree__clean_up() {		# DIRECTORY PID...
	local status=$? directory=$1 pid
	shift
	trap '' INT TERM HUP
	for pid; do
		kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
	done
	pg_tree__end_servers "$directory"
	cd /
	rm -rf "$directory" || { sleep 1; rm -rf "$directory"; }
	exit "$status"
}

# End the servers that an interrupted test suite has left running below a directory.
pg_tree__end_servers() {	# DIRECTORY
	local file pid
	find "$1" -name postmaster.pid 2>/dev/null | while read -r file; do
		pid=$(head -n 1 "$file") || continue
		[ "$(readlink "/proc/$pid/cwd")" != "${file%/*}" ] || as_server_user kill -QUIT "$pid"
	done 2>/dev/null || true
}

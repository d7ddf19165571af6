# Shared by the scripts of this directory and by the tests: messages, the
# cache of PostgreSQL builds, and the user that servers run as.  To be sourced;
# it sets variables and functions and does nothing else.

unset CDPATH			# by which cd goes elsewhere, and prints where
redoahead_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The major release of PostgreSQL that scripts and tests use where they are given none.
pg_major=${PG:-18}

die() { echo "${0##*/}: $*" >&2; exit 1; }
say() { echo "${0##*/}: $*" >&2; }

# Directory of sources and builds of PostgreSQL, outside any clone, because
# user postgres must be able to read it and because clones share it.
if [ -n "${REDOAHEAD_CACHE:-}" ]; then
	redoahead_cache=$REDOAHEAD_CACHE
elif [ "$(id -u)" -eq 0 ]; then
	redoahead_cache=/var/cache/redoahead
else
	redoahead_cache=${XDG_CACHE_HOME:-$HOME/.cache}/redoahead
fi

# The user that runs PostgreSQL, which refuses to run as root, and what to put
# before a command to run it as that user.  The command replaces it, so that $!
# is the command's process and a signal reaches it.
if [ "$(id -u)" -eq 0 ]; then
	redoahead_user=postgres
	as_user=(setpriv --reuid="$redoahead_user" --regid="$redoahead_user" --init-groups --)
else
	redoahead_user=$(id -un)
	as_user=(env --)
fi

# Drop what is in our environment for clients of other servers, and where temporary files
# go, which may be no place for that user.
drop_own_settings() {
	unset TMPDIR PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGDATA PGOPTIONS PGSERVICE
}

# Make a directory, or find one, that no other user can change; prints its real path.
claim_directory() {			# DIRECTORY OPTION-THAT-NAMES-IT
	PYTHONPATH=$redoahead_root/scripts/lib /usr/bin/python3 -B -c '
import sys
from bench import host
try:
    print(host.claim(*sys.argv[2:]))
except (host.HostError, OSError) as error:
    sys.exit(f"{sys.argv[1]}: {error}")' "${0##*/}" "$@"
}

# Make the cache, or find it.  Root runs programs from there.
claim_cache() {
	if [ "$(id -u)" -eq 0 ]; then
		claim_directory "$redoahead_cache" REDOAHEAD_CACHE >/dev/null
	else
		mkdir -p "$redoahead_cache"
	fi
}

# Have the file system keep the subdirectories of a directory apart.  ext4 without a
# journal reuses no inode within a minute or more of its file's removal, and looks at
# each of them again for every new file nearby (recently_deleted() in Linux's
# fs/ext4/ialloc.c): where clusters come and go side by side, that took up to a third
# of all CPU time.  A hint, see chattr(1); other file systems know no such thing.
keep_subdirectories_apart() {	# DIRECTORY
	chattr +T "$1" 2>/dev/null || true
}

# Run a command as that user, in a directory that it can enter.
as_server_user() {
	(cd / && "${as_user[@]}" "$@")
}

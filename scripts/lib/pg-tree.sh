# What the scripts know about trees of PostgreSQL: their version, the patch
# queue, and how to move a configured build tree.  To be sourced after
# common.sh; it sets functions and does nothing else.

# The version of a source tree, such as 18.6.
pg_tree__version() {		# SOURCE
	sed -n "s/^PACKAGE_VERSION='\(.*\)'$/\1/p" "$1/configure"
}

# The files that a queue consists of: the series, then its patches in order.
pg_tree__queue_files() {	# QUEUE
	[ -e "$1/series" ] || return 0
	echo "$1/series"
	pg_tree__patches "$1" | sed "s|^|$1/|"
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
		die "${patch##*/} does not apply to PostgreSQL $(pg_tree__version "$source") without fuzz; rebase it: scripts/patch-queue import, mend the commit, scripts/patch-queue export"
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
# it is now: paths below OLD become paths below NEW in files and in links.
# Times are kept, so that make sees nothing to do.
pg_tree__move() {			# BUILD-TREE OLD NEW
	local file target
	{ grep -rlIF -- "$2/" "$1" || true; } | while read -r file; do
		touch -r "$file" "$file.time"
		sed -i "s|$2/|$3/|g" "$file"
		touch -r "$file.time" "$file"
		rm "$file.time"
	done
	find "$1" -type l -lname "$2/*" | while read -r file; do
		target=$(readlink "$file")
		touch -h -r "$file" "$1/.time"
		ln -sfn "$3/${target#"$2/"}" "$file"
		touch -h -r "$1/.time" "$file"
	done
	rm -f "$1/.time"
}

# Remove all that was linked, and the file that holds the installation paths,
# so that the next make links against this tree's own libraries and paths.
pg_tree__unlink_programs() {	# BUILD-TREE
	find "$1" -type f \( -name '*.so' -o -name '*.so.*' \) -delete
	find "$1" -type f -perm -u+x ! -name config.status -delete
	rm -f "$1/src/port/pg_config_paths.h"
}

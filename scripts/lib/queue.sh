# A queue of patches as commits in a git repository, and back.  To be sourced after
# common.sh and pg-tree.sh; it sets functions and does nothing else.

# git without the user's configuration, and without an editor.
queue__git() {				# REPOSITORY ARGUMENT...
	local dir=$1
	shift
	env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE GIT_CONFIG_NOSYSTEM=1 \
		GIT_CONFIG_GLOBAL=/dev/null GIT_EDITOR=true git -C "$dir" -c core.autocrlf=false \
		-c core.quotePath=true -c gc.auto=0 -c user.name=patch-queue \
		-c user.email=patch-queue@localhost "$@"
}

# Make a repository of an unpacked pristine source: tag upstream, and a commit for each patch.
queue__import() {			# REPOSITORY QUEUE
	local name
	queue__git "$1" init -q
	queue__git "$1" add -A -f
	queue__git "$1" commit -q --no-verify -m "PostgreSQL $(pg_tree__version "$1")"
	queue__git "$1" tag upstream
	# Heads may have lines that begin with #; those that git adds for an editor go.
	queue__git "$1" config commit.cleanup scissors
	pg_tree__patches "$2" | while read -r name; do
		pg_tree__patch_one "$1" "$2/$name"
		queue__git "$1" add -A -f
		{ sed '/^diff --git /,$d' "$2/$name"; echo "Patch-Name: $name"; } |
			queue__git "$1" commit -q --no-verify --cleanup=verbatim -F -
	done
}

# Are the heads of all patches without what git writes for an editor?
queue__check_heads() {			# QUEUE
	local found
	found=$(cd "$1" && grep -l '^# Please enter the commit message' -- *.patch) || return 0
	die "$(echo $found): git's text for the editor is in the head; take these lines out"
}

# The name of a commit's patch, given its place in the series.
queue__patch_name() {				# REPOSITORY COMMIT PLACE
	local name
	name=$(queue__git "$1" log -1 --format=%B "$2" | sed -n 's/^Patch-Name: //p' | tail -n 1)
	if [ -z "$name" ]; then
		name=$(queue__git "$1" log -1 --format=%s "$2" | tr 'A-Z' 'a-z' |
			sed -e 's/[^a-z0-9]\{1,\}/-/g' -e 's/^-//' | cut -c 1-50 | sed 's/-$//')
		name=$(printf '%04d-%s.patch' "$3" "$name")
	fi
	case $name in */*) die "commit $2 has the patch name $name, which must not contain a slash" ;; esac
	echo "$name"
}

# Head, empty line, diff.
queue__write_patch() {				# REPOSITORY COMMIT
	queue__git "$1" log -1 --format=%B "$2" | sed '/^Patch-Name: /d' |
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
	echo
	queue__git "$1" diff-tree -p --no-color --no-ext-diff --no-textconv --no-renames \
		--diff-algorithm=myers --unified=3 --inter-hunk-context=0 --no-indent-heuristic \
		--src-prefix=a/ --dst-prefix=b/ --full-index "$2^" "$2" |
		awk '/^diff --git / { head = 1 } /^@@ / { head = 0 } !(head && /^index /)'
}

# Is this a repository that queue__import has made?
queue__is_repository() {		# REPOSITORY
	[ -d "$1/.git" ] && queue__git "$1" rev-parse -q --verify upstream >/dev/null
}

# Has it no changes that are not committed?  A git that fails has not found that out.
queue__is_clean() {				# REPOSITORY
	local changes
	changes=$(queue__git "$1" status --porcelain) && [ -z "$changes" ]
}

# Copy only the files that a queue changes, and the one that holds the version.
# Applying the queue needs no others, and copying the whole tree is much slower.
queue__copy_touched() {		# SOURCE DEST QUEUE
	local files=(configure)
	mapfile -t -O 1 files < <(pg_tree__patches "$3" | sed "s|^|$3/|" |
		xargs -r -d '\n' cat 2>/dev/null | sed -n 's|^--- a/\([^\t]*\).*|\1|p' | sort -u)
	(cd "$1" && for file in "${files[@]}"; do
		[ ! -e "$file" ] || cp -a --parents "$file" "$2"
	done)
}

# Does a queue apply to a source?  Prints "exactly", "with offsets", or nothing.
queue__fits() {				# SOURCE QUEUE SCRATCH
	local tree name
	tree=$(mktemp -d -p "$3")
	queue__copy_touched "$1" "$tree" "$2"
	pg_tree__patches "$2" | while read -r name; do
		patch -p1 --fuzz=0 --force --no-backup-if-mismatch --reject-file=- -d "$tree" <"$2/$name" || exit 1
	done >"$tree.output" 2>&1 || return 0
	if grep -q offset "$tree.output"; then echo "with offsets"; else echo exactly; fi
}

# The commits of a repository from one to another, in order.
queue__commits() {			# REPOSITORY FROM TO
	queue__git "$1" rev-list --reverse "$2..$3" || die "git cannot list the commits of $1 from $2 to $3"
}

# Write the commits of a repository since upstream as a queue, and in its series the release
# that it is for, if the series has one.
queue__export() {			# REPOSITORY QUEUE SCRATCH
	local place=0 commits commit name old temp
	commits=$(queue__commits "$1" upstream HEAD) || exit
	temp=$(mktemp -d -p "$3")
	# the comments and empty lines that open the series stay
	[ ! -e "$2/series" ] || sed -e '/^[^#]/,$d' \
		-e "1s/^# PostgreSQL .*/# PostgreSQL $(pg_tree__version "$1")/" "$2/series" >"$temp/series"
	touch "$temp/series"
	for commit in $commits; do
		place=$((place + 1))
		name=$(queue__patch_name "$1" "$commit" "$place")
		[ ! -e "$temp/$name" ] || die "two commits have the patch name $name; change one Patch-Name line"
		queue__write_patch "$1" "$commit" >"$temp/$name"
		echo "$name" >>"$temp/series"
	done
	mkdir -p "$2"
	cp "$temp"/* "$2/"
	for old in "$2"/*.patch; do
		[ ! -e "$old" ] || [ -e "$temp/${old##*/}" ] || rm "$old"
	done
}

# The queue as it is and as it comes back from a repository; silent when equal.
queue__compare() {			# REPOSITORY QUEUE SCRATCH
	mkdir "$3/exported"
	cp "$2/series" "$3/exported/"
	queue__export "$1" "$3/exported" "$3"
	# The release of the source may be another minor one than that in the series.
	sed -i "1s/^# PostgreSQL .*/# PostgreSQL $(pg_tree__queue_release "$2")/" "$3/exported/series"
	diff -ru --exclude='README*' "$2" "$3/exported"
}

# Source packages of Debian that no list has any more.  To be sourced; it sets functions
# and does nothing else.

# Download a file under its own name, without an escaped +, and check its sum if there is one.
signed_source__download() {	# URI DIRECTORY [SHA256]
	local name=${1##*/}
	/usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root -o Acquire::Retries=3 \
		download-file "$1" "$2/${name//%2b/+}" ${3:+"SHA256:$3"}
}

# Download a source package by its .dsc, which must be of this package and version and have
# the signature of a key in the keyring, and the files that it lists, which must have the
# sums in it.  Without --all, the upstream tarball is the only one.
signed_source__fetch() {	# [--all] URI-OF-DSC DIRECTORY KEYRING PACKAGE VERSION
	local all= text sum size file tarball=
	if [ "$1" = --all ]; then
		all=yes
		shift
	fi
	file=${1##*/}
	signed_source__download "$1" "$2" || return
	# Nothing but what was signed is believed.
	text=$(gpgv -q --keyring "$3" --output - "$2/${file//%2b/+}") || return
	grep -qxF "Source: $4" <<<"$text" && grep -qE "^Version: ([0-9]+:)?${5//./\\.}-" <<<"$text" || {
		echo "$1 is not the source of $4 $5"
		return 1
	}
	while read -r sum size file; do
		[[ $file =~ ^[A-Za-z0-9][A-Za-z0-9.+~_-]*$ ]] || return
		case $file in
			*.orig.tar.*) tarball=$file ;;
			*) [ -n "$all" ] || continue ;;
		esac
		signed_source__download "${1%/*}/$file" "$2" "$sum" || return
	done < <(sed -n '/^Checksums-Sha256:/,/^[^ C]/s/^ //p' <<<"$text")
	[ -n "$tarball" ] || { echo "$1 lists no upstream tarball with a SHA-256 sum"; return 1; }
}

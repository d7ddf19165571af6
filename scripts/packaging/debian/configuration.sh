# Functions of both packages' prerm: rules has dh_installdeb put this in place of #CONFIGURATION#.

# The data directories that Debian's tools or units of redoahead know.
data_directories() {
	pg_lsclusters -h 2>/dev/null | awk '{ print $6 }'
	for unit in /etc/systemd/system/*.wants/redoahead-data@*.service; do
		[ ! -L "$unit" ] || systemd-escape --unescape --path --instance "${unit##*/}" 2>/dev/null || true
	done
}

# The beginning of a file, read as its directory's owner, who may have put anything there.
read_as_owner() {			# BYTES FILE
	rights=$(stat -Lc '--reuid=%u --regid=%g' "${2%/*}" 2>/dev/null) && [ -f "$2" ] || return 0
	# shellcheck disable=SC2086
	timeout 5 setpriv $rights --clear-groups head -c "$1" "$2" 2>/dev/null || true
}

configuration_files() {		# MAJOR
	# shellcheck disable=SC2086
	ls /etc/postgresql/$1/*/postgresql.conf /etc/postgresql/$1/*/conf.d/*.conf 2>/dev/null || true
	data_directories | while read -r data; do
		# shellcheck disable=SC2254
		case $(read_as_owner 10 "$data/PG_VERSION" | tr -d '\000') in
			$1) ls "$data"/postgresql*.conf 2>/dev/null || true ;;
		esac
	done
}

# Name the files in which settings name redoahead.  MAJOR is a pattern, SETTINGS a regular expression.
warn_of_settings() {		# MAJOR SETTINGS REMEDY
	configuration_files "$1" | sort -u | while read -r file; do
		read_as_owner 1000000 "$file" |
			LC_ALL=C sed -nE "s/^[[:space:]]*($2)[[:space:]]*=?.*redoahead.*/\1/Ip" | sort -u |
			while read -r setting; do
				printf 'redoahead: warning: %s names redoahead in %s; %s\n' "$file" "$setting" "$3" |
					tr -d '\000-\011\013-\037\177' >&2
			done
	done
}

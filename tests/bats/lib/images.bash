# What the tests of wal_compression share: a cluster with tables whose pages
# compress in different ways, WAL with images of them, and a place for a case's
# standby.  To be loaded after lib/servers by a bats file whose
# setup_file calls suite_begin and make_images_base.  It tests nothing by itself.

setup() {
	case_begin
	STANDBY=$CASE/standby
}

# Methods whose images the stock server knows, and the others.
stock_methods=(off pglz lz4 zstd)
extended_methods=(zlib:2 lz4:transform zstd:level=1,transform zlib:transform)

# The cluster that loads work on, in $WORK/base, stopped.
make_images_base() {
	make_cluster "$WORK/base" full_page_writes=on wal_level=replica
	start_server "$PATCHED" "$WORK/base" "${fast[@]}"
	sql "$WORK/base" -f - <"$BATS_TEST_DIRNAME/lib/images_base.sql" >/dev/null
	stop_server "$WORK/base"
}

# A running primary on a copy of the base.
start_primary() {			# [SETTING...]
	copy_cluster "$WORK/base" "$DATA"
	settings "$DATA" "$@"
	start_server "$PATCHED" "$DATA"
}

load_images() {
	sql "$DATA" -f - <"$BATS_TEST_DIRNAME/lib/images.sql" >/dev/null
}

# Write the WAL of images.sql on a copy of the base, and crash.
crash_with() {				# SERVER DATA [SETTING...]
	local server=$1 data=$2
	shift 2
	copy_cluster "$WORK/base" "$data"
	settings "$data" "$@"
	start_server "$server" "$data" shared_buffers=512MB
	sql "$data" -f - <"$BATS_TEST_DIRNAME/lib/images.sql" >/dev/null
	stop_server "$data" immediate
}

# Copy a running cluster, without the lock of its socket, which lies there too.
base_backup() {				# SERVER DATA TO [OPTION...]
	local server=$1 data=$2 to=$3
	shift 3
	as_server_user "$server/bin/pg_basebackup" -h "$data" -D "$to" -c fast --no-sync "$@"
	rm "$to"/.s.PGSQL.*.lock
}

# pg_waldump of all WAL from the last redo pointer on; the end of WAL is no error.
waldump() {					# SERVER DATA [OPTION...]
	local server=$1 data=$2
	shift 2
	"$server/bin/pg_waldump" -p "$data/pg_wal" -s "$(redo_lsn "$data")" "$@"
}

# The names of the methods of the images in WAL, each once.
methods_in() {				# DATA
	waldump "$PATCHED" "$1" -b 2>/dev/null | sed -n 's/.*, method: //p' | sort -u | tr '\n' ' '
}

# The LSN of the first record with an image of a method, as servers write it.
# HOLE is a pattern for its length.
first_image() {				# DATA METHOD [HOLE]
	waldump "$PATCHED" "$1" -b 2>/dev/null | awk -v "method=$2" -v "hole=${3:-[0-9]+}" '
		/^rmgr:/ { match($0, /lsn: [0-9A-F\/]+/); lsn = substr($0, RSTART + 5, RLENGTH - 5); first = 1
			sub(/\/0+/, "/", lsn) }
		/blkref/ { if (first && $0 ~ "hole: offset: [0-9]+, length: " hole ", .*method: " method "$") { print lsn; exit } first = 0 }'
}

# Tables, indexes and checksums of a running server must be sound.
is_sound() {				# DATA
	as_server_user "$PATCHED/bin/pg_amcheck" -h "$1" -d postgres --heapallindexed --parent-check
}

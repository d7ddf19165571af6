# What the tests of archives without full-page images share.  To be loaded after lib/servers.

# Stock servers do not know this setting, and refuse to start with it.
keeping=(wal_keep_block_data=on)

# A primary with tables and indexes of all kinds; a base backup that is made under load, without
# any WAL; then more load, with checkpoints.  All WAL is in the archive, and in "plain", too, as
# tools read it.
setup_file() {
	suite_begin
	export PRIMARY=$WORK/primary ARCHIVE=$WORK/archive PLAIN=$WORK/plain BASE=$WORK/base
	as_server_user mkdir "$ARCHIVE" "$PLAIN"
	make_cluster "$PRIMARY" full_page_writes=on wal_keep_size=0 archive_mode=on summarize_wal=on \
		"archive_command=$WORK/redoahead lesslog --compress zstd %p $ARCHIVE/%f.zst"
	start_server "$PATCHED" "$PRIMARY" "${keeping[@]}" "${fast[@]}"
	sql "$PRIMARY" -v space= -f - <"$BATS_TEST_DIRNAME/lib/schema.sql" >/dev/null
	pgbench "$PRIMARY" -iq -s 3
	sql "$PRIMARY" -c checkpoint
	run_load "$PRIMARY" 4000 3>&- &
	local load=$!
	wait_until "load" has_committed "$PRIMARY" 500
	as_server_user "$PATCHED/bin/pg_basebackup" -h "$PRIMARY" -D "$BASE" -X none --checkpoint=fast \
		--no-verify-checksums 2>"$WORK/backup.log"
	rm -f "$BASE"/.s.PGSQL.*
	wait "$load"
	sql "$PRIMARY" -c checkpoint
	run_load "$PRIMARY" 1000
	sql "$PRIMARY" -c vacuum -c checkpoint
	run_load "$PRIMARY" 1000
	archive_all "$PRIMARY"
	stop_server "$PRIMARY"
	unpack "$ARCHIVE" "$PLAIN"
	settings "$BASE" archive_mode=off summarize_wal=off hot_standby=on restore_command="$(restoring "$ARCHIVE")"
}

setup() {
	case_begin
	as_server_user cp -a --reflink=auto "$BASE" "$DATA"
}

run_load() {				# DATA TRANSACTIONS
	pgbench "$1" -n -f - -c 2 -t $(($2 / 8)) <"$BATS_TEST_DIRNAME/lib/mixed.sql"
	pgbench "$1" -n -M prepared -c 4 -t "$2"
}

# The restore_command of OPERATING.md, with the script that it calls, for an archive.
restoring() {				# ARCHIVE [PROGRAM SUFFIX]
	local operating=$BATS_TEST_DIRNAME/../../OPERATING.md
	as_server_user touch "$1/mounted"
	sed -n '/^    #!\/bin\/sh$/,/^$/s/^    //p' "$operating" |
		sed "s|/archive|$1|g; s|\.zst|.${3-zst}|g; s|zstd|${2-zstd}|g" >"$1.restore-wal"
	chmod 755 "$1.restore-wal"
	sed -n "s|^    restore_command = '\(.*\)/usr/local/bin/restore-wal \(.*\)'$|\1$1.restore-wal \2|p" "$operating"
}

has_committed() {			# DATA TRANSACTIONS
	[ "$(sql "$1" -c 'select sum(xact_commit) from pg_stat_database')" -gt "$2" ]
}

# Have the archive get all WAL so far.
archive_all() {				# DATA
	local last
	last=$(sql "$1" -c "select pg_walfile_name(pg_switch_wal())")
	wait_until "the archive of $last" archived "$1" "$last"
}

archived() { [[ ! "$(sql "$1" -c 'select last_archived_wal from pg_stat_archiver')" < $2 ]]; }		# DATA NAME

unpack() {					# FROM TO
	local file name
	for file in "$1"/*.zst; do
		name=${file##*/}
		as_server_user zstd -qd "$file" -o "$2/${name%.zst}"
	done
}

# What stock's pg_waldump shows of the WAL in a directory, all or some.
dump_wal() {				# DIRECTORY [-s LSN -e LSN]
	local directory=$1
	shift
	[ $# -gt 0 ] || set -- $(as_server_user ls "$directory" | grep -xE '[0-9A-F]{24}' | sed -n '1p; $p')
	as_server_user "$STOCK/bin/pg_waldump" --bkp-details -p "$directory" "$@"
}

# What is removed is not applied, and shown as an image for verification only.
applied() { grep -o '(FPW)' | wc -l; }
removed() { grep -o '(FPW for WAL verification)' | wc -l; }

# Recover to the end of the archive, and become a primary of a new timeline.
restore_with() {			# SERVER DATA
	as_server_user touch "$2/recovery.signal"
	recover_with "$1" "$2"
}

# As far as redo makes it: not what sessions set without WAL, nor the bytes that align rows.
same_as_primary() {			# DATA
	same_data --ignore-hints --ignore-padding "$PRIMARY" "$1"
	good_checksums "$1"
}

# How many records with images that may be removed are in the WAL of a cluster, before a range of
# positions and within it: a bit of xl_info.  Those whose header is not on one page are left out.
optional_images() {			# DATA FROM TO [RESOURCE-MANAGER-LEFT-OUT]
	dump_wal "$1/pg_wal" | as_server_user /usr/bin/python3 -c '
import re, sys
def position(text):
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)
data, begin, end, *left_out = sys.argv[1], position(sys.argv[2]), position(sys.argv[3]), *sys.argv[4:]
before = within = 0
for rmgr, lsn in re.findall(r"rmgr: (\w+) [^\n]*lsn: (\w+/\w+),(?=[^\n]*(?:\n\t[^\n]*)*FPW)", sys.stdin.read()):
    lsn = position(lsn)
    if lsn % 8192 <= 8192 - 24 and rmgr not in left_out:
        with open(f"{data}/pg_wal/00000001{lsn >> 32:08X}{lsn % (1 << 32) >> 20:08X}", "rb") as file:
            file.seek(lsn % (1 << 20) + 16)
            optional = file.read(1)[0] >> 2 & 1
        before += optional and lsn < begin
        within += optional and begin <= lsn < end
print(before, within)' "$@"
}

# Start and stop of the base backup, as its history file has them.
backup_range() {
	sed -n 's/^START WAL LOCATION: \([0-9A-F/]*\) .*/-s \1/p; s/^STOP WAL LOCATION: \([0-9A-F/]*\) .*/-e \1/p' \
		"$PLAIN"/*.backup
}


#!/usr/bin/env bats
# wal_compression of the patched server: its values, that recovery from each kind
# of image ends in the data that stock makes, that what stock cannot read stops
# it with an error, and that WAL of stock's settings is stock's.  What tools and
# standbys make of such WAL is the matter of wal-compression-tools.bats.

bats_require_minimum_version 1.5.0

load lib/servers
load lib/images

setup_file() {
	suite_begin
	make_images_base
	# What stock makes of the load, without compression.
	crash_with "$STOCK" "$WORK/reference"
	recover_with "$STOCK" "$WORK/reference"
}

set_value() {				# VALUE
	sql "$DATA" -c "set wal_compression = '$1'" -c "show wal_compression"
}

# The server, with what it answers to a value in $output.
refused() {					# VALUE TEXT...
	local value=$1 text
	shift
	run sql "$DATA" -c '\set VERBOSITY verbose' -c "set wal_compression = '$value'"
	echo "$output"
	[[ "$output" == *"invalid value for parameter \"wal_compression\": \"$value\""* ]]
	[[ "$output" == *"HINT:  Available values: pglz, lz4, zstd, zlib, on, off."* ]]
	for text; do
		[[ "$output" == *"DETAIL:  $text."* ]]
	done
}

@test "each value of stock is taken and shown as in stock" {
	local server
	for server in STOCK PATCHED; do
		copy_cluster "$WORK/base" "$DATA"
		start_server "${!server}" "$DATA"
		for value in on off true false yes no 1 0 ON True nO pglz PGLZ lz4 Lz4 zstd tru lz gzip ''; do
			run set_value "$value"
			echo "$value: ${output//ERROR:*invalid value*/refused}"
		done >"$CASE/$server"
		sql "$DATA" -c "select name, setting, boot_val, reset_val, context, unit, pending_restart
			from pg_settings where name = 'wal_compression'" >>"$CASE/$server"
		stop_server "$DATA"
		rm -rf "$DATA"
	done
	cat "$CASE/PATCHED"
	grep '^ON: pglz$' "$CASE/PATCHED"
	grep '^gzip: refused$' "$CASE/PATCHED"
	diff "$CASE/STOCK" "$CASE/PATCHED"
}

# Compiled with the headers of stock.
@test "an extension that reads the variable of stock finds the method there" {
	gcc -shared -fPIC -I"$("$STOCK/bin/pg_config" --includedir-server)" -x c - -o "$CASE/reader.so" <<-'EOF'
	#include "postgres.h"
	#include "access/xlog.h"
	#include "fmgr.h"
	PG_MODULE_MAGIC;
	PG_FUNCTION_INFO_V1(read_method);
	Datum read_method(PG_FUNCTION_ARGS) { PG_RETURN_INT32(wal_compression); }
	EOF
	start_primary
	sql "$DATA" -c "create function read_method() returns int language c as '$CASE/reader'"
	reads() { [ "$(sql "$DATA" -c "set wal_compression = '$1'" -c "select read_method()")" = "$2" ]; }
	reads off 0
	reads on 1
	reads pglz 1
	reads lz4 2
	reads lz4:9,transform 2
	reads zstd 3
	reads zstd:transform 3
	stop_server "$DATA"
}

@test "each value is taken, and shown in lower case" {
	start_primary
	[ "$(sql "$DATA" -c "show wal_compression")" = off ]
	for value in zlib ZLIB lz4:1 lz4:level=9 LZ4:12 \
		zstd:6 zstd:level=6 zstd:-5 zstd:22 zlib:2 zlib:level=9 lz4:transform zstd:transform \
		zstd:level=1,transform zstd:transform,level=1 zlib:transform,level=3 Zstd:Transform; do
		[ "$(set_value "$value")" = "${value,,}" ]
	done
	sql "$DATA" -c "set wal_compression = lz4" -c "set wal_compression = on" -c "set wal_compression = 0"
	stop_server "$DATA"
}

@test "a wrong value is refused, with what is wrong and what is allowed" {
	start_primary
	refused gzip 'Unrecognized compression method: "gzip"'
	refused '' 'Unrecognized compression method: ""'
	refused lz5:3 'Unrecognized compression method: "lz5"'
	refused pglz:3 'Compression method "pglz" does not accept compression options'
	refused on:transform 'Compression method "on" does not accept compression options'
	local invalid="Invalid compression specification:"
	refused lz4: "$invalid found empty string where a compression option was expected"
	refused lz4:transform, "$invalid found empty string where a compression option was expected"
	refused lz4:13 "$invalid compression algorithm \"lz4\" expects a compression level between 1 and 12 (default at 0)"
	refused zlib:10 "$invalid compression algorithm \"zlib\" expects a compression level between 1 and 9"
	refused zlib:0 "$invalid compression algorithm \"zlib\" expects a compression level between 1 and 9"
	refused zstd:23 "$invalid compression algorithm \"zstd\" expects a compression level between -131072 and 22 (default at 3)"
	refused zstd:level "$invalid compression option \"level\" requires a value"
	refused zstd:level=high "$invalid value for compression option \"level\" must be an integer"
	refused zstd:long "$invalid only a compression level and \"transform\" can be specified"
	refused zstd:workers=3 "$invalid only a compression level and \"transform\" can be specified"
	refused lz4:speed=3 "$invalid unrecognized compression option: \"speed\""
	[ "$(sql "$DATA" -c "show wal_compression")" = off ]
	stop_server "$DATA"
}

@test "it can be set for a session, a role, a transaction, and in the file, by superusers" {
	start_primary
	[ "$(sql "$DATA" -c "select context || ' ' || vartype from pg_settings where name = 'wal_compression'")" = "superuser string" ]
	sql "$DATA" -c "create role someone login"
	run sql "$DATA" -U someone -c "set wal_compression = lz4"
	[[ "$output" == *"permission denied to set parameter"* ]]
	sql "$DATA" -c "alter role someone set wal_compression = 'zstd:level=1,transform'"
	[ "$(sql "$DATA" -U someone -c "show wal_compression")" = zstd:level=1,transform ]
	run sql "$DATA" -c "begin" -c "set local wal_compression = 'zlib:3'" -c "show wal_compression" -c "commit" -c "show wal_compression"
	[ "$output" = "zlib:3"$'\n'"off" ]
	sql "$DATA" -c "alter system set wal_compression = 'lz4:transform'" -c "select pg_reload_conf()"
	shows() { [ "$(sql "$DATA" -c "show wal_compression")" = "$1" ]; }
	wait_until "the new setting" shows lz4:transform
	stop_server "$DATA"
	run -1 start_server "$PATCHED" "$DATA" wal_compression=lz4:13
	grep -q 'invalid value for parameter "wal_compression": "lz4:13"' "$DATA.log"
}

# Crash under a setting and recover with the patched server; all must be as
# stock makes it of the same load, but for LSNs, which depend on WAL's size.
recovers_like_stock() {		# SETTING METHODS-IN-WAL
	crash_with "$PATCHED" "$DATA" wal_compression="$1"
	[ "$(methods_in "$DATA")" = "$2" ]
	recover_with "$PATCHED" "$DATA"
	same_but_lsn "$DATA"
	start_server "$PATCHED" "$DATA"
	is_sound "$DATA"
	stop_server "$DATA"
	good_checksums "$DATA"
}

@test "recovery from pglz" { recovers_like_stock on "pglz "; }
@test "recovery from lz4" { recovers_like_stock lz4 "lz4 "; }
@test "recovery from lz4, high level" { recovers_like_stock lz4:9 "lz4 "; }
@test "recovery from zstd" { recovers_like_stock zstd "zstd "; }
@test "recovery from zstd, other level" { recovers_like_stock zstd:level=1 "zstd "; }
@test "recovery from zlib" { recovers_like_stock zlib:2 "zlib "; }
@test "recovery from lz4 with transform" { recovers_like_stock lz4:transform "lz4 lz4:transform "; }
@test "recovery from zstd with transform" { recovers_like_stock zstd:level=1,transform "zstd zstd:transform "; }
@test "recovery from zlib with transform" { recovers_like_stock zlib:transform "zlib zlib:transform "; }

# A single-user server has nothing beside it that writes WAL.
single_user() {				# SERVER DATA SETTING
	copy_cluster "$WORK/base" "$2"
	as_server_user "$1/bin/postgres" --single -D "$2" -c wal_compression="$3" -c shared_buffers=512MB postgres \
		<"$BATS_TEST_DIRNAME/lib/images.sql" >"$2.log" 2>&1
	no grep ERROR "$2.log"
}

# All that stock's pg_waldump prints of WAL, without times; and the images, as pages
# and as the bytes that are in WAL.
contents() {				# DATA
	mkdir "$1.images"
	"$STOCK/bin/pg_waldump" -b -p "$1/pg_wal" -s "$(redo_lsn "$WORK/base")" --save-fullpage="$1.images" 2>/dev/null |
		sed 's/20[0-9][0-9]-[0-9-]* [0-9:.]* [A-Z]*//' >"$1.txt"
	awk '/^rmgr:/ { match($0, /lsn: [0-9A-F\/]+/); lsn = substr($0, RSTART + 5, RLENGTH - 5); first = 1 }
		/blkref/ { if (first && /FPW/) print lsn; first = 0 }' "$1.txt" |
		/usr/bin/python3 "$redoahead_root/tests/tools/corrupt_image.py" "$1/pg_wal" - digest >"$1.bytes"
}

@test "WAL of stock's settings is stock's, to the byte" {
	for value in "${stock_methods[@]}"; do
		single_user "$STOCK" "$CASE/stock-$value" "$value"
		single_user "$PATCHED" "$CASE/patched-$value" "$value"
		contents "$CASE/stock-$value"
		contents "$CASE/patched-$value"
		[ "$(wc -l <"$CASE/stock-$value.txt")" -gt 5000 ]
		cmp "$CASE/stock-$value.txt" "$CASE/patched-$value.txt"
		diff -r "$CASE/stock-$value.images" "$CASE/patched-$value.images"
		[ "$(wc -l <"$CASE/stock-$value.bytes")" -gt 100 ]
		cmp "$CASE/stock-$value.bytes" "$CASE/patched-$value.bytes"
		rm -rf "$CASE"/*-"$value"*
	done
}

@test "each replays the WAL of the other where the settings are stock's" {
	for value in off lz4 zstd; do
		crash_with "$STOCK" "$DATA" wal_compression=$value
		recover_with "$PATCHED" "$DATA"
		same_but_lsn "$DATA"
		rm -rf "$DATA"
	done
	# Levels are nothing to the reader.
	for value in pglz lz4:12 zstd:19; do
		crash_with "$PATCHED" "$DATA" wal_compression=$value
		settings "$DATA" wal_compression=off
		recover_with "$STOCK" "$DATA"
		same_but_lsn "$DATA"
		rm -rf "$DATA"
	done
}

same_but_lsn() {			# DATA
	same_data --ignore-lsn "$WORK/reference" "$1"
}

# ---------- what stock does not know ----------

stops_stock() {				# SETTING
	crash_with "$PATCHED" "$DATA" wal_compression="$1"
	settings "$DATA" wal_compression=off
	copy_cluster "$DATA" "$CASE/kept"

	# From where there are no images yet.
	run -1 "$STOCK/bin/pg_waldump" --quiet -p "$DATA/pg_wal" -s "$(redo_lsn "$WORK/base")"
	echo "$output"
	[[ "$output" == *"error in WAL record at "*": BKPIMAGE_HAS_HOLE not set, but hole offset"* ]]

	run -1 start_server "$STOCK" "$DATA"
	grep 'FATAL:  resource manager with ID 250 not registered' "$DATA.log"
	grep -q 'cluster state: *in crash recovery' <("$STOCK/bin/pg_controldata" "$DATA")
	run -1 grep 'redo done' "$DATA.log"

	# It has done no harm: the patched server goes on from there.
	recover_with "$PATCHED" "$DATA"
	same_but_lsn "$DATA"
}

@test "stock refuses images of zlib, and the patched server takes over" { stops_stock zlib; }
@test "stock refuses transformed images, and the patched server takes over" { stops_stock lz4:transform; }
@test "stock refuses transformed images of zstd, and the patched server takes over" { stops_stock zstd:transform; }

@test "a stock standby stops at the first new image" {
	start_primary wal_compression=lz4:transform
	base_backup "$STOCK" "$DATA" "$CASE/standby" -R
	settings "$CASE/standby" wal_compression=off primary_conninfo="host=$DATA"
	start_server --no-wait "$STOCK" "$CASE/standby"
	load_images
	wait_until "the error" grep 'FATAL:  resource manager with ID 250 not registered' "$CASE/standby.log"
	wait_until "the end of the standby" server_has_gone "$CASE/standby"
	stop_server "$DATA"
}

@test "between stock and patched, and back, after a crash of each" {
	# stock crashes, patched recovers and crashes, patched recovers, stock takes over
	crash_with "$STOCK" "$DATA" wal_compression=lz4
	start_server "$PATCHED" "$DATA" wal_compression=lz4:transform
	sql "$DATA" -c "checkpoint" -c "update narrow set v = v + 3" -c "create index on narrow (v)"
	before=$(sql "$DATA" -c "select count(*), sum(v), sum(id) from narrow")
	stop_server "$DATA" immediate
	start_server "$PATCHED" "$DATA"
	[ "$(sql "$DATA" -c "select count(*), sum(v), sum(id) from narrow")" = "$before" ]
	stop_server "$DATA"
	start_server "$STOCK" "$DATA"
	is_sound "$DATA"
	[ "$(sql "$DATA" -c "select count(*), sum(v), sum(id) from narrow")" = "$before" ]
	sql "$DATA" -c "update narrow set v = v - 3"
	stop_server "$DATA" immediate
	start_server "$PATCHED" "$DATA"
	is_sound "$DATA"
	stop_server "$DATA"
}

# An extension that has taken the resource manager ID of that record.
@test "a server with the patches does not start with an extension of the same ID" {
	gcc -shared -fPIC -I"$("$PATCHED/bin/pg_config" --includedir-server)" -x c - -o "$CASE/same_id.so" <<-'EOF'
	#include "postgres.h"
	#include "access/xlog_internal.h"
	#include "fmgr.h"
	PG_MODULE_MAGIC;
	static void redo(XLogReaderState *record) {}
	static void describe(StringInfo buffer, XLogReaderState *record) {}
	static const char *identify(uint8 info) { return NULL; }
	static const RmgrData manager = {"same_id", redo, describe, identify};
	void _PG_init(void) { RegisterCustomRmgr(RM_EXTENDED_IMAGES_ID, &manager); }
	EOF
	copy_cluster "$WORK/base" "$DATA"
	run -1 start_server "$PATCHED" "$DATA" shared_preload_libraries="$CASE/same_id"
	grep 'FATAL:  failed to register custom resource manager "same_id" with ID 250' "$DATA.log"
	grep 'DETAIL:  Custom resource manager "ExtendedImages" already registered with the same ID' "$DATA.log"
	start_server "$PATCHED" "$DATA"
	stop_server "$DATA"
}

# ---------- corruption ----------

# Redo must stop at the image and report why, and must not have opened the database.
stops_at() {				# DATA LSN METHOD MESSAGE
	local lsn=${2/\//\/0*}		# PostgreSQL 19 logs leading zeros
	run -1 start_server "$PATCHED" "$1"
	cat "$1.log"
	grep -E "FATAL:  ${4/"$2"/"$lsn"}" "$1.log"
	grep -E "CONTEXT:  WAL redo at $lsn .* FPW, compression saved: [0-9]+, method: $3" "$1.log"
	run -1 grep -E 'redo done|was terminated by signal' "$1.log"
}

damage_stops_redo() {		# DAMAGE METHOD...
	local damage=$1 method
	shift
	for method; do
		crash_with "$PATCHED" "$DATA" wal_compression=$method
		lsn=$(first_image "$DATA" "$method")
		/usr/bin/python3 "$redoahead_root/tests/tools/corrupt_image.py" "$DATA/pg_wal" "$lsn" "$damage"
		stops_at "$DATA" "$lsn" "$method" "could not decompress image at $lsn compressed with $method, block 0"
		rm -rf "$DATA" "$DATA.log"
	done
}

@test "a corrupted image stops redo with an error that names it" {
	damage_stops_redo noise pglz lz4 zstd zlib lz4:transform zstd:transform zlib:transform
}

@test "an image that is too short when decompressed stops redo" {
	damage_stops_redo stream lz4 zstd
}

@test "an image of stock whose hole reaches beyond the page stops redo" {
	crash_with "$STOCK" "$DATA" wal_compression=lz4
	lsn=$(first_image "$DATA" lz4 '[1-9][0-9]*')
	/usr/bin/python3 "$redoahead_root/tests/tools/corrupt_image.py" "$DATA/pg_wal" "$lsn" hole
	stops_at "$DATA" "$lsn" lz4 "could not restore image at $lsn with invalid hole offset 8000 length 1000, block 0"
}

@test "a transformed image whose stream, hole or method is wrong stops redo" {
	crash_with "$PATCHED" "$CASE/crashed" wal_compression=lz4:transform
	lsn=$(first_image "$CASE/crashed" lz4:transform)
	while read -r damage method message; do
		copy_cluster "$CASE/crashed" "$DATA"
		/usr/bin/python3 "$redoahead_root/tests/tools/corrupt_image.py" "$DATA/pg_wal" "$lsn" "$damage"
		stops_at "$DATA" "$lsn" "$method" "$message"
		rm -rf "$DATA" "$DATA.log"
	done <<-END
		stream lz4:transform could not decompress image at $lsn compressed with lz4:transform, block 0
		hole lz4:transform could not restore image at $lsn with invalid hole offset 8000 length 1000, block 0
		kind unknown could not restore image at $lsn compressed with unknown method, block 0
	END
}

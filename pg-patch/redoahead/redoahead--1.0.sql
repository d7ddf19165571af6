/* redoahead--1.0.sql: the statistics view of the redoahead extension */

\echo Use "CREATE EXTENSION redoahead" to load this file. \quit

CREATE FUNCTION pg_stat_redoahead(
	OUT state text,
	OUT daemon_pid int4,
	OUT replay_lsn pg_lsn,
	OUT decode_lsn pg_lsn,
	OUT offered int8,
	OUT emitted int8,
	OUT implied int8,
	OUT hit int8,
	OUT skip_rep int8,
	OUT skip_fpw int8,
	OUT skip_init int8,
	OUT skip_new int8,
	OUT dropped int8,
	OUT buffers_found int8,
	OUT evicted int8,
	OUT wakeups int8,
	OUT connects int8,
	OUT disconnects int8,
	OUT lookahead int4,
	OUT daemon_refs_taken int8,
	OUT daemon_blocks_read int8,
	OUT daemon_blocks_failed int8,
	OUT daemon_blocks_stale int8,
	OUT daemon_in_flight int8,
	OUT daemon_io_depth int8,
	OUT daemon_readahead_limit int8,
	OUT daemon_cpu_seconds float8)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

CREATE VIEW pg_stat_redoahead AS SELECT * FROM pg_stat_redoahead();
GRANT SELECT ON pg_stat_redoahead TO PUBLIC;

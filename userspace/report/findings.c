/*
 * findings.c
 *		Names and shares that the text and the JSON of a trace have in common.
 */
#include "report/findings.h"

const char *const findings__outcome_names[] = {
	[FINDINGS_RUNNING] = "running",
	[FINDINGS_COMPLETED] = "completed",
	[FINDINGS_INTERRUPTED] = "interrupted",
	[FINDINGS_STOPPED] = "stopped",
};

/* PostgreSQL's name of a resource manager; of an extension's, its number. */
const char *
findings__rmgr_name(unsigned rmid, char buffer[16])
{
	static const char *const names[] = {
		"XLOG", "Transaction", "Storage", "CLOG", "Database", "Tablespace", "MultiXact",
		"RelMap", "Standby", "Heap2", "Heap", "Btree", "Hash", "Gin", "Gist", "Sequence",
		"SPGist", "BRIN", "CommitTs", "ReplicationOrigin", "Generic", "LogicalMessage",
	};

	if (rmid < sizeof(names) / sizeof(names[0]))
		return names[rmid];
	snprintf(buffer, 16, "rmgr %u", rmid % TALLY_RMGRS);
	return buffer;
}

/* A part of a whole; negative if there is no whole. */
double
findings__share(uint64_t part, uint64_t whole)
{
	return whole == 0 ? -1 : (double) part / (double) whole;
}

/*
 * test_findings.c
 *		The report of a trace: its width, its histograms, its JSON; and why the
 *		kernel refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cluster/controlfile.h"
#include "probe/refusal.h"
#include "report/findings.h"
#include "report/histogram.h"
#include "unit.h"

static struct tally tally;
static struct findings_row rows[30];
static char text[65536];

/* What a function writes to a file. */
#define WRITTEN(call) \
	do { \
		FILE	   *file = fmemopen(text, sizeof(text), "w"); \
		assert_non_null(file); \
		call; \
		fclose(file); \
	} while (0)

static void
expect_text(const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

/* Each line fits into 80 columns, and none ends in a space. */
static void
expect_width(void)
{
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
	{
		if (strlen(line) > 80)
			fail_msg("%zu columns: %s", strlen(line), line);
		if (line[strlen(line) - 1] == ' ')
			fail_msg("ends in a space: \"%s\"", line);
	}
}

/* Lost otherwise: a form that everybody can read. */
TEST(test_histogram)
{
	__u64		slots[40] = {[10] = 1,[12] = 200,[13] = 100};

	WRITTEN(histogram__print(file, "Title", slots, 40));
	assert_string_equal(text,
						"\nTitle\n"
						"     nsecs                    : count    distribution\n"
						"        1024 -> 2047         : 1        |*                                     |\n"
						"        2048 -> 4095         : 0        |                                      |\n"
						"        4096 -> 8191         : 200      |**************************************|\n"
						"        8192 -> 16383        : 100      |*******************                   |\n");
	memset(slots, 0, sizeof(slots));
	memset(text, 0, sizeof(text));
	WRITTEN(histogram__print(file, "Title", slots, 40));
	assert_string_equal(text, "");
}

/* Findings with large numbers everywhere. */
static struct findings
make_findings(void)
{
	struct findings findings = {
		.outcome = FINDINGS_COMPLETED,.pgdata = "/srv/pg",.major = 18,.block_size = 8192,
		.startup = 4194304,.daemons = {4194303},.daemon_count = 1,.from_start = true,
		.elapsed_ns = UINT64_C(86399123456789),.attach_method = "tp_btf",.references_followed = true,.tally = &tally,.rows = rows,
		.row_count = 30,
	};

	memset(&tally, 0, sizeof(tally));
	tally__begin(&tally, 0);
	tally.blocks[TALLY_TIMELY][TALLY_DAEMON] = 999999999;
	tally.blocks[TALLY_LATE][TALLY_DAEMON] = 1;
	tally.missed[TALLY_EVICTED] = 1;
	tally.blocks[TALLY_MISSED][TALLY_CACHED] = 1;
	tally.wait_ns[TALLY_TIMELY] = UINT64_C(86399123456789);
	tally.wait_slots[TALLY_TIMELY][39] = 99999999;
	tally.prefetchers[TALLY_DAEMON] = (struct tally_prefetcher) {
		.prefetched = 1000000010,.used = 1000000000,.wasted = {1, 2, 3},
	};
	tally.wal_calls[TALLY_TIMELY] = 99999999;
	tally.wal_bytes = UINT64_C(1) << 44;
	tally.rmgrs[10].read[TALLY_TIMELY] = 999999999;
	tally.replay_lsn = UINT64_C(0xFFFFFFFF12345678);
	findings.pending[TALLY_DAEMON] = 4;
	for (int i = 0; i < 30; i++)
	{
		rows[i] = (struct findings_row) {
			.key = {.spc = 16385,.db = 16384,.rel = 4294967295,.fork = 1},
			.counts = {.read = {9999999, 99999, 99999},.wait_ns = UINT64_C(2879123456789),
			.prefetched = 9999999,.wasted = 9999},
		};
		strcpy(rows[i].path, "pg_tblspc/16385/PG_18_202506291/16384/4294967295_fsm");
	}
	for (uint64_t i = 0; i < TALLY_SAMPLES; i++)
		*tally__sample(&tally, i * TALLY_FIRST_SAMPLE) = (struct tally_sample) {
			.read = {9999999, 999999, 999999},.prefetched = 99999999,.lsn = tally.replay_lsn,
		};
	return findings;
}

/* Lost otherwise: reports that a terminal of 80 columns can show, on the largest machines too. */
TEST(test_width)
{
	struct findings findings = make_findings();
	const uint64_t large = UINT64_C(123456789012345);

	WRITTEN(assert_int_equal(findings__text(&findings, file), 0));
	expect_width();
	for (int class = 0; class < TALLY_CLASSES; class++)
	{
		tally.wait_ns[class] = large * 1000;
		tally.wal_calls[class] = large;
		for (int source = 0; source < TALLY_SOURCES; source++)
			tally.blocks[class][source] = large;
		for (int i = 0; i < 30; i++)
			rows[i].counts.read[class] = large;
		tally.samples[0].read[class] = large;
	}
	tally.samples[0].wait_ns = tally.wal_wait_ns = large * 1000;
	tally.samples[0].prefetched = tally.wal_bytes = large;
	for (int i = 0; i < 30; i++)
	{
		rows[i].counts.wasted = large;
		rows[i].counts.wait_ns = large * 1000;
	}
	for (int source = 0; source < TALLY_PREFETCHERS; source++)
		tally.prefetchers[source] = (struct tally_prefetcher) {large, large, {large, large, large}};
	WRITTEN(assert_int_equal(findings__text(&findings, file), 0));
	assert_non_null(strstr(text, "123456789M"));
	assert_non_null(strstr(text, " 123456789 "));	/* seconds */
	expect_width();
}

/* Lost otherwise: the most important numbers, and the warning that some are missing. */
TEST(test_text)
{
	struct findings findings = make_findings();

	findings.lost.events = 5;
	WRITTEN(assert_int_equal(findings__text(&findings, file), 0));
	/* Almost all is not all. */
	expect_text("coverage    99.99 %   late       0.00 %   timeliness    99.99 %");
	expect_text("accuracy    99.99 %   wasted     0.00 %");
	expect_text("LOST: 5 events");
	expect_text("replay LSN FFFFFFFF/12345678");
	expect_text("attached by tp_btf; records not followed, references followed\n");
	expect_text("and 10 more; --json has them all");
	expect_text("Heap ");
}

/* Lost otherwise: which relation it is, in which database; and the shape of the table. */
TEST(test_names)
{
	struct findings findings = make_findings();

	strcpy(rows[0].name, "accounts");
	strcpy(rows[0].database, "one");
	rows[1].key.fork = 0;
	strcpy(rows[1].name, "\"two\nlines\"");
	strcpy(rows[1].database, "one");
	WRITTEN(assert_int_equal(findings__text(&findings, file), 0));
	expect_text("\naccounts (fsm)             ");
	expect_text("\n\"two?lines\"                ");
	strcpy(rows[1].database, "other");
	/* Characters, not bytes, make the width. */
	strcpy(rows[2].name, "\u00e412345678901234567890123456");
	rows[2].key.fork = 0;
	strcpy(rows[3].name, "pg_authid");	/* shared */
	rows[3].key.fork = 0;
	strcpy(rows[4].name, "\u00e4\u00e4\u00f612345678901234567890123456");
	rows[4].key.fork = 0;
	strcpy(rows[5].name, "gr\u00f6\u00dfe");
	rows[5].key.fork = 0;
	WRITTEN(assert_int_equal(findings__text(&findings, file), 0));
	expect_text("\none:accounts (fsm)         ");
	expect_text("\nother:\"two?lines\"          ");
	expect_text("\n\u00e412345678901234567890123456 ");
	expect_text("\npg_authid                   ");
	expect_text("\n\u00f612345678901234567890123456 ");
	expect_text("\ngr\u00f6\u00dfe                       ");
}

static double
number_of(struct json_object *object, const char *name)
{
	struct json_object *member;

	assert_true(json_object_object_get_ex(object, name, &member));
	return json_object_get_double(member);
}

/* Lost otherwise: what programs read. */
TEST(test_json)
{
	struct findings findings = make_findings();
	struct json_object *object;
	struct json_object *blocks;
	struct json_object *member;

	WRITTEN(assert_int_equal(findings__json(&findings, file), 0));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	object = json_tokener_parse(text);
	assert_non_null(object);
	assert_true(number_of(object, "coverage") > 0.999999 && number_of(object, "coverage") <= 1);
	assert_true(number_of(object, "accuracy") > 0.99);
	assert_true(number_of(object, "late") < 1e-8);
	assert_true(number_of(object, "wasted") < 1e-8);
	assert_int_equal((int64_t) number_of(object, "seconds"), 86399);
	assert_true(json_object_object_get_ex(object, "blocks", &blocks));
	assert_int_equal((int64_t) number_of(blocks, "read"), 1000000001);
	assert_int_equal((int64_t) number_of(blocks, "pending"), 4);
	assert_int_equal((int64_t) number_of(blocks, "wasted"), 6);
	assert_true(json_object_object_get_ex(object, "relations", &member));
	assert_int_equal(json_object_array_length(member), 30);
	assert_true(json_object_object_get_ex(object, "timeline", &member));
	assert_int_equal(json_object_array_length(member), TALLY_SAMPLES);
	json_object_put(object);
}

/* Lost otherwise: a share of nothing, which must not be 0 or 100 percent. */
TEST(test_nothing)
{
	struct findings findings = make_findings();
	struct json_object *object;
	struct json_object *member;

	memset(&tally, 0, sizeof(tally));
	findings.row_count = 0;
	findings.interval = true;
	WRITTEN(assert_int_equal(findings__text(&findings, file), 0));
	expect_text("coverage          -");
	WRITTEN(assert_int_equal(findings__json(&findings, file), 0));
	object = json_tokener_parse(text);
	assert_true(json_object_object_get_ex(object, "coverage", &member));
	assert_null(member);
	json_object_put(object);
}

static void
expect_reason(struct refusal_facts facts, int err, const char *part)
{
	refusal__explain(&facts, err, text, sizeof(text));
	expect_text(part);
}

/* Lost otherwise: the remedy where the kernel only returns EPERM. */
TEST(test_refusals)
{
	const struct refusal_facts able = {.has_btf = true,.has_capabilities = true};
	struct refusal_facts facts = able;

	assert_false(refusal__is_certain(&facts));
	expect_reason(facts, -EPERM, "seccomp");
	expect_reason(facts, -ENOMEM, "Cannot allocate memory");
	facts.confidential = true;
	assert_true(refusal__is_certain(&facts));
	expect_reason(facts, 0, "lockdown=confidentiality");
	facts = able;
	facts.has_capabilities = false;
	assert_true(refusal__is_certain(&facts));
	expect_reason(facts, 0, "CAP_BPF and CAP_PERFMON");
	facts.has_btf = false;
	expect_reason(facts, 0, "CONFIG_DEBUG_INFO_BTF");
}

/* Lost otherwise: the sizes of a cluster, wherever a major keeps them. */
TEST(test_controlfile)
{
	static const uint32_t sizes[] = {8192, 131072, 8192, 16777216};
	static const double mark = 1234567.0;
	unsigned char data[CONTROLFILE_BYTES] = {0};
	struct controlfile control;

	assert_int_equal(controlfile__parse(&control, data, sizeof(data)), -EINVAL);
	data[0] = 7;
	data[12] = 9;
	data[16] = CONTROLFILE_IN_CRASH_RECOVERY;
	data[43] = 1;
	data[48] = 3;
	data[56] = 1;
	data[144] = 5;
	data[200] = 1;
	memcpy(data + 208, &mark, sizeof(mark));
	memcpy(data + 216, sizes, sizeof(sizes));
	assert_int_equal(controlfile__parse(&control, data, sizeof(data)), 0);
	assert_int_equal(control.state, CONTROLFILE_IN_CRASH_RECOVERY);
	assert_int_equal(control.block_size, 8192);
	assert_int_equal(control.segment_blocks, 131072);
	assert_int_equal(control.wal_page_bytes, 8192);
	assert_int_equal(control.wal_segment_bytes, 16777216);
	assert_int_equal(control.system_identifier, 7);
	assert_int_equal(control.catalog_version, 9);
	assert_int_equal(control.redo_lsn, 0x1000000);
	assert_int_equal(control.timeline, 3);
	assert_int_equal(control.end_timeline, 5);
	assert_true(control.commit_ts);
	assert_true(control.full_page_writes);
	assert_false(control.checksums);
	data[252] = 1;
	assert_int_equal(controlfile__parse(&control, data, sizeof(data)), 0);
	assert_true(control.checksums);
	/* PostgreSQL 19 has the pages in a segment of an SLRU among the sizes. */
	data[8] = 1902 & 0xFF;
	data[9] = 1902 >> 8;
	assert_int_equal(controlfile__parse(&control, data, sizeof(data)), -EINVAL);
	memmove(data + 228, data + 224, 32);
	data[224] = 32;
	assert_int_equal(controlfile__parse(&control, data, sizeof(data)), 0);
	assert_int_equal(control.wal_page_bytes, 8192);
	assert_int_equal(control.wal_segment_bytes, 16777216);
	assert_true(control.checksums);
	/* Cut off, or with a size that cannot be. */
	assert_int_equal(controlfile__parse(&control, data, 224), -EINVAL);
	data[217]++;
	assert_int_equal(controlfile__parse(&control, data, sizeof(data)), -EINVAL);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)

/*
 * test_prometheus.c
 *		The status document as metrics: labels, unknown members, counters, the file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/json.h"
#include "report/prometheus.h"
#include "report/statistics.h"
#include "unit.h"

static char text[65536];
static char directory[] = "/var/tmp/redoahead-prometheus.XXXXXX";
static char path[128];

static int
make_directory(void **state)
{
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/redoahead.prom", directory);
	return 0;
}

static int
remove_directory(void **state)
{
	return rmdir(directory);
}

/* The metrics of a document; returns what prometheus__write() returns. */
static int
write_document(struct json_object *document)
{
	FILE	   *file = fmemopen(text, sizeof(text), "w");
	int			err;

	assert_non_null(file);
	memset(text, 0, sizeof(text));
	err = prometheus__write(file, document);
	fclose(file);
	return err;
}

/* The same of JSON. */
static int
write_json(const char *json)
{
	struct json_object *document = json_tokener_parse(json);
	int			err;

	assert_non_null(document);
	err = write_document(document);
	json_object_put(document);
	return err;
}

static int
count(const char *part)
{
	int			found = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		found++;
	return found;
}

/* How often a part of the text is there. */
static void
expect(int times, const char *part)
{
	if (count(part) != times)
		fail_msg("\"%s\" is %d times, not %d times, in:\n%s", part, count(part), times, text);
}

/* Lost otherwise: all metrics of the machine, which the collector refuses for one bad label. */
TEST(test_labels_are_escaped)
{
	assert_int_equal(write_json("{\"data_directory\": \"/a \\\"b\\\" \\\\c\\nd\\u00e9\"}"), 0);
	expect(1, "redoahead_up{data_directory=\"/a \\\"b\\\" \\\\c\\nd\xc3\xa9\"} 0\n");
}

/* Lost otherwise: the same for a directory whose name has another encoding than UTF-8. */
TEST(test_labels_are_utf8)
{
	static const struct
	{
		const char *name;		/* data directory */
		const char *label;		/* what it becomes */
	}			names[] = {
		{"/\xe9t\xe9", "/\xef\xbf\xbdt\xef\xbf\xbd"},
		{"/\xc3", "/\xef\xbf\xbd"},
		{"/\xc0\xaf", "/\xef\xbf\xbd\xef\xbf\xbd"},
		{"/\xed\xa0\x80", "/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"/\xf5\x80\x80\x80", "/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"/\xe2\x82\xac\xf0\x9f\x90\x98", "/\xe2\x82\xac\xf0\x9f\x90\x98"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		struct json_object *document = json_object_new_object();
		char		sample[128];

		json__text(document, "data_directory", names[i].name);
		assert_int_equal(write_document(document), 0);
		snprintf(sample, sizeof(sample), "redoahead_up{data_directory=\"%s\"} 0\n", names[i].label);
		expect(1, sample);
		json_object_put(document);
	}
}

/* Lost otherwise: an alert about a daemon that has ended, and no old values beside it. */
TEST(test_without_daemon)
{
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"phase\": \"waiting\", \"pid\": null}"), 0);
	assert_string_equal(text,
						"# HELP redoahead_up 1 if the daemon responds, 0 if there is none.\n"
						"# TYPE redoahead_up gauge\n"
						"redoahead_up{data_directory=\"/d\"} 0\n");
}

/* Lost otherwise: metrics of a daemon that waits, or whose version knows less. */
TEST(test_unknown_members)
{
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"pid\": 1, \"recovery\": null,"
								" \"last_recovery\": {\"coverage\": null}, \"total\": {}}"), 0);
	expect(1, "redoahead_up{data_directory=\"/d\"} 1\n");
	expect(1, "redoahead_build_info{data_directory=\"/d\",version=\"\",command=\"\",server_major=\"\"} 1\n");
	expect(0, "redoahead_recovery_");
	expect(0, "redoahead_last_recovery_");
	expect(0, "_total");
	expect(0, "null");
}

/* Lost otherwise: nobody sums up, compares or plots what is not a number. */
TEST(test_no_nan)
{
	struct json_object *document = json_tokener_parse("{\"data_directory\": \"/d\", \"pid\": 1}");
	struct json_object *recovery = json__object(document, "recovery");

	json_object_object_add(recovery, "coverage", json_object_new_double(NAN));
	json_object_object_add(recovery, "time_left_seconds", json_object_new_double(INFINITY));
	json_object_object_add(recovery, "progress", json_object_new_double(0.125));
	assert_int_equal(write_document(document), 0);
	expect(0, "coverage");
	expect(0, "time_left");
	expect(1, "redoahead_recovery_progress_ratio{data_directory=\"/d\"} 0.125\n");
	json_object_put(document);
}

/* Lost otherwise: lags, which are differences of positions. */
TEST(test_positions)
{
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"pid\": 1, \"recovery\":"
								" {\"replay_lsn\": \"0/2000028\", \"end_lsn\": \"1F/FF\","
								" \"primary_lsn\": null}}"), 0);
	expect(1, "redoahead_recovery_replay_lsn_bytes{data_directory=\"/d\"} 33554472\n");
	expect(1, "redoahead_recovery_end_lsn_bytes{data_directory=\"/d\"} 133143986431\n");
	expect(0, "primary_lsn");
}

/* Lost otherwise: a panel or a rule for each state, before it occurs the first time. */
TEST(test_states)
{
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"pid\": 1, \"phase\": \"crash recovery\","
								" \"recovery\": {\"limit\": \"device latency\","
								" \"limit_seconds\": {\"cpu\": 2.5, \"device_latency\": 1}}}"), 0);
	expect(5, "redoahead_phase{");
	expect(1, "redoahead_phase{data_directory=\"/d\",phase=\"crash recovery\"} 1\n");
	expect(1, "redoahead_phase{data_directory=\"/d\",phase=\"waiting\"} 0\n");
	expect(7, "redoahead_limit{");
	expect(1, "redoahead_limit{data_directory=\"/d\",limit=\"device latency\"} 1\n");
	expect(1, "redoahead_recovery_limit_seconds{data_directory=\"/d\",limit=\"cpu\"} 2.5\n");
	expect(1, "redoahead_recovery_limit_seconds{data_directory=\"/d\",limit=\"device latency\"} 1\n");

	/* A newer daemon's. */
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"pid\": 1, \"phase\": \"promotion\"}"), 0);
	expect(1, "phase=\"promotion\"} 1\n");
	expect(6, "redoahead_phase{");
}

/* Lost otherwise: an alert about a server that is not served. */
TEST(test_refused)
{
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"pid\": 1, \"refused\": \"why\"}"), 0);
	expect(1, "redoahead_server_refused{data_directory=\"/d\"} 1\n");
	assert_int_equal(write_json("{\"data_directory\": \"/d\", \"pid\": 1, \"refused\": null}"), 0);
	expect(1, "redoahead_server_refused{data_directory=\"/d\"} 0\n");
}

/* Lost otherwise: a document that is not ours would be read as zero, or not at all. */
TEST(test_wrong_types)
{
	static const char *const wrong[] = {
		"{\"data_directory\": \"/d\", \"pid\": 1, \"uptime_seconds\": \"1\"}",
		"{\"data_directory\": \"/d\", \"pid\": 1, \"phase\": 1}",
		"{\"data_directory\": \"/d\", \"pid\": 1, \"recovery\": []}",
		"{\"data_directory\": \"/d\", \"pid\": 1, \"recovery\": {\"replay_lsn\": \"0/1x\"}}",
		"{\"data_directory\": \"/d\", \"pid\": 1, \"recovery\": {\"replay_lsn\": 1}}",
		"{\"data_directory\": \"/d\", \"pid\": 1, \"recovery\": {\"limit_seconds\": 1}}",
	};

	assert_int_equal(write_json("[]"), -EINVAL);
	assert_int_equal(write_json("{\"pid\": 1}"), -EINVAL);
	assert_int_equal(write_document(NULL), -EINVAL);
	assert_string_equal(text, "");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
	{
		assert_int_equal(write_json(wrong[i]), -EINVAL);
		expect(1, "redoahead_up{data_directory=\"/d\"} 1\n");
	}
}

/* The members of the statistics file's "total", whose counters are all different. */
static struct json_object *
statistics_total(void)
{
	struct counters counters;
	struct control control = {.settled = 1};
	struct statistics statistics = {
		.backend = "fadvise",.control = &control,.recovery = &counters,.total = &counters
	};
	struct json_object *object;
	struct json_object *total;

	for (size_t i = 0; i < sizeof(counters) / sizeof(uint64_t); i++)
		((uint64_t *) &counters)[i] = 70000000 + i;
	assert_int_equal(statistics__write(path, &statistics), 0);
	object = json_object_from_file(path);
	assert_non_null(object);
	unlink(path);
	total = json_object_get(json_object_object_get(object, "total"));
	json_object_put(object);
	return total;
}

/* A counter is the value of one sample, of a family that is a counter unless it is a maximum. */
static void
expect_counter(const char *name, const char *label, struct json_object *value)
{
	char		sample[256];
	bool		is_maximum = strstr(name, "_max") != NULL;

	snprintf(sample, sizeof(sample), "redoahead_%s%s{data_directory=\"/d\"%s} %s\n", name,
			 is_maximum ? "" : "_total", label, json_object_get_string(value));
	expect(1, sample);
	snprintf(sample, sizeof(sample), "# TYPE redoahead_%s%s\n", name,
			 is_maximum ? " gauge" : "_total counter");
	expect(1, sample);
}

/* Lost otherwise: a new counter that is in the statistics file only. */
TEST(test_all_counters)
{
	struct json_object *document = json_tokener_parse("{\"data_directory\": \"/d\", \"pid\": 1}");
	struct json_object *total = statistics_total();
	int			samples = 0;

	json_object_object_add(document, "total", total);
	assert_int_equal(write_document(document), 0);
	json_object_object_foreach(total, name, value)
	{
		const char *by = strstr(name, "_by_reason");
		char		plain[64];
		char		label[64];

		if (by == NULL)
		{
			/* The sum of its reasons is none of the samples. */
			snprintf(plain, sizeof(plain), "%s_by_reason", name);
			if (json_object_object_get(total, plain) != NULL)
				continue;
			expect_counter(name, "", value);
			samples++;
			continue;
		}
		snprintf(plain, sizeof(plain), "%.*s", (int) (by - name), name);
		json_object_object_foreach(value, reason, times)
		{
			snprintf(label, sizeof(label), ",reason=\"%s\"", reason);
			expect_counter(plain, label, times);
			samples++;
		}
	}
	assert_true(samples > 30);
	/* Each sample has been found, but for up, build_info, server_refused, two backends, phases and limits. */
	expect(samples + 1 + 1 + 1 + 2 + 5 + 7, "\nredoahead_");
	json_object_put(document);
}

/* Lost otherwise: a collector that reads half of a file, may not read it, or reads an old one. */
TEST(test_file)
{
	struct json_object *document = json_tokener_parse("{\"data_directory\": \"/d\", \"pid\": 1}");
	char		line[256];
	mode_t		umask_before = umask(0077);
	struct stat st;
	FILE	   *file;

	/* A link is replaced, and what it leads to is neither written nor removed. */
	assert_int_equal(symlink("/nonexistent/a", path), 0);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(prometheus__write_file(path, document), 0);
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(st.st_mode & 07777, 0644);
	}
	umask(umask_before);

	/* An error leaves the file as it was, and nothing else: the directory can be removed. */
	json_object_object_add(document, "uptime_seconds", json_object_new_string("long"));
	assert_int_equal(prometheus__write_file(path, document), -EINVAL);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "# HELP redoahead_up 1 if the daemon responds, 0 if there is none.\n");
	fclose(file);

	assert_int_equal(prometheus__remove_file(path), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(prometheus__remove_file(path), 0);
	json_object_put(document);
}

/* Lost otherwise: a full disk that nobody hears of; and devices, for a daemon that runs as root. */
TEST(test_file_refusals)
{
	struct json_object *document = json_tokener_parse("{\"data_directory\": \"/d\", \"pid\": 1}");
	FILE	   *full = fopen("/dev/full", "w");
	char		missing[160];

	snprintf(missing, sizeof(missing), "%s/no/redoahead.prom", directory);
	assert_int_equal(prometheus__write_file(missing, document), -ENOENT);
	assert_int_equal(prometheus__write_file(directory, document), -EISDIR);
	assert_int_equal(prometheus__write_file("/dev/null", document), -EINVAL);
	assert_int_equal(prometheus__remove_file("/dev/null"), -EINVAL);
	assert_int_equal(prometheus__remove_file(directory), -EISDIR);
	assert_non_null(full);
	assert_int_equal(prometheus__write(full, document), -ENOSPC);
	fclose(full);
	json_object_put(document);
}

UNIT_MAIN(make_directory, remove_directory, NULL, NULL)

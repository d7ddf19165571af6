/*
 * array.c
 *		All modelled disks, their data, and their clock.
 *
 * A request starts its backing I/O at once and is given to the model of its
 * disk; it is answered when both are done with it.  So the time that the
 * backing file takes is hidden behind the time that the model wants, as long
 * as it is shorter; where it is not, or where we are late ourselves, it is
 * counted.
 *
 * Where requests come from is not known here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "array.h"
#include "base/clock.h"

/* A request answered this much after its time is late. */
#define LATE		((uint64_t) MILLISECOND)

/* A healthy model adds at most this part to what the requests should take. */
#define LATE_SHARE		0.05
#define LATE_ALLOWANCE	(10 * MILLISECOND)	/* for runs of a few requests, ns */

/*
 * New requests may stay unseen for this long while they cannot start anyway,
 * ns.  More would show in writes, which a drive confirms while it is busy.
 */
#define UNDISTURBED		((uint64_t) (1.0 * MILLISECOND))

struct array
{
	struct array_settings settings; /* what it is made of */
	struct disk *disks[ARRAY_MAX_DISKS];	/* the models */
	struct backing *backing;	/* the data */
	enum array_phase phase;		/* for requests from now on */
	uint64_t	reads_to_fail;	/* so many of the next reads fail with EIO */
	uint64_t	stalled_until;	/* no request is answered before that, ns; 0: no stall */
	struct array_health health; /* since the last reset */
	uint64_t	reset_at;		/* when it was, ns */
	double		reset_cpu;		/* CPU time of the process then, s */
};

/* A time that does not jump, ns. */
static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* CPU time of the process, s. */
static double
cpu_seconds(void)
{
	return (double) clock__cpu_us() / 1e6;
}

/* Count from zero, and with drives whose caches are cold. */
static void
reset(struct array *array)
{
	for (unsigned i = 0; i < array->settings.disks; i++)
		disk__reset(array->disks[i]);
	array->health = (struct array_health) {0};
	array->reset_at = now_ns();
	array->reset_cpu = cpu_seconds();
}

int
array__create(struct array **array, const struct array_settings *settings)
{
	struct array *made = calloc(1, sizeof(*made));
	int			err;

	if (made == NULL)
		return -ENOMEM;
	made->settings = *settings;
	made->phase = ARRAY_LOADING;
	for (unsigned i = 0; i < settings->disks; i++)
	{
		err = disk__create(&made->disks[i], settings->kind, settings->disk_bytes, i);
		if (err != 0)
			goto failed;
	}
	err = backing__open(&made->backing, settings->directory, settings->disks,
						settings->disk_bytes);
	if (err != 0)
		goto failed;
	reset(made);
	*array = made;
	return 0;

failed:
	array__destroy(made);
	return err;
}

void
array__destroy(struct array *array)
{
	if (array == NULL)
		return;
	backing__close(array->backing);
	for (unsigned i = 0; i < array->settings.disks; i++)
		disk__destroy(array->disks[i]);
	free(array);
}

/* Readable when array__advance has something to do before its time. */
int
array__poll_fd(const struct array *array)
{
	return backing__poll_fd(array->backing);
}

/* Count a request that is answered now, when the model wanted it to be done. */
static void
count_answer(struct array_health *health, const struct request *request, bool waited_for_data)
{
	uint64_t	late = now_ns() - request->done;

	health->modelled++;
	health->response_total += request->done - request->arrived;
	if (late > LATE)
	{
		health->late++;
		health->late_total += late;
		health->backing_slow += waited_for_data;
	}
	if (late > health->late_max)
		health->late_max = late;
}

/* Start a request; its fields up to `buffer`, and `done`, are set. */
void
array__start(struct array *array, struct transfer *transfer)
{
	struct request *request = &transfer->request;

	request->done = 0;
	transfer->error = 0;
	transfer->modelled = array->phase == ARRAY_LOADING;
	transfer->moved = request->kind == REQUEST_FLUSH;
	if (request->kind == REQUEST_READ && array->reads_to_fail > 0)
	{
		array->reads_to_fail--;
		transfer->error = EIO;
		transfer->moved = true;
	}
	if (!transfer->moved)
		backing__start(array->backing, transfer->disk, request->kind == REQUEST_WRITE,
					   transfer->buffer, request->length, request->offset, transfer);
	if (!transfer->modelled)
		disk__submit(array->disks[transfer->disk], request, now_ns());
	if (transfer->modelled && transfer->moved)
		transfer->done(transfer);
}

/* See which requests the backing files are done with. */
static void
reap_backing(struct array *array)
{
	void	   *token;
	int			result;

	while (backing__reap(array->backing, &token, &result))
	{
		struct transfer *transfer = token;

		if (result < 0)
			transfer->error = -result;
		else if ((uint32_t) result != transfer->request.length)
			transfer->error = EIO;
		transfer->moved = true;
		if (!transfer->modelled)
			continue;
		/* Without the model, there is no time at which it had to be done. */
		if (transfer->request.done != 0)
			count_answer(&array->health, &transfer->request, true);
		transfer->done(transfer);
	}
}

/* See which requests the models are done with. */
static void
reap_models(struct array *array)
{
	uint64_t	now = now_ns();

	for (unsigned i = 0; i < array->settings.disks; i++)
	{
		struct request *request;

		while ((request = disk__take(array->disks[i], now)) != NULL)
		{
			/* The request is the first field of its transfer. */
			struct transfer *transfer = (struct transfer *) request;

			transfer->modelled = true;
			if (!transfer->moved)
				continue;
			count_answer(&array->health, request, false);
			transfer->done(transfer);
		}
	}
}

/* Do all that is due. */
void
array__advance(struct array *array)
{
	backing__submit(array->backing);
	if (array->stalled_until > now_ns())
		return;
	array->stalled_until = 0;
	reap_backing(array);
	reap_models(array);
}

/*
 * How long array__advance need not be called unless its descriptor is readable
 * or a request comes, ns.  If *undisturbed is set, not even then: all disks are
 * busy until that time, so that it is enough to start new requests then.  To
 * wake up for each of them costs more CPU time than all the rest.
 */
uint64_t
array__wait_ns(const struct array *array, bool *undisturbed)
{
	uint64_t	due = NEVER;
	uint64_t	busy_until = NEVER;
	uint64_t	wait;
	uint64_t	now;

	for (unsigned i = 0; i < array->settings.disks; i++)
	{
		uint64_t	disk_due = disk__due(array->disks[i]);
		uint64_t	disk_busy = disk__busy_until(array->disks[i]);

		if (disk_due < due)
			due = disk_due;
		if (disk_busy < busy_until)
			busy_until = disk_busy;
	}
	*undisturbed = false;
	now = now_ns();
	if (array->stalled_until > now)
		return array->stalled_until - now;
	if (due == NEVER)
		return NEVER;
	wait = due > now ? due - now : 0;
	*undisturbed = array->phase == ARRAY_RUNNING && busy_until >= due && wait < UNDISTURBED;
	return wait;
}

/* Change the phase; a run starts with cold drives and counters at zero. */
void
array__set_phase(struct array *array, enum array_phase phase)
{
	array->phase = phase;
	if (phase == ARRAY_RUNNING)
		reset(array);
}

/* From now on, so many reads fail with EIO; 0 ends that. */
void
array__fail_reads(struct array *array, uint64_t reads)
{
	array->reads_to_fail = reads;
}

/* Answer no request for so long, ns; after that, all that are due. */
void
array__stall(struct array *array, uint64_t duration)
{
	array->stalled_until = now_ns() + duration;
}

static void
describe_disk(FILE *out, const struct disk *disk)
{
	const struct disk_counters *counters = disk__counters(disk);

	fprintf(out, "    {\"reads\": %lu, \"writes\": %lu, \"cache_hits\": %lu, "
			"\"destaged\": %lu, \"busy_seconds\": %.6f, "
			"\"seek_seconds\": %.6f, \"rotation_seconds\": %.6f, \"pending\": %u}",
			counters->reads, counters->writes, counters->cache_hits, counters->destaged,
			counters->busy / 1e9, counters->seek / 1e9,
			counters->rotation / 1e9, disk__pending(disk));
}

/* All counters as JSON, in base units; to be freed, NULL if there is no memory. */
char *
array__describe(const struct array *array)
{
	const struct array_health *health = &array->health;
	bool		healthy = (double) health->late_total <=
		(double) health->response_total * LATE_SHARE + LATE_ALLOWANCE;
	char	   *text = NULL;
	size_t		length;
	FILE	   *out = open_memstream(&text, &length);

	if (out == NULL)
		return NULL;
	fprintf(out, "{\n  \"model\": \"%s\", \"phase\": \"%s\", \"disks\": %u, \"disk_bytes\": %lu,\n",
			array->settings.kind == DISK_HDD ? "hdd" : "gp3",
			array->phase == ARRAY_LOADING ? "load" : "run",
			array->settings.disks, array->settings.disk_bytes);
	fprintf(out, "  \"seconds\": %.3f, \"cpu_seconds\": %.3f,\n",
			(double) (now_ns() - array->reset_at) / 1e9, cpu_seconds() - array->reset_cpu);
	fprintf(out, "  \"requests\": %lu, \"response_seconds\": %.6f, \"late\": %lu, "
			"\"late_seconds\": %.6f, \"late_max_seconds\": %.6f, "
			"\"backing_slow\": %lu, \"healthy\": %s,\n  \"disk\": [\n",
			health->modelled, (double) health->response_total / 1e9, health->late,
			(double) health->late_total / 1e9, (double) health->late_max / 1e9,
			health->backing_slow, healthy ? "true" : "false");
	for (unsigned i = 0; i < array->settings.disks; i++)
	{
		describe_disk(out, array->disks[i]);
		fputs(i + 1 < array->settings.disks ? ",\n" : "\n", out);
	}
	fputs("  ]\n}\n", out);
	if (fclose(out) != 0)
	{
		free(text);
		return NULL;
	}
	return text;
}

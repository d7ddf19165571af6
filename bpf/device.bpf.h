/*
 * device.bpf.h
 *		Requests that the devices below the data directory complete, by latency.
 *
 * Latency is what the device takes, from issue to completion; where only the
 * completion is seen, from when the kernel made the request, which may have
 * waited in a queue.  Of all processes: a device that is busy for others makes redo wait, too.
 */
#ifndef REDOAHEAD_BPF_DEVICE_H
#define REDOAHEAD_BPF_DEVICE_H

/* Operations of a request, in the low byte of its flags. */
#define OPERATION_MASK	0xff
#define OPERATION_READ	0
#define OPERATION_WRITE	1

/* Requests that may be on their way at once. */
#define MAX_REQUESTS	16384

/* What was read and written; user space looks at it. */
struct trace_device device_reads = {0};
struct trace_device device_writes = {0};

/* Whole disks to follow: the kernel's device number, 12 and 20 bits; the first 0 ends them. */
volatile __u32 disks[TRACE_DISKS] = {0};

/* When requests were handed to their devices, ns. */
struct
{
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, __u64);
	__type(value, __u64);
}			issued SEC(".maps");

/* Is a request of a disk that is followed? */
static __always_inline bool
is_followed(const void *request, const bool trusted)
{
	const struct gendisk___ra *disk;
	__u32		number;

	if (bpf_core_field_exists(struct request_queue___ra, disk))
	{
		const struct request___ra *rq = request;
		const struct request_queue___ra *queue = FIELD(trusted, rq, q);

		disk = FIELD(trusted, queue, disk);
	}
	else
	{
		const struct request___disk *rq = request;

		disk = FIELD(trusted, rq, rq_disk);
	}
	if (disk == NULL)
		return false;
	number = (__u32) FIELD(trusted, disk, major) << 20 | FIELD(trusted, disk, first_minor);
	for (int i = 0; i < TRACE_DISKS && disks[i] != 0; i++)
		if (disks[i] == number)
			return true;
	return false;
}

static __always_inline __u32
slot_of(__u64 ns)
{
	__u32		slot = 0;

	for (int shift = 32; shift > 0; shift >>= 1)
		if (ns >> shift != 0)
		{
			ns >>= shift;
			slot += shift;
		}
	return slot < TRACE_SLOTS ? slot : TRACE_SLOTS - 1;
}

static __always_inline void
count_request(struct trace_device *device, __u64 bytes, __u64 ns)
{
	__u32		slot = slot_of(ns);

	__sync_fetch_and_add(&device->requests, 1);
	__sync_fetch_and_add(&device->bytes, bytes);
	__sync_fetch_and_add(&device->busy_ns, ns);
	if (slot < TRACE_SLOTS)
		__sync_fetch_and_add(&device->slots[slot], 1);
}

/* A request is handed to its device. */
static __always_inline int
request_issued(const void *request, const bool trusted)
{
	__u64		key = (__u64) request;
	__u64		now_ns;

	if (!is_followed(request, trusted))
		return 0;
	now_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&issued, &key, &now_ns, BPF_ANY);
	return 0;
}

/* A request is done, or a part of it. */
static __always_inline int
request_completed(const void *request, __u64 bytes, const bool by_issue, const bool trusted)
{
	const struct request___ra *rq = request;
	__u64		key = (__u64) request;
	__u64		start_ns = 0;
	__u64		now_ns;
	__u32		operation;

	if (!is_followed(request, trusted))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (by_issue)
	{
		__u64	   *found = bpf_map_lookup_elem(&issued, &key);

		if (found == NULL)
			return 0;			/* it was issued before we came */
		start_ns = *found;
		bpf_map_delete_elem(&issued, &key);
	}
	else
	{
		start_ns = FIELD(trusted, rq, start_time_ns);
		if (start_ns == 0)
			return 0;			/* the device keeps no statistics */
	}
	operation = FIELD(trusted, rq, cmd_flags) & OPERATION_MASK;
	if (now_ns < start_ns)
		now_ns = start_ns;
	if (operation == OPERATION_READ)
		count_request(&device_reads, bytes, now_ns - start_ns);
	else if (operation == OPERATION_WRITE)
		count_request(&device_writes, bytes, now_ns - start_ns);
	return 0;
}

#endif							/* REDOAHEAD_BPF_DEVICE_H */

/*
 * device.bpf.h
 *		Requests that the devices of the cluster complete, by latency.
 *
 * Latency is from when the kernel made the request, which may have waited in a
 * queue, to completion.  The requests of all processes count: redo waits for a
 * device that is busy with others, too.
 */
#ifndef REDOAHEAD_BPF_DEVICE_H
#define REDOAHEAD_BPF_DEVICE_H

/* Operations of a request, in the low byte of its flags. */
#define OPERATION_MASK	0xff
#define OPERATION_READ	0
#define OPERATION_WRITE	1

/* What was read and written; read by user space. */
struct trace_device device_reads = {0};
struct trace_device device_writes = {0};

/* Whole disks to follow: the kernel's device number, 12 and 20 bits; the first 0 ends them. */
volatile __u32 disks[TRACE_DISKS] = {0};

/* Is a request of a disk that is followed? */
static __always_inline bool
is_followed(const void *request, const bool btf)
{
	const struct gendisk___ra *disk;
	__u32		number;

	if (bpf_core_field_exists(struct request_queue___ra, disk))
	{
		const struct request___ra *rq = request;
		const struct request_queue___ra *queue = FIELD(btf, rq, q);

		disk = FIELD(btf, queue, disk);
	}
	else
	{
		const struct request___disk *rq = request;

		disk = FIELD(btf, rq, rq_disk);
	}
	if (disk == NULL)
		return false;
	number = (__u32) FIELD(btf, disk, major) << 20 | FIELD(btf, disk, first_minor);
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
count_request(struct trace_device *device, __u64 bytes, __u64 start_ns, __u64 now_ns)
{
	__u64		ns = now_ns > start_ns ? now_ns - start_ns : 0;
	__u32		slot = slot_of(ns);

	__sync_fetch_and_add(&device->requests, 1);
	__sync_fetch_and_add(&device->bytes, bytes);
	if (start_ns == 0)
		return;					/* the device keeps no statistics */
	__sync_fetch_and_add(&device->busy_ns, ns);
	if (slot < TRACE_SLOTS)
		__sync_fetch_and_add(&device->slots[slot], 1);
}

/* A request, or a part of it, was completed. */
static __always_inline int
request_completed(const void *request, __u64 bytes, const bool btf)
{
	const struct request___ra *rq = request;
	__u64		start_ns;
	__u64		now_ns;
	__u32		operation;

	if (!is_followed(request, btf))
		return 0;
	now_ns = bpf_ktime_get_ns();
	start_ns = FIELD(btf, rq, start_time_ns);
	operation = FIELD(btf, rq, cmd_flags) & OPERATION_MASK;
	if (operation == OPERATION_READ)
		count_request(&device_reads, bytes, start_ns, now_ns);
	else if (operation == OPERATION_WRITE)
		count_request(&device_writes, bytes, start_ns, now_ns);
	return 0;
}

#endif							/* REDOAHEAD_BPF_DEVICE_H */

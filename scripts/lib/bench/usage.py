"""What processes, devices and the whole machine have used so far: CPU time, memory, requests."""
import contextlib
import os
import resource

from . import host


def device_io(path):
    """Reads completed, bytes read and bytes written so far by path's devices, or None."""
    counters = [disk_counters(sysfs) for sysfs in host.devices_below(path)]
    if not counters:
        return None
    return {'requests': sum(each[0] for each in counters),
            'bytes': sum(each[1] for each in counters),
            'written_bytes': sum(each[2] for each in counters)}


def disk_counters(sysfs):
    """Reads completed, bytes read and bytes written so far by a block device."""
    with open(f'{sysfs}/stat', encoding='ascii') as file:
        fields = file.read().split()
    return int(fields[0]), int(fields[2]) * 512, int(fields[6]) * 512


def disk_in_flight(sysfs):
    """Reads that a block device is working on now."""
    with open(f'{sysfs}/inflight', encoding='ascii') as file:
        return int(file.read().split()[0])


def stat_fields(pid):
    """What /proc/PID/stat has after the name: state, parent, ..."""
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
        return file.read().rpartition(')')[2].split()


def process_cpu_seconds(pid):
    """User and system time of a process with all its threads, seconds."""
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def machine_cpu_seconds():
    """CPU time that all processes and the kernel have used, seconds."""
    user, nice, system, _, _, irq, softirq = map(int, host.first_line('/proc/stat', 'cpu ').split()[:7])
    return (user + nice + system + irq + softirq) / os.sysconf('SC_CLK_TCK')


class Steal:
    """The share of the wanted CPU time that the host gives to others, from now on: 0 to 1."""

    def __init__(self):
        self.begun = self.read()

    @staticmethod
    def read():
        """Time that was stolen, and that and the time of work, of all CPUs, clock ticks."""
        user, nice, system, _, _, irq, softirq, stolen = map(int, host.first_line('/proc/stat', 'cpu ').split()[:8])
        return stolen, user + nice + system + irq + softirq + stolen

    def share(self):
        stolen, wanted = (now - before for now, before in zip(self.read(), self.begun))
        return stolen / wanted if wanted else 0.0


def waited_for_ticks(pid):
    """CPU time of the children that a process has waited for, clock ticks."""
    fields = stat_fields(pid)
    return int(fields[13]) + int(fields[14])


def cpu_seconds_of_ended_children():
    """CPU time of our children that have ended, and of those that they waited for, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds_of_children(pid):
    """User and system time of all children that a process has and had, seconds."""
    while True:
        before = ticks = waited_for_ticks(pid)
        for name in os.listdir('/proc'):
            with contextlib.suppress(OSError, ValueError):  # it goes meanwhile, or is no process
                fields = stat_fields(int(name))
                if int(fields[1]) == pid:
                    ticks += int(fields[11]) + int(fields[12])
        # One that was waited for meanwhile is counted twice, or not at all.
        if waited_for_ticks(pid) == before:
            return ticks / os.sysconf('SC_CLK_TCK')


def device_bytes_with_children(pid):
    """Bytes that a process and its children, also those it waited for, made devices read."""
    found = process_device_bytes(pid) or 0
    for name in os.listdir('/proc'):
        with contextlib.suppress(OSError, ValueError):      # it goes meanwhile, or is no process
            if int(stat_fields(int(name))[1]) == pid:
                found += process_device_bytes(int(name)) or 0
    return found


def process_major_faults(pid):
    """Page faults of a process for which a device was read."""
    return int(stat_fields(pid)[9])


def process_schedule_seconds(pid):
    """CPU time of a process's first thread, seconds to the nanosecond; None if it has gone."""
    text = host.first_line(f'/proc/{pid}/schedstat')
    if text is None and os.path.exists('/proc/self/schedstat'):
        return None
    if text is None or text.startswith('0 '):
        raise host.HostError(f'the kernel reports no CPU time in /proc/{pid}/schedstat; it needs '
                        'CONFIG_SCHED_INFO')
    return int(text.split()[0]) / 1e9


def process_peak_rss(pid):
    """Most resident memory of a process so far, bytes, or None."""
    text = host.first_line(f'/proc/{pid}/status', 'VmHWM')
    return int(text.split()[0]) * 1024 if text else None


def process_device_bytes(pid):
    """Bytes that a process made the devices read, or None if it has gone."""
    text = host.first_line(f'/proc/{pid}/io', 'read_bytes')
    return int(text) if text else None

"""Clusters, crashes and timed recoveries, for the benchmarks and the demo.

Rooms, each knowing only those above it:

    host      what machine this is; caches, devices, free space
    cgroup    a memory limit for servers and daemons
    postgres  installed servers, running servers, the user that runs them
    workload  what is in the WAL, and how a cluster is made to hold it
    dbt2      one such workload
    image     crashed clusters, made once and kept
    device    what an image is recovered on: a directory, or an array of modelled disks
    config    which server recovers, with which settings, with or without daemon
    recovery  one timed recovery: what was measured
    trace     what happened in the course of a recovery
    report    medians, ratios, tables, JSON
    compare   do two clusters hold the same data?
    loop      a file system on a device that nobody else uses
    syscalls  what a server's processes read and wrote, as system calls (strace)
    waits     what made redo's reads wait (scripts/bt/redo-waits.bt)
    evidence  one recovery with all that the kernel and the server tell of its reads
    validate  does `redoahead trace` agree with that?
    suite     the runs of a long benchmark: order, time left, resuming
    versus    two results side by side
    plot      pictures of a result
    s2        a published measurement: its cases, and s2_report its table
"""

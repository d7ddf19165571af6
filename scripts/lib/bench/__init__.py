"""Clusters, crashes and timed recoveries, for the benchmarks and the demo.

The main modules, each knowing only those above it:

    host      what machine this is; caches, devices, free space
    memory    free memory that the host of a virtual machine has taken back
    cgroup    a memory limit for servers and daemons
    postgres  installed servers, running servers, the user that runs them
    workload  what is in the WAL, and how a cluster is made to hold it
    dbt2      one such workload
    image     crashed clusters, made once and kept
    device    what an image is recovered on: a directory, or an array of modelled disks
    config    which server recovers, with which settings, with or without daemon
    timeleft  how good was the time left that a daemon showed?
    recovery  one timed recovery: what was measured
    wal_sender  WAL without a primary, for a standby
    trace     what happened in the course of a recovery
    standby   a hot standby that serves queries while it replays
    compare   do two clusters hold the same data?
    loop      a file system on a device that nobody else uses
    syscalls  what a server's processes read and wrote, as system calls (strace)
    evidence  one recovery with all that the kernel and the server report of its reads
    validate  does `redoahead trace` agree with that?
    scenario  what a scenario declares: parts, measures, comparisons
    results   JSON lines: a header, then a line for each run
    runner    case by configuration by round: order, time left, resuming
    recoveries  parts of scenarios that recover an image
    report    medians, paired ratios, Markdown
    plot      pictures of a result (matplotlib)
    scenarios the scenarios, a small module each
    command   the command line, scripts/bench
"""

"""Clusters, crashes and timed recoveries, for the benchmarks and the demo.

Rooms, each knowing only those above it:

    host      what machine this is; caches, devices, free space
    postgres  installed servers, running servers, the user that runs them
    workload  what is in the WAL, and how a cluster is made to hold it
    image     crashed clusters, made once and kept
    config    which server recovers, with which settings, with or without daemon
    recovery  one timed recovery: what was measured
    report    medians, ratios, tables, JSON
    compare   do two clusters hold the same data?
"""

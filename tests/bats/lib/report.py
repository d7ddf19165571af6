"""Status documents for the report: a recovery as it may be, and what is hostile.

usage: report.py NAME           a document
       report.py --text PAGE    a page's text: a line for each block or row, parts separated by " | "
"""
import html.parser
import json
import math
import random
import sys

GB = 1 << 30
HOSTILE = "</title><script>alert(1)</script><img src=http://192.0.2.1/ onerror=alert(2)>\"'&\u202e" + "x" * 200


def crash(samples=240, seconds=486.0, end_source="scan"):
    """A crash recovery of 40 GB: a ramp-up, a slow part, a checkpoint at the end."""
    chance = random.Random(7)
    total = 40 * GB
    redo = seconds * 0.88
    interval = seconds / samples
    speed = [max(0.05, (1.4 if i < samples * 0.45 or i > samples * 0.6 else 0.5) + chance.gauss(0, 0.12))
             for i in range(samples)]
    inside = [i for i in range(samples) if (i + 1) * interval <= redo]
    whole = sum(speed[i] for i in inside)
    history = {name: [] for name in ("elapsed_seconds", "replayed_bytes", "bytes_per_second",
                                     "blocks_in_flight", "coverage", "time_left_seconds")}
    done = 0.0
    for i in range(samples):
        elapsed = (i + 1) * interval
        part = speed[i] / whole if i in inside else 0
        done = min(1.0, done + part)
        rate = done / elapsed
        history["elapsed_seconds"].append(round(elapsed, 3))
        history["replayed_bytes"].append(round(total * done))
        history["bytes_per_second"].append(total * part / interval)
        history["blocks_in_flight"].append(round(min(512, 2 ** (3 + i / 4)) * (0.7 + 0.3 * chance.random())) if part else 0)
        history["coverage"].append(None if i < 2 else 0.9 + 0.095 * min(1, i / 40))
        history["time_left_seconds"].append(None if i < 4 else (1 - done) / rate * (1 + chance.gauss(0, 0.03)))
    counters = {
        "refs_taken": 5312876, "refs_implied": 31288, "refs_dropped": 0, "refs_out_of_order": 12,
        "refs_duplicate": 1093312, "sweeps": 4211, "blocks_stale": 20112, "requests": 1511223,
        "requests_joined": 503112, "blocks_requested": 4099120, "blocks_read": 4098900,
        "blocks_resident": 0, "blocks_revalidated": 120, "blocks_reread": 4, "blocks_released": 0,
        "wal_blocks_read": 5242880, "blocks_abandoned": 0, "blocks_in_flight_max": 512,
        "files_opened": 803, "files_evicted": 0, "files_dropped": 2, "sleeps": 310, "blocks_failed": 220,
        "blocks_failed_by_reason": {"missing_file": 220, "beyond_eof": 0, "io_error": 0},
        "refs_invalid": 0, "refs_invalid_by_reason": {"kind": 0, "fork": 0},
        "latency_seconds": 12309.5, "cpu_seconds": 61.2, "elapsed_seconds": seconds}
    return {
        "version": 1, "program_version": "0.1", "command": "serve", "pid": 4711, "time": 1764061690.0,
        "data_directory": "/var/lib/postgresql/18/main", "server_major": 18, "backend": "io_uring",
        "phase": "waiting", "recoveries": 1, "recovery": None, "total": counters,
        "last_recovery": {
            "begin_time": 1764061200.25, "elapsed_seconds": seconds, "redo_start_lsn": "12/1000028",
            "replay_lsn": "1C/1000028", "decode_lsn": "1C/1000028", "end_lsn": "1C/1000028",
            "end_source": end_source, "replayed_bytes": total, "remaining_bytes": 0, "progress": 1.0,
            "bytes_per_second": 0, "mean_bytes_per_second": total / redo,
            "stalled_seconds": seconds - redo, "limit": "checkpoint",
            "limit_seconds": {"cpu": 251.5, "device_latency": 92.1, "device_throughput": 61.0, "wal_supply": 0.9,
                              "pause_or_delay": 1.4, "lock_conflict": 2.2, "checkpoint": seconds - redo},
            "coverage": 0.993, "counters": counters, "history": dict(history, interval_seconds=interval)}}


def hostile():
    """Markup, control characters and numbers beyond belief wherever there may be any."""
    document = crash(12, 60.0)
    recovery = document["last_recovery"]
    for part in (document, recovery):
        for name in ("data_directory", "program_version", "command", "backend", "replay_lsn", "end_lsn",
                     "redo_start_lsn", "end_source", "limit"):
            if name in part:
                part[name] = HOSTILE
    recovery["limit_seconds"] = {HOSTILE: 3.0, "cpu": math.nan, "checkpoint": -1, "wal_supply": "1", "a\x01b": 1e300,
                                 "</style><script>alert(3)</script>": 0.001}
    recovery["counters"] = {HOSTILE: 1, "refs_taken": -5, "requests": 1e308, "sweeps": [], "blocks_read": math.inf,
                            "by_reason": {HOSTILE: 2, "": None}, "latency_seconds": HOSTILE}
    history = recovery["history"]
    history["replayed_bytes"] = [None, math.nan, -1, 1e300, "7", {}, [], 5, None, 7, 8, 1e17]
    history["bytes_per_second"] = [math.inf] * 12
    history["blocks_in_flight"] = [3]
    history["coverage"] = [0.5, 7.0, -2.0] + [None] * 400
    history["elapsed_seconds"][6] = None
    recovery["mean_bytes_per_second"] = math.nan
    return document


def empty():
    """A recovery of which nothing is known."""
    return {"last_recovery": {}, "recovery": None}


def short():
    """A recovery that took 4 ms, with one sample."""
    document = crash(1, 0.004)
    recovery = document["last_recovery"]
    recovery["history"] = {"interval_seconds": 0.5, "elapsed_seconds": [0.001], "replayed_bytes": [100], "bytes_per_second": [0],
                           "blocks_in_flight": [0], "coverage": [None], "time_left_seconds": [None]}
    recovery["limit_seconds"] = {"cpu": 0.004}
    return document


def no_samples():
    """Arrays without elements."""
    document = crash()
    for name, values in document["last_recovery"]["history"].items():
        if isinstance(values, list):
            values.clear()
    return document


def streaming():
    """A standby of many days, which was promoted."""
    return crash(240, 9.5 * 86400, "received")


NAMES = {"crash": crash, "hostile": hostile, "empty": empty, "short": short, "no-samples": no_samples,
         "streaming": streaming}

class Text(html.parser.HTMLParser):
    """Collects the text of a page."""

    LINES = {"h1", "h2", "h3", "p", "tr", "div", "section", "svg", "rect", "summary"}

    def __init__(self):
        super().__init__()
        self.lines = [[]]

    def handle_starttag(self, tag, attrs):
        if tag in self.LINES:
            self.lines.append([])

    def handle_endtag(self, tag):
        self.handle_starttag(tag, [])

    def handle_data(self, data):
        if data.strip():
            self.lines[-1].append(" ".join(data.split()))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--text":
        text = Text()
        with open(sys.argv[2], encoding="utf-8") as page:
            text.feed(page.read())
        for line in text.lines:
            if line:
                print(" | ".join(line))
    elif len(sys.argv) == 2 and sys.argv[1] in NAMES:
        json.dump(NAMES[sys.argv[1]](), sys.stdout)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

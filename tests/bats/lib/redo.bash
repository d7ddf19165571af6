# Redo that is stopped, so that tests find other processes where they should be, however soon
# those get a CPU.  Loaded by lib/servers.

# Start a server, and stop its startup process as soon as a log has a line, so that the
# status can be read in peace.
start_server_and_stop_redo() {	# SERVER DATA LOG TEXT
	local stopper
	begin_stopper "${@:2}"
	start_server --no-wait "$1" "$2" || { kill "$stopper"; return 1; }
	wait "$stopper"
}

# Its first half: a process, $stopper, that stops redo at the line.  On a busy machine, redo may
# come to that before Python has started.
begin_stopper() {			# DATA LOG TEXT
	rm -f "$1.stopper"
	stop_startup "$@" 3>&- &
	stopper=$!
	wait_until "what stops redo" test -e "$1.stopper"
}

# One process, and before others where that is allowed, for redo may be over soon.
stop_startup() {			# DATA LOG TEXT
	timeout "$patience" /usr/bin/python3 -ISB -c '
import contextlib, os, signal, sys, time

with contextlib.suppress(OSError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

def startup(data):
    with open(data + "/postmaster.pid") as file:
        postmaster = file.readline().strip()
    with open(f"/proc/{postmaster}/task/{postmaster}/children") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/cmdline") as title:
                if title.read().startswith("postgres: startup"):
                    return int(child)
    raise FileNotFoundError

def stop(data, log, text):
    with open(log) as file:
        if text in file.read():
            os.kill(startup(data), signal.SIGSTOP)
            return True
    return False

open(sys.argv[1] + ".stopper", "w").close()
while True:
    try:
        if stop(*sys.argv[1:]):
            break
    except OSError:
        pass
    time.sleep(0.001)' "$@" || { echo "no startup process, or $2 has no \"$3\", after $patience s" >&2; return 1; }
}

# Let a stopped process go on for a moment: until it has run for 10 ms, or, if it waits for
# something, for 50 ms.  One process, and before others where that is allowed, for a shell may get
# no CPU before it stops the process again.
go_on() {					# PROCESS
	/usr/bin/python3 -ISB -c '
import contextlib, os, signal, sys, time

with contextlib.suppress(OSError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

def ran():
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0])

pid = int(sys.argv[1])
before = ran()
os.kill(pid, signal.SIGCONT)
# A process that has ended does not run any more.
end = time.monotonic() + 10
while ran() == before and time.monotonic() < end:
    time.sleep(0.001)
end = time.monotonic() + 0.05
while ran() < before + 10000000 and time.monotonic() < end:
    time.sleep(0.001)
os.kill(pid, signal.SIGSTOP)' "$1"
}

# Does a command succeed?  If not, let redo, which is stopped, go on for a moment; but only
# once the daemon's main thread has waited since the last one, or redo would be over before that.
goes_on_unless() {			# STARTUP-PROCESS COMMAND...
	local waited
	"${@:2}" && return
	waited=$(times_waited "${DAEMON:-}")
	if [ -z "$waited" ] || [ "$waited" != "${last_waited:-}" ]; then
		go_on "$1"
		last_waited=$(times_waited "${DAEMON:-}")
	fi
	return 1
}

# The status document of a daemon, as $CASE/status.  The server's user may not be able to read
# the client.
read_status() {				# DATA
	as_server_user /usr/bin/python3 - read "$1/pg_stat_tmp/redoahead-status.sock" \
		<"$redoahead_root/tests/bats/lib/status_client.py" >"$CASE/status" 2>/dev/null
}

# Has the daemon read so many blocks by now?  Its statistics are written once a second.
has_read_by_now() {			# DATA BLOCKS
	read_status "$1" &&
		[ "$(json_member "$CASE/status" recovery counters blocks_read)" -ge "$2" ] 2>/dev/null
}

# Has the daemon read so many blocks ahead of redo, which is stopped?  It may read none before
# it knows where redo is.
reads_ahead() {				# DATA BLOCKS
	goes_on_unless "$(startup_pid "$1")" has_read_by_now "$@"
}

# Start a server, and let redo go on for moments only until a command succeeds.  The startup
# process, $startup, is stopped then.
start_server_and_hold_redo() {	# SERVER DATA COMMAND...
	start_server_and_stop_redo "$1" "$2" "$2.log" 'redo starts at' || return
	startup=$(startup_pid "$2")
	wait_until "redo: ${*:3}" goes_on_unless "$startup" "${@:3}" || return
	wait_until "the stop" is_stopped "$startup"
}

# Let redo, which is held so, go on until the server's log has a line, and stop it again.
let_redo_go_on_to() {		# DATA TEXT
	local stopper
	! grep -qF "$2" "$1.log" || return 0
	begin_stopper "$1" "$1.log" "$2"
	kill -CONT "$startup"
	wait "$stopper"
}

# Let redo, which is held so, end, and stop the server.
end_held_recovery() {		# DATA
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$1"
	stop_server "$1"
}

# Recover with a daemon, which has read so many blocks before redo goes on.
recover_behind_daemon() {	# DATA BLOCKS
	start_server_and_hold_redo "$PATCHED" "$1" has_read_by_now "$@"
	end_held_recovery "$1"
}

# PostgreSQL 19 cannot end recovery while the checkpointer is stopped: each process must
# notice whether logical decoding is on.  Let the checkpointer do that while the startup
# process is stopped, and stop it again, so that it begins no checkpoint.
end_recovery_without() {	# DATA CHECKPOINTER
	local startup switches
	[ "$pg_major" -ge 19 ] || return 0
	wait_until "the wait for the checkpointer" grep -q "still waiting for backend with PID $2 to accept" "$1.log"
	startup=$(startup_pid "$1")
	kill -STOP "$startup"
	wait_until "the stop" is_stopped "$startup"
	switches=$(times_waited "$2")
	kill -CONT "$2"
	wait_until "the checkpointer" has_waited "$2" "$switches"
	kill -STOP "$2"
	wait_until "the stop" is_stopped "$2"
	kill -CONT "$startup"
}

# Wait until the daemon, if there is one, has run since now: it waits for something once a second
# at least.
let_daemon_run() {
	local waited
	waited=$(times_waited "${DAEMON:-}") || return 0
	wait_until "the daemon" has_run "$waited"
}
has_run() { is_gone "$DAEMON" || has_waited "$DAEMON" "$1"; }		# TIMES-WAITED

# How often a process has waited for something; nothing if it has gone.
times_waited() { sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$1/status" 2>/dev/null; }
has_waited() { [ "$(times_waited "$1")" -gt "$2" ]; }

# What all black box tests share: waiting for conditions, processes, the page
# cache, and Python with the scripts' modules.  It tests nothing by itself.

umask 022				# the servers' user reads much of what root makes

patience=${REDOAHEAD_TEST_PATIENCE:-60}				# seconds until a condition counts as never met
long_patience=$((patience * 5))						# with what the machine does meanwhile

# Put before a command that must run when it wants to, however busy the machine is; empty where
# that is not allowed.
realtime=()
! chrt -f 1 true 2>/dev/null || realtime=(chrt -f 1)

# Run a command without bats' trap for each command in it, which takes a hundred times what
# a short one does itself.  Where it fails, bats shows the line that called this.
untraced() {				# COMMAND...
	local result=0 traced=
	[[ $- != *T* ]] || traced=yes
	set +T
	"$@" || result=$?
	[ -z "$traced" ] || set -T
	return "$result"
}

# Wait until a command succeeds, which is tried every 20 ms at first, then more seldom, for
# other tests need the CPUs.
wait_until() { untraced try_until "$@"; }		# WHAT COMMAND...

# Pauses are counted, because time also passes while a virtual machine is suspended; and
# seconds, at most ten for each try, because a command may take long itself.  No process
# substitution here: it sets $!, and bash 5.2 can wait for such a process for ever once it
# has ended.
try_until() {				# WHAT COMMAND...
	local what=$1 left=$((patience * 2000)) seconds_left=$long_patience tried_at=$SECONDS took pause=20
	shift
	until "$@" >/dev/null 2>&1; do
		took=$((SECONDS - tried_at))
		tried_at=$SECONDS
		if [ $((left -= pause)) -le 0 ] || [ $((seconds_left -= took < 10 ? took : 10)) -le 0 ]; then
			echo "waited in vain for $what" >&2
			return 1
		fi
		sleep "0.0$pause"
		pause=$((pause < 80 ? pause + 5 : 80))
	done
}

is_gone() { [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# A command must fail, but not because it cannot be run, and grep not because it cannot read.
# bats takes no notice of a command that begins with `!` and does not fail.
no() {						# COMMAND...
	local result=0
	"$@" || result=$?
	if [ "$result" -eq 0 ]; then
		echo "this should have failed: $*" >&2
		return 1
	elif [[ $result == 12[67] || $1 == grep && $result != 1 ]]; then
		echo "this could not be run, it ended with status $result: $*" >&2
		return 1
	fi
}

# Why no BPF program can be loaded here; nothing if one can.
why_no_bpf() {
	if [ "$(id -u)" -ne 0 ]; then
		echo "needs root"
	elif ! bpftool feature probe kernel 2>/dev/null | grep -q 'program_type raw_tracepoint is available'; then
		echo "the kernel allows no BPF programs"
	fi
}

# Remove files, or all files of a directory, and nothing else, from the page cache.
evict() {					# FILE|DIRECTORY...
	find -L "$@" -type f -print0 | /usr/bin/python3 -IS -c '
import os, sys
for path in sys.stdin.buffer.read().split(b"\0")[:-1]:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)'
}

# A program from standard input, with the scripts' modules.
python() {					# [ARGUMENT...]
	PYTHONPATH=$BATS_TEST_DIRNAME/../../scripts/lib PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 - "$@"
}

# A member of a JSON file, by the names and numbers that lead to it.
json_member() {				# FILE KEY...
	/usr/bin/python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value[int(key) if key.isdigit() else key]
print(value)' "$@"
}

# Skip where no process can be traced.
need_strace() {
	command -v strace >/dev/null || skip "strace is missing; install it"
	strace -o /dev/null true 2>/dev/null || skip "no process can be traced here"
}

# Skip where no such namespace can be made, in a chroot for example.
need_namespace() {			# OPTION-OF-UNSHARE...
	local reason
	reason=$(unshare "$@" true 2>&1) || skip "no namespace can be made by $*: ${reason#unshare: }"
}

# Can the kernel report what is in the page cache?
has_cachestat() {
	/usr/bin/python3 -IS -c '
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
raise SystemExit(libc.syscall(451, -1, None, None, 0) < 0 and ctypes.get_errno() == errno.ENOSYS)'
}

need_cachestat() { has_cachestat || skip "the kernel has no cachestat, which Linux has since 6.5"; }

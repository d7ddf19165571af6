#!/usr/bin/env bats
# What `make install` installs and `make uninstall` removes, the bash completion, and
# what bootstrap does where apt is at work already.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

setup() {
	top=$BATS_TEST_DIRNAME/../..
	redoahead=$top/build/redoahead
	work=$BATS_TEST_TMPDIR
}

commands() { "$redoahead" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'; }

# What completion offers for the last of these words, sorted, in bash without anybody's settings.
offers() {					# WORD...
	bash --noprofile --norc -c '
		compopt() { :; }		# works only while bash itself completes
		. "$1"
		COMP_WORDS=(redoahead "${@:3}") COMP_CWORD=$(($# - 2))
		_redoahead "$2"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$top/scripts/completion/redoahead" "$redoahead" "$@" | sort
}

# Lost otherwise: files in a package that the file system of the build machine gets, or
# a service that starts another program than the one that was installed.
@test "install puts everything below DESTDIR and prefix, and uninstall removes it" {
	local unit page
	make -s -C "$top" install DESTDIR="$work/root" prefix=/opt/redoahead
	[ -x "$work/root/opt/redoahead/bin/redoahead" ]
	for page in "$top"/userspace/*.[1-8]; do
		cmp "$page" "$work/root/opt/redoahead/share/man/man${page##*.}/${page##*/}"
	done
	for unit in "$top"/scripts/systemd/*.service; do
		grep -q 'ExecStart=/opt/redoahead/libexec/redoahead/run-unit' "$work/root/opt/redoahead/lib/systemd/system/${unit##*/}"
	done
	grep -q 'exec /opt/redoahead/bin/redoahead' "$work/root/opt/redoahead/libexec/redoahead/run-unit"
	no grep -rE '/usr/(bin|libexec)/redoahead' "$work"/root/opt/redoahead/lib*
	[ "$(find "$work/root" -type f -not -path '*/opt/redoahead/*' | wc -l)" -eq 0 ]
	make -s -C "$top" uninstall DESTDIR="$work/root" prefix=/opt/redoahead
	[ -z "$(find "$work/root" -not -type d)" ]
	[ -z "$(find "$work/root/opt/redoahead" -mindepth 1 -name redoahead)" ]
}

# Lost otherwise: a program that is half of other flags, or has code of a source that is gone.
@test "make compiles again with other flags, and links again after a source is gone" {
	run -0 make -q -C "$top" build/redoahead
	run -1 make -q -C "$top" build/redoahead CFLAGS='-O2 -g -DOTHER'
	run -1 make -q -C "$top" build/redoahead SOURCES=userspace/main.c
}

# Lost otherwise: `make check` on a machine that has just booted.
@test "bootstrap waits for another apt, but for no other error" {
	local name
	mkdir "$work/bin"
	printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
	printf '#!/bin/sh\n' | tee "$work/bin/dpkg-query" >"$work/bin/sleep"
	# The first call fails by a lock, the third one by something else.
	cat >"$work/bin/apt-get" <<-'SH'
		#!/bin/sh
		echo "$2" >>"${0%/*}/../calls"
		case $(wc -l <"${0%/*}/../calls") in
			1) echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)'; exit 100 ;;
			3) echo 'E: Unable to locate package'; exit 100 ;;
		esac
	SH
	chmod +x "$work"/bin/*
	PATH=$work/bin:$PATH run -1 "$top/scripts/bootstrap"
	[[ $output == *"waiting for another apt"*"Unable to locate package"*"apt-get failed"* ]]
	[ "$(paste -sd ' ' "$work/calls")" = "update update install" ]
}

@test "completion offers the commands" {
	diff <({ commands; printf '%s\n' --help --version; } | sort) <(offers '')
}

# Lost otherwise: options of --help that completion does not know, and those that are gone.
@test "completion offers the options of each command, and no others" {
	local command
	for command in $(commands); do
		"$redoahead" "$command" --help | /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/docs.py" help |
			sed -E 's/^(-. )?(--[a-z-]+(=)?).*/\2/' | sort >"$work/help"
		[ -s "$work/help" ]
		diff "$work/help" <(offers "$command" --)
	done
}

@test "completion offers the values of an option that takes one of some words" {
	diff <(printf '%s\n' auto fadvise io_uring) <(offers serve --backend '=')
	diff <(printf '%s\n' auto fadvise io_uring) <(offers serve --backend '')
	[ "$(offers serve --backend = io)" = io_uring ]
	diff <(printf '%s\n' lz4 none zstd) <(offers lesslog --compress '=')
	[ -z "$(offers serve --io-depth = '')" ]
	[ -z "$(offers frobnicate --)" ]
}

@test "completion offers directories and files where an option takes one" {
	mkdir -p "$work/files/directory"
	touch "$work/files/file"
	[ "$(offers serve -D "$work/files/")" = "$work/files/directory" ]
	[ "$(offers serve --stats = "$work/files/")" = "$work/files/directory"$'\n'"$work/files/file" ]
}

# Lost otherwise: what only a terminal shows, such as a word that bash splits at = and
# a space behind an option that wants a value.
@test "Tab completes in an interactive bash" {
	mkdir -p "$work/bin" "$work/data"
	ln -s "$(readlink -f "$redoahead")" "$work/bin/redoahead"
	PATH=$work/bin:$PATH /usr/bin/python3 - "$top/scripts/completion/redoahead" "$work" <<-'EOF'
	import os, pty, re, select, shlex, sys

	pid, terminal = pty.fork()
	if pid == 0:
	    os.environ.update(TERM='dumb', PS1='', INPUTRC='/dev/null', HISTFILE='/dev/null')
	    os.execlp('bash', 'bash', '--noprofile', '--norc', '-i')

	def until(pattern):
	    text = ''
	    while not re.search(pattern, text):
	        if not select.select([terminal], [], [], 30)[0]:
	            sys.exit(f'waited in vain for {pattern} after {text!r}')
	        text += os.read(terminal, 4096).decode()

	def typed(keys, pattern):
	    os.write(terminal, keys.encode())
	    until(pattern)
	    os.write(terminal, b'\x15')

	completion, place = map(shlex.quote, sys.argv[1:])
	os.write(terminal, f'. {completion}; cd {place}; stty cols 200; echo rea""dy\n'.encode())
	until('ready')
	typed('redoahead ser\t--back\tf\t-D da\t', r'redoahead serve --backend=fadvise -D data/')
	typed('redoahead serve --files\t7', r'redoahead serve --files=7')
	os.write(terminal, b'exit\n')
	os.waitpid(pid, 0)
	EOF
}

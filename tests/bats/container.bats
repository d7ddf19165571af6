#!/usr/bin/env bats
# The Dockerfile of the sidecar, by the rules that hadolint has for what it uses.  Its steps
# are run by tests/packages.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

setup() {
	top=$BATS_TEST_DIRNAME/../..
	directory=$top/scripts/container
	# One instruction a line.
	sed -e '/^#/d' -e :a -e '/\\$/N; s/\\\n//; ta' "$directory/Dockerfile" | grep . >"$BATS_TEST_TMPDIR/steps"
	steps=$BATS_TEST_TMPDIR/steps
}

# Lost otherwise: another base from one day to the next, and lists of packages in the image.
@test "images are named with a tag, and packages are installed without recommendations or left lists" {
	local line
	no grep -E '^FROM [^:]+( |$)|^FROM .*:latest' "$steps"
	[ "$(grep -c '^RUN' "$steps")" -ge 2 ]
	while read -r line; do
		[[ $line != *"apt-get "* || $line == *"apt-get update && "*"rm -rf /var/lib/apt/lists/*"* ]]
		[[ ! $line =~ apt-get\ (install|build-dep) || $line == *"-y --no-install-recommends"* ]]
		no grep -E 'sudo|apt (install|update)|&& cd ' <<<"$line"
	done < <(grep '^RUN' "$steps")
}

# Lost otherwise: a sidecar that runs as root, or that no signal reaches.
@test "the image runs the program itself, as a user by number" {
	[[ $(grep -E '^(USER|ENTRYPOINT|CMD)' "$steps" | tail -n 3) == 'USER ${UID}:${GID}'$'\n''ENTRYPOINT ["redoahead"]'$'\n''CMD ["follow"]' ]]
	grep -q '^ARG UID=[1-9][0-9]*$' "$steps"
	no grep -E '^ADD ' "$steps"
}

@test "what the build does not need stays out of its context" {
	diff - "$directory/Dockerfile.dockerignore" <<-'LIST'
		.git
		build
	LIST
	# The script that it runs is there.
	[ -x "$top/$(grep -oE '[a-z/]+/build-deb' "$steps" | head -n 1)" ]
}

# Lost otherwise: a seccomp profile that lacks a call of those that liburing makes.
@test "README names the calls of io_uring, and the message that is logged without them" {
	local call
	for call in io_uring_setup io_uring_enter io_uring_register; do
		grep -q "\`$call\`" "$directory/README.md"
	done
	grep -q 'io_uring cannot be used' "$directory/README.md"
	grep -q '"io_uring cannot be used' "$top/userspace/engine/setup.c"
}

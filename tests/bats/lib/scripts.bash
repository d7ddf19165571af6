# What the tests of benchmark scripts share: a directory of its own for each, and
# Python with the scripts' modules.  It tests nothing by itself.

setup() {
	scripts=$BATS_TEST_DIRNAME/../../scripts
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/redoahead-scripts.XXXXXX")
	chmod 755 "$work"
}

teardown() {
	rm -rf "$work"
}

# The program comes from standard input.
python() {					# [ARGUMENT...]
	PYTHONPATH=$scripts/lib PYTHONDONTWRITEBYTECODE=1 python3 - "$@"
}

# The same with a script's functions in `tool`: all of it but the line that runs it.
python_with() {				# SCRIPT
	python 3<&0 "$scripts/$1" <<-'EOF'
	import os, sys
	path = sys.argv[1]
	run = f"script.run_main('{os.path.basename(path)}', main)"
	source = open(path, encoding='utf-8').read()
	assert source.count(run) == 1, path
	tool = {'__file__': path, '__name__': 'tool'}
	exec(compile(source.replace(run, ''), path, 'exec'), tool)
	exec(open(3, encoding='utf-8').read())
	EOF
}

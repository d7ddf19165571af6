"""python3 -m bench: the same as scripts/bench."""
from . import command, script

script.run_main('bench', command.main)

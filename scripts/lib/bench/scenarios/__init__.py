"""The scenarios, each in a module of its own that defines SCENARIO."""
import importlib

# Names of the modules, in the order of the help.
NAMES = ('prefetch', 'memory', 'standby', 'pitr', 'trace', 's1', 's2', 's3', 's4', 's5', 'lesslog', 'decode',
         'fpi', 'fpi_servers', 'compactify', 'disks')


def find(name):
    """A scenario by its name; fpi-servers is in fpi_servers.py."""
    return importlib.import_module(f'{__name__}.{name.replace("-", "_")}').SCENARIO


def names():
    return [name.replace('_', '-') for name in NAMES]

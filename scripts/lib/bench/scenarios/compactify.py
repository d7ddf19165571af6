"""PageRepairFragmentation and the functions that delete index tuples.

Stock's functions, and the patched ones with each set of instructions that this CPU has, take
turns on the same pages: pages as redo had them (redo_pages.py), and made ones of many shapes.  The part
`instructions` counts the instructions of a call with valgrind, which no other work on the
machine changes.  Pages are in the CPU's caches; no server runs while this measures.
"""
import contextlib
import glob
import os
import re
import shutil
import statistics
import subprocess
import tempfile

from .. import loop, postgres, redo_pages, report, runner
from ..scenario import Measure, Part, Scenario

VECTORS = ('sse2', 'avx2', 'neon')      # what servers use
NOTHING = 12                            # nanoseconds by which a call may be slower


def compile_program(patched):
    """Compile scripts/compactify/bench.c with both sources; returns its path."""
    scripts = os.path.join(postgres.ROOT, 'scripts')
    source = postgres.patched_source(patched, 'src/backend/storage/page/compactify.c')
    stock = loop.command(os.path.join(scripts, 'pristine-source')).strip()
    program = os.path.join(postgres.ROOT, 'build/bench-compactify')
    postgres.compile_with('scripts/compactify/bench.c', [
        os.path.join(scripts, 'compactify/build'), stock, source,
        postgres.include_directory(patched), os.path.join(scripts, 'compactify/bench.c'), program])
    return program


def count(program, pages):
    """The instructions of each call, as valgrind counts them."""
    runs = []
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
                               f'--callgrind-out-file={place}/counted', program, '0', pages],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        for path in sorted(glob.glob(f'{place}/counted.*')):
            with open(path, encoding='utf-8') as file:
                text = file.read()
            label = re.search(r'^desc: Trigger: Client Request: (.*)\t(.*)\t(\d+)$', text, re.M)
            total = re.search(r'^(?:totals|summary): (\d+)', text, re.M)
            if label and total:
                runs.append({'case': label[1], 'config': label[2],
                             'instructions': round(int(total[1]) / int(label[3]), 1)})
    if done.returncode != 0 or not runs:
        raise postgres.PostgresError('valgrind counted nothing; is valgrind/callgrind.h where '
                                     f'the compiler finds it?\n{done.stdout[-2000:]}')
    return runs


@contextlib.contextmanager
def opened(bench, part):
    program = compile_program(bench.builds['patched'])
    if bench.options.pages:
        pages = os.path.abspath(bench.options.pages)
        facts = {'from': pages}
    else:
        pages, facts = redo_pages.find_or_make(bench.kept, bench.builds['stock'],
                                               bench.progress.say)
    bench.results.describe(part.name, redo_pages=facts)

    def run(names, number):
        if part.name == 'instructions':
            return count(program, pages)
        return runner.parse(loop.command(program, str(bench.options.rounds), pages), 'ns')
    yield run


def parts(size):
    return (Part('time', '', (), opened, together=True, once=True, unknown=True),
            Part('instructions', '', (), opened, together=True, once=True, unknown=True,
                 missing=lambda: None if shutil.which('valgrind') else
                 'valgrind is not installed; scripts/bootstrap installs it'))


def worst(runs):
    """(ratio to stock, shape and functions) of the shape that gained least.

    What takes some nanoseconds more counts as equal.
    """
    found = []
    timed = [run for run in runs if 'ns' in run]
    for case in dict.fromkeys(run['case'] for run in timed):
        for name in VECTORS:
            value = report.ratio(timed, case, 'stock', name, 'ns')
            if value:
                ns = {each: [run['ns'] for run in timed if (run['case'], run['config']) ==
                             (case, each)] for each in ('stock', name)}
                slower = statistics.median(b - a for a, b in zip(ns['stock'], ns[name]))
                found.append((max(value[0], 1) if slower <= NOTHING else value[0],
                              f'{case}/{name}'))
    return min(found, default=None)


def summary(runs):
    found = worst(runs)
    if found:
        yield (f'Worst, where more than {NOTHING} ns slower: {found[0]:.3f} times as fast as '
               f'stock ({found[1]}).')


SCENARIO = Scenario(
    'compactify', 'functions that defragment pages', parts, (
        Measure('ns', 'ns/call', '{:.0f}'),
        Measure('instructions', 'instructions/call', '{:.0f}')),
    tuple(('stock', name) for name in VECTORS), ('ns', 'instructions'), summary=summary,
    numbers=False, rounds=15, options=(
        ('--pages', {'metavar': 'FILE',
                     'help': 'of compactify: heap pages of 8 kB to use as redo_pages'}),))

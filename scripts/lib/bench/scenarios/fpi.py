"""Compression of full-page images: the time that it takes, and the bytes that are left.

A stock server makes pages of many kinds (fpi_pages.py lists them; they are kept).  Then all
methods take turns on the pages of a kind, as the server would use them: pglz, lz4, zstd and
zlib with some levels, and with the page transform before them.

"fresh" makes a context for each image, which is what stock PostgreSQL does with zstd; without
it contexts are reused.  "c" is the page transform in plain C, for machines without SSE2 or
NEON, and "avx2" is the same source compiled for AVX2 (on machines that have it), which
PostgreSQL does not do.  No server runs while this measures.
"""
import contextlib
import os
import statistics

from .. import fpi_pages, host, loop, postgres, report, runner
from ..scenario import Measure, Part, Scenario, scale_of

MEASURES = (Measure('bytes', 'bytes/page', '{:.0f}'),
            Measure('compress_ns', 'compress us', '{:.1f}', 1e-3),
            Measure('decompress_ns', 'decompress us', '{:.1f}', 1e-3))
COMPARED = (('lz4:transform', 'lz4'), ('lz4:transform,avx2', 'lz4:transform'),
            ('zstd:1,transform', 'zstd:1'), ('zstd:3,transform', 'zstd:3'),
            ('zstd:3', 'zstd:3,fresh'), ('zstd:1', 'zstd:1,fresh'))
LIBRARIES = ('liblz4', 'libzstd', 'zlib')       # names for pkg-config


def compile_program(patched):
    """Compile scripts/fpi/bench.c with the patched source; returns its path."""
    fpi = os.path.join(postgres.ROOT, 'scripts/fpi')
    source = postgres.patched_source(patched, 'src/common/page_transform.c')
    program = os.path.join(postgres.ROOT, 'build/bench-fpi')
    avx2 = ' avx2 ' in (host.first_line('/proc/cpuinfo', 'flags') or '') + ' '
    postgres.compile_with('scripts/fpi/bench.c', [
        os.path.join(fpi, 'build'), source, postgres.include_directory(patched), program,
        os.path.join(fpi, 'bench.c'), os.path.join(fpi, 'codecs.c'),
        os.path.join(source, 'src/common/pg_lzcompress.c'),
        *(['--', '-DTRANSFORM_AVX2'] if avx2 else [])],
        env={**os.environ, 'LIBS': '-llz4 -lzstd -lz -lm'})
    return program


@contextlib.contextmanager
def opened(bench, part):
    program = compile_program(bench.builds['patched'])
    directory = fpi_pages.find_or_make(bench.kept, bench.builds['stock'], part.facts['scale'],
                                       bench.progress.say)
    bench.results.header['libraries'] = {
        name: postgres.run(['pkg-config', '--modversion', name]).strip() for name in LIBRARIES}

    def run(methods, number):
        # As this user: that of the servers may not be able to enter the clone.
        text = loop.command(program, str(bench.options.rounds), f' {" ".join(methods)} ' if methods else 'all',
                            os.path.join(directory, part.name))
        runs = runner.parse(text, *(each.key for each in MEASURES))
        missing = set(methods) - {each['config'] for each in runs}
        if missing:
            raise postgres.PostgresError(f'there is no method {", ".join(sorted(missing))}; '
                                         'without --config all are measured and named')
        return runs
    yield run


def parts(size):
    return tuple(Part(kind, '', (), opened, together=True, once=True, unknown=True,
                      facts={'scale': scale_of(size) or 0.02}) for kind in fpi_pages.KINDS)


def means(runs):
    """{method: {key: mean of the medians of all kinds}}."""
    middle = report.medians(runs, MEASURES)
    methods = next(iter(middle.values()))
    return {method: {each.key: statistics.mean(rows[method][each.key]
                                               for rows in middle.values()
                                               if method in rows) for each in MEASURES}
            for method in methods}


def worst(middle, ours, theirs, key):
    """The largest ratio of two methods among all kinds."""
    return max(rows[ours][key] / rows[theirs][key] for rows in middle.values())


def summary(runs):
    """Means over all kinds, and their ratios with that of the worst kind."""
    mean, middle = means(runs), report.medians(runs, MEASURES)
    yield from ('### mean of all kinds', '')
    yield from report.table([['', *(each.heading for each in MEASURES)], *(
        [method, *(report.cell(row, each) for each in MEASURES)] for method, row in mean.items())])
    rows = [['ratio of means (worst kind)', *(each.heading for each in MEASURES)]]
    for ours, theirs in COMPARED:
        if {ours, theirs} <= set(mean):
            rows.append([f'{ours} / {theirs}', *(
                f'{mean[ours][each.key] / mean[theirs][each.key]:.2f} '
                f'({worst(middle, ours, theirs, each.key):.2f})'
                for each in MEASURES)])
    yield ''
    yield from report.table(rows) if len(rows) > 1 else ()


SCENARIO = Scenario('fpi', 'compression of full-page images', parts, MEASURES, summary=summary,
                    rounds=9, space=4 << 30)

"""Medians, paired ratios, tables, and the comparison of two results."""
import glob
import json
import os
import re
import unittest

from bench import plot, postgres, report, results, scenarios
from bench.scenario import Measure, Scenario

TPS = Measure('tps', 'tps', '{:.0f}')
SCENARIO = Scenario('s', 'a scenario', None, (TPS,), (('b', 'a'),), ('tps',),
                    published=(('c', 'theirs (2013)', {'tps': 7}),))


def runs_of(values, key='redo_seconds', case='w'):
    """Runs in rounds from {configuration: values}."""
    return [{'case': case, 'config': name, 'round': number, 'take': 1, key: value}
            for name, found in values.items() for number, value in enumerate(found, 1)]


def result_of(runs, **more):
    found = results.Results({
        'scenario': 's2', 'device_name': 'raid0', 'device': 'd', 'size': 'full', 'cpus': 2,
        'cpu_model': 'm', 'memory_bytes': 1 << 30, 'kernel': 'Linux 6', 'commit': 'c',
        'date': 'today', 'postgresql': {'stock': '18'}, 'cases': {'w': {'about': 'work'}}, **more})
    found.add(runs)
    return found


class Ratios(unittest.TestCase):
    def test_medians_leave_out_what_is_missing(self):
        middle = report.medians(runs_of({'off': (9, 8, 30), 'on': (1, None, 3)}), [report.REDO])
        self.assertEqual(middle, {'w': {'off': {'redo_seconds': 9, 'runs': 3},
                                        'on': {'redo_seconds': 2, 'runs': 3}}})

    def test_ratios_are_of_runs_of_the_same_round(self):
        runs = runs_of({'a': (100, 200, 400), 'b': (110, 200, 300, 1)}, 'tps')
        found = report.ratio(runs, 'w', 'b', 'a', 'tps')
        self.assertEqual(found, (1.0, 0.75, 1.1))
        self.assertIsNone(report.ratio(runs, 'w', 'b', 'c', 'tps'))
        self.assertIsNone(report.ratio(runs, 'v', 'b', 'a', 'tps'))

    def test_takes_of_a_round_are_not_mixed(self):
        runs = [{'case': 'w', 'config': config, 'round': 1, 'take': take, 'tps': value}
                for config, values in {'off': (100, 50), 'on': (90, 50)}.items()
                for take, value in enumerate(values, 1)]
        self.assertEqual(report.ratio(runs, 'w', 'on', 'off', 'tps'), (0.95, 0.9, 1.0))

    def test_best_is_the_fastest_cold_configuration_of_stock(self):
        runs = runs_of({'off': (9, 8, 30), 'try-200': (3, 4, 8), 'off-warm': (1, 1, 1),
                        'redoahead': (2, 1, 2)})
        self.assertEqual(report.best(report.medians(runs, [report.REDO])['w'],
                                     'redo_seconds'), 'try-200')
        found = report.ratios(scenarios.find('prefetch'), runs, 'w')
        self.assertEqual(found['best', 'redoahead', 'redo_seconds'], (4.0, 1.5, 4.0))
        self.assertNotIn(('default', 'redoahead', 'redo_seconds'), found)

    def test_best_is_of_the_measure_that_is_compared(self):
        """Lost otherwise: a gain against a configuration that others of stock surpass."""
        runs = [{**redo, 'ready_seconds': ready['ready_seconds']} for redo, ready in zip(
            runs_of({'off': (3,), 'default': (4,), 'redoahead': (1,)}),
            runs_of({'off': (9,), 'default': (5,), 'redoahead': (2,)}, 'ready_seconds'))]
        found = report.ratios(scenarios.find('prefetch'), runs, 'w')
        self.assertEqual(found['best', 'redoahead', 'redo_seconds'][0], 3)
        self.assertEqual(found['best', 'redoahead', 'ready_seconds'][0], 2.5)


class Tables(unittest.TestCase):
    def test_report_has_medians_ratios_and_published_rows(self):
        text = report.markdown(SCENARIO, result_of(
            runs_of({'a': (100, 200), 'b': (110,)}, 'tps', 'c'), model_healthy=False))
        for line in ('| a               | 150 |', '| b (1 of 2 runs) | 110 |',
                     '| *theirs (2013)* |   7 |', '| b / a | 1.100 (1.10 to 1.10) |'):
            self.assertIn(line, text)
        self.assertIn('NOT healthy', text)
        self.assertNotIn('The host', text)

    def test_report_has_what_the_host_took(self):
        self.assertEqual(report.steal([{'steal': 0.02}, {'steal': 0.31}, {'steal': 0.04}, {}]),
                         ' The host gave 4% of the wanted CPU time to others, 31% in the worst run.')
        runs = [{**run, 'steal': 0.02} for run in runs_of({'a': (1, 2)}, 'tps', 'c')]
        self.assertIn('The host gave 2% of', report.markdown(SCENARIO, result_of(runs)))

    def test_report_says_that_the_kernel_may_have_evicted_pages(self):
        runs = runs_of({'a': (1, 2)}, 'tps', 'c')
        self.assertIn('(DAMON)', report.markdown(SCENARIO, result_of(runs, proactive_reclaim=True)))
        self.assertNotIn('(DAMON)', report.markdown(SCENARIO, result_of(runs, proactive_reclaim=False)))

    def test_plots_are_drawn_only_by_matplotlib(self):
        try:
            plot.require()
        except report.host.HostError as error:
            self.skipTest(str(error))
        import tempfile
        with tempfile.TemporaryDirectory() as place:
            names = plot.draw(SCENARIO, result_of(runs_of({'a': (1, 2)}, 'tps', 'c')), place)
            self.assertEqual(names, ['s-c-bars.svg'])
            with open(os.path.join(place, 's-c-bars.svg'), encoding='utf-8') as file:
                self.assertIn('</svg>', file.read())

    def test_readme_has_the_tables_of_its_results_files(self):
        with open(os.path.join(postgres.ROOT, 'README.md'), encoding='utf-8') as file:
            text = file.read()
        paths = re.findall(r'made by: scripts/bench readme (\S+) -->', text)
        self.assertEqual(len(paths), text.count('<!-- results of PostgreSQL ') / 2)
        for path in paths:
            found = results.read(os.path.join(postgres.ROOT, path))
            self.assertEqual(report.put_into(text, path, found), text)
        for size, rounds in ('small', 3), ('full', 1):
            with self.assertRaisesRegex(report.host.HostError, f'{rounds} rounds of size {size}'):
                report.put_into(text, 'f', result_of([], size=size, rounds=rounds))

    def test_each_results_file_is_cited_and_each_cited_one_is_there(self):
        cited = set()
        for page in (*glob.glob('README.md', root_dir=postgres.ROOT),
                     *glob.glob('*/README.md', root_dir=postgres.ROOT)):
            with open(os.path.join(postgres.ROOT, page), encoding='utf-8') as file:
                cited.update(re.findall(r'20\d\d-\d\d-\d\d-[\w-]+\.jsonl', file.read()))
        self.assertEqual(cited, set(os.listdir(os.path.join(postgres.ROOT, 'scripts/results'))))

    def test_results_files_can_be_shown(self):
        where = os.path.join(postgres.ROOT, 'scripts/results')
        for name in sorted(os.listdir(where)):
            if name.endswith('-soak.jsonl'):    # of tests/soak, one line
                with open(os.path.join(where, name), encoding='utf-8') as file:
                    self.assertEqual(json.load(file)['wrong'], [])
                continue
            result = results.read(os.path.join(where, name))
            text = report.markdown(scenarios.find(result.header['scenario']), result)
            self.assertGreaterEqual(text.count('\n|'), 3, name)


class Comparison(unittest.TestCase):
    def test_old_and_new_side_by_side(self):
        s2 = scenarios.find('s2')
        old, new = (result_of(runs_of({'off': (400,), 'redoahead': (seconds,)}))
                    for seconds in (20, 15))
        self.assertEqual(report.warnings(old, new), [])
        self.assertRegex(report.comparison(s2, old, new),
                         r'w redoahead: redo s *\| *20.00 \| *15.00 \| *0.750')

    def test_what_is_not_alike_is_warned_of(self):
        old = result_of([])
        new = result_of([], size='small', kernel='Linux 7', cases={}, model_healthy=False)
        self.assertEqual(report.warnings(old, new), [
            'different size: full, small', 'different kernel: Linux 6, Linux 7',
            'different cases', 'the disk model was not healthy in a run of the new result'])


class Summaries(unittest.TestCase):
    def test_compactify_counts_a_shape_as_slower_only_by_more_than_12_ns(self):
        worst = scenarios.find('compactify').summary.__globals__['worst']
        runs = runs_of({'stock': (1000, 1100, 900), 'c': (1, 1, 1), 'sse2': (250, 275, 300)},
                       'ns', 'redo_pages')
        small = {'stock': (40, 41, 42), 'sse2': (50, 51, 52)}
        self.assertEqual(worst(runs + runs_of(small, 'ns', 'small')), (1, 'small/sse2'))
        small['sse2'] = (80, 82, 84)
        self.assertEqual(worst(runs + runs_of(small, 'ns', 'small')), (0.5, 'small/sse2'))

    def test_fpi_has_ratios_of_means_with_that_of_the_worst_kind(self):
        runs = [{'case': kind, 'config': method, 'round': number, 'take': 1, 'bytes': size,
                 'compress_ns': ns, 'decompress_ns': 5}
                for kind, method, size, times in (
                    ('a', 'lz4', 100, (20, 1, 200)), ('a', 'lz4:transform', 10, (10, 1, 100)),
                    ('b', 'lz4', 300, (20, 1, 200)), ('b', 'lz4:transform', 150, (26, 1, 260)))
                for number, ns in enumerate(times, 1)]
        text = '\n'.join(scenarios.find('fpi').summary(runs))
        self.assertRegex(text, r'lz4:transform / lz4 +\| +0.40 \(0.50\) \| +0.90 \(1.30\) \| +1.00')

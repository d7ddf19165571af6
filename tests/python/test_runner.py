"""The runner: order, what is done, what is repeated, time left; and results that go on."""
import argparse
import collections
import itertools
import json
import os
import tempfile
import unittest
import unittest.mock

from bench import host, postgres, results, runner, scenarios, usage
from bench.scenario import Part


def done(task, seconds=1.0):
    return runner.records(task, {'redo_seconds': seconds}, seconds, 0.0)


class Order(unittest.TestCase):
    def test_configurations_take_turns(self):
        for count in range(2, 9):
            names = tuple('abcdefgh'[:count])
            orders = [runner.in_turn(names, number) for number in range(1, 2 * count + 1)]
            self.assertEqual(orders[0], names)
            for place in range(count):
                self.assertEqual(set(collections.Counter(
                    order[place] for order in orders).values()), {2})
            follows = collections.Counter(itertools.chain(*map(itertools.pairwise, orders)))
            self.assertEqual(set(follows.values()), {2})
        self.assertEqual(runner.in_turn((), 1), ())

    def test_in_three_rounds_none_always_follows_the_same_other(self):
        """Lost otherwise: what a configuration leaves to the next, for one of them in each round."""
        for count in range(5, 9):
            names = tuple('abcdefgh'[:count])
            orders = [runner.in_turn(names, number) for number in (1, 2, 3)]
            for name in names:
                self.assertGreater(len({order[order.index(name) - 1] for order in orders
                                        if order[0] != name}), 1, name)

    def test_tasks_of_takes_rounds_and_sessions_together(self):
        one = runner.tasks(Part('p', '', (), None, takes=2), ('a', 'b'), 2)
        self.assertEqual([(task.round, task.take, task.config) for task in one],
                         [(1, 1, 'a'), (1, 1, 'b'), (1, 2, 'b'), (1, 2, 'a'),
                          (2, 1, 'b'), (2, 1, 'a'), (2, 2, 'a'), (2, 2, 'b')])
        both = runner.tasks(Part('p', '', (), None, together=True, once=True), ('a', 'b'), 2)
        self.assertEqual([task.config for task in both], [('a', 'b')])

    def test_every_scenario_declares_parts_with_names_of_their_own(self):
        for name in scenarios.names():
            scenario = scenarios.find(name)
            self.assertEqual(scenario.name, name)
            for size in ('small', 'full'):
                parts = scenario.parts(size)
                self.assertEqual(len({part.name for part in parts}), len(parts), name)
                known = {config for part in parts for config in part.configs}
                for pair in scenario.compared if known else ():
                    self.assertLessEqual(set(pair), known | {'best'},
                                         name)


class Chosen(unittest.TestCase):
    PARTS = (Part('a', '', ('on', 'off'), None), Part('b', '', ('on', 'lz4'), None))

    def chosen(self, **options):
        options = argparse.Namespace(**{'case': None, 'config': None, 'before': None, **options})
        wanted, missing = runner.chosen(argparse.Namespace(options=options), self.PARTS)
        self.assertEqual(missing, {})
        return [(part.name, configs) for part, configs in wanted]

    def test_parts_have_those_configurations_that_they_know(self):
        self.assertEqual(self.chosen(), [('a', ('on', 'off')), ('b', ('on', 'lz4'))])
        self.assertEqual(self.chosen(config=['lz4', 'on']), [('a', ('on',)), ('b', ('lz4', 'on'))])
        self.assertEqual(self.chosen(config=['lz4']), [('b', ('lz4',))])
        self.assertEqual(self.chosen(case=['a']), [('a', ('on', 'off'))])

    def test_known_names_that_select_nothing_together_are_an_error(self):
        """Lost otherwise: an empty report, as if all had been measured."""
        with self.assertRaisesRegex(host.HostError, '^no run has both --case a and --config lz4; '
                                                    'configurations are: a: on, off$'):
            self.chosen(case=['a'], config=['lz4'])


class Done(unittest.TestCase):
    def setUp(self):
        part = Part('c', '', (), None)
        self.off, self.default, self.redoahead, *self.second = runner.tasks(
            part, ('off', 'default', 'redoahead'), 2)

    def test_what_takes_long_with_prefetching_off_is_measured_once(self):
        runs = done(self.off, 500) + done(self.default, 300)
        left = [(task.config, task.round)
                for task in (self.off, self.default, self.redoahead, *self.second)
                if not runner.is_done(task, runs)]
        self.assertEqual(left, [('redoahead', 1), ('default', 2), ('redoahead', 2)])

    def test_an_incomplete_take_of_sessions_together_is_repeated(self):
        task, = runner.tasks(Part('c', '', (), None, together=True), ('a', 'b'), 1)
        runs = runner.records(task, [{'config': 'a'}, {'config': 'b'}], 1, 0.0)
        self.assertFalse(runner.is_done(task, runs[:1]))
        self.assertTrue(runner.is_done(task, runs))

    def test_runs_of_cases_within_a_part_are_found_again(self):
        runs = runner.records(self.off, [{'case': 'index', 'ms': 1}, {'case': 'redo', 'ms': 2}], 3, 0.0)
        self.assertEqual([run['part'] for run in runs], ['c', 'c'])
        self.assertTrue(runner.is_done(self.off, runs))

    def test_a_run_has_what_the_host_took(self):
        with unittest.mock.patch.object(host, 'first_line') as line:
            line.return_value = '100 0 50 9000 9000 3 2 10 0 0'
            steal = usage.Steal()
            line.return_value = '150 0 70 9900 9900 3 2 40 7 7'
            self.assertEqual(steal.share(), 0.3)
            self.assertEqual(runner.records(self.off, {'ms': 1}, 3, steal.share())[0]['steal'], 0.3)
            line.return_value = '100 0 50 9000 9000 3 2 10 0 0'
            self.assertEqual(steal.share(), 0.0)

    def test_time_left_is_by_what_is_most_alike(self):
        clock, later = runner.TimeLeft(), [self.default, self.redoahead, *self.second]
        self.assertEqual(clock.text(later, self.off, 0.01, 1), 'time left unknown')
        self.assertEqual(clock.text(later, self.off, 0.5, 5), 'about 55 s left')
        clock.took += [(self.off, 510), (self.default, 310), (self.redoahead, 30)]
        self.assertEqual(clock.text([self.default]), 'about 5 min left')


class Resuming(unittest.TestCase):
    HEADER = {'scenario': 's2', 'device_name': 'ssd', 'size': 'small', 'kernel': 'k',
              'cpus': 2, 'cpu_model': 'old', 'options': {'--x': 1}, 'programs': {}, 'cases': {'a': {}}}

    def test_runs_are_taken_over_only_from_the_same_benchmark(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, 'deep/s2.jsonl')
            first = results.Results(dict(self.HEADER), path)
            self.assertEqual(first.resume(), 0)
            first.add([{'case': 'a', 'disk_model': {'healthy': True}}, {'case': 'a'}])
            again = results.Results({**self.HEADER, 'cases': {}}, path)
            self.assertEqual(again.resume(), 2)
            self.assertEqual(set(again.header['cases']), {'a'})
            self.assertIs(results.read(path).header['model_healthy'], True)
            for changed, text in (({'size': 'full'}, 'its size was small, and is full now'),
                                  ({'cpu_model': 'new'}, 'its cpu_model was old, and is new'),
                                  ({'options': {'--x': 2}}, 'its options was .*1.*, and is .*2')):
                with self.assertRaisesRegex(host.HostError, text):
                    results.Results({**self.HEADER, **changed}, path).resume()

    def test_a_case_that_has_changed_is_not_resumed(self):
        """Lost otherwise: medians of runs with different settings."""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, 's2.jsonl')
            first = results.Results({**self.HEADER, 'cases': {}}, path)
            first.describe('a', settings={'jit': ('off',)}, image=1)
            first.add([{'case': 'a'}])
            again = results.Results({**self.HEADER, 'cases': {}}, path)
            again.resume()
            again.describe('a', settings={'jit': ('off',)}, unknown_before=1)
            again.describe('b', settings={})
            self.assertEqual(again.header['cases']['a']['image'], 1)
            with self.assertRaisesRegex(host.HostError, 'its image of case a was 1, and is 2 now'):
                again.describe('a', image=2)

    def test_other_files_are_no_results(self):
        with tempfile.TemporaryDirectory() as place:
            for text in ('[]\n', '', 'x\n', json.dumps({'runs': []}) + '\n'):
                path = os.path.join(place, 'x')
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)
                with self.assertRaisesRegex(postgres.PostgresError, 'is no result'):
                    results.read(path)

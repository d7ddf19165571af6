"""tests/soak: what it takes for growth, and what its faults spare."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..'))

import soaking  # noqa: E402,F401  (sets the path to the scripts' modules)
from soaking import faults, samples  # noqa: E402


def life(seconds, **slopes):
    """Samples each 10 s of a daemon of which some members grow by so much in each sample."""
    level = {'rss_bytes': 20 << 20, 'anonymous_bytes': 10 << 20, 'descriptors': 12}
    return [{'seconds': 10 * number,
             **{member: level.get(member, 2) + (number % 2 if member == 'descriptors' else 0) +
                number * slopes.get(member, 0) for member in samples.BOUNDS}}
            for number in range(seconds // 10)]


class Growth(unittest.TestCase):
    """Lost otherwise: a soak that finds no leak, whatever leaks."""

    def test_flat(self):
        self.assertEqual(samples.judge('serve', life(1800)), [])

    def test_leaks(self):
        for member, slope in ('anonymous_bytes', 100_000), ('descriptors', 0.1), ('repeated_files', 0.1), \
                ('data_files', 1), ('sockets', 0.1), ('deleted_files', 0.1):
            with self.subTest(member=member):
                wrong = samples.judge('serve', life(1800, **{member: slope}))
                self.assertEqual(len(wrong), 1)
                self.assertIn(f'serve: {member} grew', wrong[0])

    def test_per_hour(self):
        found = samples.growth(life(1800, anonymous_bytes=1000))['anonymous_bytes']
        self.assertEqual(found['per_hour'], 360_000)

    def test_warm_up(self):
        full = [{**each, 'anonymous_bytes': min(each['seconds'], 300) * 100_000} for each in life(1800)]
        self.assertEqual(samples.judge('follow', full), [])

    def test_data_files(self):
        self.assertTrue(samples.is_data_file('/data/base/5/1259', '/data'))
        self.assertTrue(samples.is_data_file('/data/pg_tblspc/7/PG_18_1/5/1 (deleted)', '/data'))
        self.assertFalse(samples.is_data_file('/data/pg_wal/000000010000000000000001', '/data'))
        self.assertFalse(samples.is_data_file('/data2/base/5/1259', '/data'))

    def test_short_life(self):
        self.assertEqual(samples.judge('serve', life(120, anonymous_bytes=1 << 20, data_files=3)), [])
        self.assertEqual(samples.growth(life(20)), {})
        self.assertEqual(samples.judge('serve', []), [])


class Plan(unittest.TestCase):
    """Lost otherwise: a soak that cannot be repeated, or in which no daemon lives long."""

    def test_function_of_seed(self):
        self.assertEqual(faults.make_plan(7, 600), faults.make_plan(7, 600))
        self.assertNotEqual(faults.make_plan(7, 600), faults.make_plan(8, 600))

    def test_spared(self):
        plan = faults.make_plan(1, 3600)
        for spared, phase in zip(faults.DAEMONS, plan):
            ended = {each.target for each in phase if each.name in faults.ENDS_DAEMON}
            self.assertEqual(ended, set(faults.DAEMONS) - {spared})
            self.assertLess(phase[-1].at, 1800)
        self.assertEqual({each.name for phase in plan for each in phase}, set(faults.WEIGHTS))


if __name__ == '__main__':
    unittest.main()

"""The errors of a daemon's estimates of the time left."""
import unittest

from bench import timeleft


def recovery(elapsed, estimates, whole):
    return {'elapsed_seconds': whole + 3, 'stalled_seconds': 3,
            'history': {'elapsed_seconds': elapsed, 'time_left_seconds': estimates}}


class Errors(unittest.TestCase):
    """Lost otherwise: how far users may rely on the estimate."""

    def test_exact(self):
        found = timeleft.errors(recovery([2, 5, 9], [8, 5, 1], 10))
        self.assertEqual((found['estimates'], found['max_of_left'], found['max_of_whole']), (3, 0, 0))

    def test_wrong(self):
        found = timeleft.errors(recovery([1, 5, 8], [99, 6, 1], 10))
        self.assertEqual(found['estimates'], 2)
        self.assertEqual(found['max_of_whole'], 0.1)
        self.assertEqual(found['max_of_left'], 0.5)
        self.assertEqual(found['mean_of_left'], 0.35)

    def test_unknown(self):
        self.assertIsNone(timeleft.errors(recovery([1, 5], [3, None], 10)))
        self.assertIsNone(timeleft.errors(recovery([], [], 10)))
        # A short recovery can be over before follow has found the position of redo.
        short = {**recovery([2, 5], [8, 5], 10), 'stalled_seconds': None}
        self.assertIsNone(timeleft.errors(short))


if __name__ == '__main__':
    unittest.main()

"""What results have about the machine."""
import os
import tempfile
import unittest

from bench import host


class ProactiveReclaim(unittest.TestCase):
    def setUp(self):
        self.sysfs = self.enterContext(tempfile.TemporaryDirectory())

    def write(self, path, text):
        path = os.path.join(self.sysfs, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text + '\n')

    def test_there_is_none_without_damon(self):
        self.assertFalse(host.proactive_reclaim(self.sysfs))

    def test_the_module_may_be_off(self):
        for value, expected in (('N', False), ('Y', True)):
            self.write('module/damon_reclaim/parameters/enabled', value)
            self.assertEqual(host.proactive_reclaim(self.sysfs), expected)

    def test_a_daemon_must_be_on_and_page_out(self):
        daemon = 'kernel/mm/damon/admin/kdamonds/0'
        for state, action, expected in (('off', 'pageout', False), ('on', 'stat', False),
                                        ('on', 'pageout', True)):
            self.write(f'{daemon}/state', state)
            self.write(f'{daemon}/contexts/0/schemes/0/action', action)
            self.assertEqual(host.proactive_reclaim(self.sysfs), expected)

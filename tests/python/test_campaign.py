"""What the campaign plans, and what its checks accept and refuse."""
import os
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..'))

from rounds import checks, faults, recovery  # noqa: E402

CONNECTED = 'redoahead: connected to daemon (PID 7), looking ahead 64 block references'
LOST = 'redoahead: lost connection to daemon (PID 7): connection closed by daemon; using built-in prefetching'
NONE = 'redoahead: no daemon at "s": No such file or directory; using built-in prefetching until one is available'
RELOAD = 'parameter "redoahead.lookahead" changed to "1048576"'


def wrong(*messages):
    return checks.server_log([f'1795842812.5 42 LOG:  {each}' for each in messages], 1, 3)


class ServerLog(unittest.TestCase):
    """Lost otherwise: log lines that are missing, repeated or unknown, in each round."""

    def test_each_change_has_its_line(self):
        self.assertEqual(wrong(NONE, CONNECTED, LOST, CONNECTED), [])

    def test_a_change_without_its_line_is_wrong(self):
        self.assertEqual(len(wrong(CONNECTED, NONE)), 1)

    def test_the_same_line_again_is_wrong(self):
        self.assertEqual(len(wrong(NONE, NONE)), 1)

    def test_a_reload_may_close_the_connection_without_a_line(self):
        self.assertEqual(wrong(CONNECTED, RELOAD, CONNECTED), [])

    def test_also_one_that_was_just_being_made(self):
        self.assertEqual(wrong(RELOAD, CONNECTED, NONE, CONNECTED), [])

    def test_but_once_only(self):
        self.assertEqual(len(wrong(RELOAD, CONNECTED, NONE, CONNECTED, NONE)), 1)

    def test_a_process_that_crashes_is_wrong(self):
        crash = 'startup process (PID 42) was terminated by signal 11: Segmentation fault'
        self.assertEqual(len(wrong(crash)), 1)
        self.assertEqual(wrong(crash.replace('signal 11', 'signal 9')), [])
        # PostgreSQL 18 itself.
        missing = '1795845656.1 42 FATAL:  could not start reading blocks 0..0 in file "base/5/1": No such file'
        self.assertEqual(checks.server_log([missing, f'1795845656.2 7 LOG:  {crash}'], 1, 3), [])
        self.assertEqual(len(checks.server_log([missing.replace(' 42 ', ' 43 '), f'1795845656.2 7 LOG:  {crash}'],
                                               1, 3)), 1)

    def test_and_nothing_else_is_forgiven_after_it(self):
        self.assertEqual(len(wrong(RELOAD, NONE, NONE)), 1)
        self.assertEqual(len(wrong(RELOAD, LOST, LOST)), 1)

    def test_lines_of_a_decoder_that_was_stopped(self):
        started, responded = (f'redoahead: {what} 250 ms; the startup process decodes WAL itself' for what in
                              ('the decoder has not started after', 'decoder (PID 7) has not responded for'))
        self.assertEqual(wrong(CONNECTED, started, started, responded, LOST), [])

    def test_what_is_unknown_is_wrong(self):
        self.assertEqual(len(wrong('redoahead: something else')), 1)


class Rounds(unittest.TestCase):
    """Lost otherwise: faults that are drawn, and can hardly ever happen."""

    def test_faults_of_the_decoder_are_drawn_where_there_is_one(self):
        plans = [plan for plan in (recovery.make_plan(1, number) for number in range(1, 500))
                 if plan.needs & {'stop_decoder', 'end_decoder'}]
        self.assertGreater(len(plans), 10)
        for plan in plans:
            self.assertEqual((plan.kind, plan.settings['decoder'], plan.settings['lookahead']),
                             ('crash', 'on', '4096'))

    def test_the_plans_of_the_fixed_seed_have_all_faults(self):
        plans = [recovery.make_plan(169, number) for number in range(1, 51)]      # see campaign.bats
        self.assertEqual(set().union(*(plan.needs for plan in plans)), set(faults.FAULTS))

    def test_a_fault_that_cannot_happen_yet_is_tried_again(self):
        there = unittest.mock.Mock(done=[], happened=[], may_end=False)
        there.site.missing = {}
        there.plan.faults = (recovery.Planned(0, 'end_decoder', 'SIGTERM'), recovery.Planned(0, 'reload', ('a', 'b')))
        there.server.ready.side_effect = [False] * 4 + [True]
        with unittest.mock.patch.object(faults, 'signal_decoder', side_effect=[faults.NotYet, faults.NotYet, 7]):
            recovery.recover(there, 1)
        self.assertEqual(there.happened, ['reload', 'end_decoder'])

    def test_a_background_writer_that_is_stuck_is_killed_and_nothing_else(self):
        processes = {7: 'postgres: background writer ', 8: 'postgres: redoahead decoder '}
        there = unittest.mock.Mock(done=[], happened=['damage_victim'], server_processes=lambda: processes)

        def kill(pid):
            self.assertEqual(pid, 7)
            processes.clear()
        with unittest.mock.patch.object(recovery, 'STUCK_AFTER', 0.01), \
                unittest.mock.patch.object(faults, 'kill_between_writes', kill):
            recovery.wait_for_end(there)
        self.assertEqual(len(there.done), 1)


if __name__ == '__main__':
    unittest.main()

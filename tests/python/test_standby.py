"""Latency, stalls and lag of a standby, and the sender of WAL."""
import os
import socket
import struct
import tempfile
import types
import unittest

from bench import host, report, scenarios, standby, wal_sender
from bench.scenarios import standby as scenario


def queries(*pairs):
    return [standby.Query(end, latency) for end, latency in pairs]


class Parsing(unittest.TestCase):
    def test_pgbench_log_with_and_without_schedule_lag(self):
        found, failed = standby.parse_queries([
            '0 199 2241 0 1763000000 4251 410', '1 3 500 0 1763000000 250000',
            '2 4 failed 0 1763000000 1', '0 5 skipped 0 1763000000 2 9', 'torn 1'])
        self.assertEqual(found, [standby.Query(1763000000.004251, 0.002241, 0.00041),
                                 standby.Query(1763000000.25, 0.0005)])
        self.assertEqual(failed, 1)

    def test_reports_and_samples(self):
        title = 'Mon Nov 23 10:00:00 2026 (every 0.01s)'
        found, failed = standby.parse_queries([title, '10.25 12.5 1000 -7', '20.0 21.0', '1.5 2.5 3 4 5'])
        self.assertEqual((found, failed), ([standby.Query(12.5, 2.25)], 0))
        self.assertEqual(standby.parse_samples([title, '5.5 1/10 0/0', '6.0  0/0']),
                         [standby.Sample(5.5, (1 << 32) + 16, 0)])


class Figures(unittest.TestCase):
    def test_percentiles_are_values_that_occurred(self):
        self.assertEqual(standby.percentiles(range(1, 101)),
                         {'p50': 50, 'p95': 95, 'p99': 99, 'max': 100})
        self.assertEqual(standby.percentiles([3, 1]), {'p50': 1, 'p95': 3, 'p99': 3, 'max': 3})
        self.assertEqual(set(standby.percentiles([]).values()), {None})

    def test_a_stall_may_be_at_the_beginning_or_at_the_end(self):
        self.assertEqual(standby.longest_stall([13, 12, 99], 10, 14), 2)
        self.assertEqual(standby.longest_stall([11], 10, 14), 3)
        self.assertEqual(standby.longest_stall([], 10, 14), 4)

    def test_only_queries_of_the_interval_count(self):
        found = standby.figures_of_queries(
            [standby.Query(9, 9), standby.Query(11, 0.25, 0.125), standby.Query(15, 9)], 10, 14)
        self.assertEqual((found['queries'], found['tps'], found['query_max_seconds'],
                          found['service_max_seconds']), (1, 0.25, 0.25, 0.125))

    def test_lag_of_an_archive_and_of_a_stream(self):
        self.assertEqual(standby.make_lags([standby.Sample(1, 400, 0)], 1000), [(1, 600, None)])
        lags = standby.make_lags([standby.Sample(5, 400, 500), standby.Sample(6, 500, 500)], 1000,
                                 lambda lsn: lsn / 100)
        self.assertEqual(lags, [(5, 100, 1.0), (6, 0, 0.0)])
        self.assertEqual(standby.figures_of_lag(lags), {
            'lag_max_bytes': 100, 'lag_mean_bytes': 50, 'lag_max_seconds': 1.0,
            'lag_mean_seconds': 0.5})

    def test_slices_cover_the_interval_and_may_be_empty(self):
        found = standby.slices(queries((10.1, 0.2), (10.2, 0.4), (11.1, 3)),
                               [(10.0, 9, None), (10.7, 5, None)], 10, 11.25, 8)
        self.assertEqual([(each['seconds'], each['tps'], each['p50'], each['max'],
                           each['lag_bytes']) for each in found],
                         [(2.5, 4, 0.2, 0.4, 9), (3.0, 0, None, None, 5), (3.25, 4, 3, 3, 5)])


class Configurations(unittest.TestCase):
    def test_options_are_of_the_daemon_or_settings(self):
        chosen, options = scenario.configured(
            'redoahead:--readahead-limit=99:redoahead.prefault=0')
        self.assertEqual(options, ('--readahead-limit=99',))
        self.assertEqual(chosen.settings['redoahead.prefault'], '0')
        self.assertTrue(chosen.daemon)
        for name in ('nothing', 'default:--io-depth=3', 'redoahead:io', 'killed'):
            with self.assertRaises(host.HostError):
                scenario.configured(name)

    def test_summary_compares_with_stock_at_its_best(self):
        def run(config, number, redo, latency, stall):
            return {'case': 'archive/select', 'config': config, 'round': number, 'take': 1,
                    'redo_seconds': redo, 'longest_stall_seconds': stall,
                    **{f'query_{name}_seconds': latency for name, _ in standby.SHARES}}
        lines = scenario.summary([
            run('off', 1, 9, 1, 1), run('try-200', 1, 6, 1, 0.1), run('try-200', 2, 8, 2, 0.3),
            run('redoahead', 1, 4, 2, 0.2), run('redoahead', 2, 4, 2, 0.25)])
        self.assertEqual([cell.strip() for cell in lines[2].split('|')[1:-1]], [
            'archive/select: redoahead / try-200', '1.75 (1.50 to 2.00)',
            *['1.50 (1.00 to 2.00)'] * 3, '25 (-50 to 100)'])
        self.assertEqual(scenario.summary([run('off', 1, 9, 1, 1)]), [])
        self.assertEqual(report.best({'off': {'redo_seconds': 1}}, 'redo_seconds'), 'off')
        self.assertIn('standby', scenarios.names())


class Sender(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory())
        for number in (1, 2):
            with open(os.path.join(self.place, f'00000001{0:08X}{number:08X}'), 'wb') as file:
                file.write(bytes([number]) * wal_sender.SEGMENT)

    def receive(self, peer):
        kind, size = struct.unpack('>cI', self.exactly(peer, 5))
        return kind, self.exactly(peer, size - 4)

    def exactly(self, peer, size):
        found = b''
        while len(found) < size:
            part = peer.recv(size - len(found))
            self.assertTrue(part)
            found += part
        return found

    def test_a_walreceiver_gets_all_wal_in_order(self):
        """Lost otherwise: a standby that hangs, or replays less than was measured."""
        start = wal_sender.SEGMENT
        image = types.SimpleNamespace(redo_lsn=start + 40, end_lsn=2 * start + 1000)
        with wal_sender.WalSender(self.place, self.place, image, '77') as sender, \
                socket.socket(socket.AF_UNIX) as peer:
            self.assertEqual(os.stat(sender.path).st_mode & 0o777, 0o777)   # for the servers' user
            peer.connect(sender.path)
            peer.settimeout(10)
            peer.sendall(struct.pack('>II', 8, 196608))
            while self.receive(peer)[0] != b'Z':
                pass
            peer.sendall(wal_sender.message(b'Q', b'IDENTIFY_SYSTEM\0'))
            answer = [self.receive(peer) for _ in range(4)]
            self.assertEqual([kind for kind, _ in answer], [b'T', b'D', b'C', b'Z'])
            self.assertIn(b'77', answer[1][1])
            peer.sendall(wal_sender.message(
                b'Q', b'START_REPLICATION PHYSICAL 0/1000000 TIMELINE 1\0'))
            self.assertEqual(self.receive(peer)[0], b'W')
            lsn = start
            while lsn < image.end_lsn:
                kind, body = self.receive(peer)
                self.assertEqual((kind, body[:1], struct.unpack('>Q', body[1:9])[0]),
                                 (b'd', b'w', lsn))
                self.assertEqual(set(body[25:]), {lsn // start})
                lsn += len(body) - 25
            self.assertEqual(lsn, image.end_lsn)
        self.assertIsNone(sender.error)

    def test_wal_is_sent_at_a_rate(self):
        sender = wal_sender.WalSender(self.place, self.place, types.SimpleNamespace(
            redo_lsn=1000, end_lsn=5000), '77', 100)
        sender.listener.close()
        sender.begun = 50.0
        self.assertEqual((sender.sent_at(500), sender.sent_at(1200)), (50.0, 52.0))
        sender.first, sender.end = 8000, 20000
        self.assertEqual([sender.allowed(at) for at in (50, 52, 150, 170)],
                         [0, 8192, 16384, 20000])

"""Directories and files that another user could change, or has put links into."""
import contextlib
import fcntl
import os
import shutil
import struct
import tempfile
import unittest

from bench import host, image, kept, postgres, script

NOBODY = 65534


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, 'needs root')(test)


class Directories(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix='redoahead-directories.')
        os.chmod(self.top, 0o755)
        self.addCleanup(shutil.rmtree, self.top)
        self.addCleanup(os.umask, os.umask(0o022))
        self.kept = self.path('kept')
        with open(self.kept, 'w', encoding='ascii') as file:
            file.write('kept')

    def path(self, *names):
        return os.path.join(self.top, *names)

    def check_kept(self):
        with open(self.kept, encoding='ascii') as file:
            self.assertEqual(file.read(), 'kept')
        self.assertEqual(os.stat(self.kept).st_uid, os.geteuid())

    def refused(self, path, reason):
        with self.assertRaisesRegex(host.HostError, f'{path} cannot be used, because {reason}; name '
                                    'a directory with REDOAHEAD_BENCH_DIR'):
            script.claim(path)

    def test_a_directory_is_made_or_found(self):
        os.umask(0o002)
        for _ in range(2):
            self.assertEqual(script.claim(self.path('above', 'new')), self.path('above', 'new'))
        self.assertEqual(os.umask(0o022), 0o002)
        os.symlink('above', self.path('link'))
        self.assertEqual(script.claim(self.path('link', 'new')), self.path('above', 'new'))

    def test_what_others_can_change_is_refused(self):
        """Lost otherwise: any file of root, by a link where a lock or a log is made."""
        for mode in 0o775, 0o757, 0o1777:
            os.mkdir(self.path('open'))
            os.chmod(self.path('open'), mode)
            self.refused(self.path('open'), 'other users can write to it')
            os.rmdir(self.path('open'))
        os.symlink('.', self.path('link'))
        self.refused(self.path('link'), 'it is a symbolic link')
        self.refused(self.kept, 'it is no directory')
        os.makedirs(self.path('above', 'own'))
        os.chmod(self.path('above'), 0o777)
        self.refused(self.path('above', 'own'), f'other users can write to {self.path("above")}, '
                                                'which it is in')
        os.chmod(self.path('above'), 0o1777)
        script.claim(self.path('above', 'own'))

    @needs_root
    def test_what_others_have_made_is_refused(self):
        os.makedirs(self.path('theirs', 'own'))
        os.chown(self.path('theirs'), NOBODY, NOBODY)
        self.refused(self.path('theirs'), 'it belongs to user nobody')
        self.refused(self.path('theirs', 'own'), f'{self.path("theirs")}, which it is in, belongs '
                                                 'to user nobody')

    def test_no_link_is_followed_to_a_new_file(self):
        """Lost otherwise: files of root, to the servers' user, who has the directory."""
        for kind in os.symlink, os.link:
            kind(self.kept, self.path('log'))
            postgres.Process(['true'], self.path('log'), as_user=postgres.as_self).child.wait()
            self.assertFalse(os.path.islink(self.path('log')))
            self.check_kept()
            os.remove(self.path('log'))
        os.symlink(self.path('absent'), self.path('text'))
        with host.create(self.path('text'), encoding='ascii') as file:
            file.write('new')
        self.assertFalse(os.path.exists(self.path('absent')))

    def test_the_root_of_a_place_stays_ours(self):
        """Lost otherwise: the lock, which root empties, to the servers' user."""
        with script.work_place(self.path('root'), 'place') as place:
            self.assertEqual(os.stat(self.path('root')).st_uid, os.geteuid())
            self.assertEqual(os.stat(place).st_uid, postgres.owner().pw_uid)
            postgres.make_directory(os.path.join(place, 'a', 'b'))
            self.assertEqual(os.stat(os.path.join(place, 'a')).st_uid, postgres.owner().pw_uid)

    def test_a_lock_that_was_removed_is_not_held(self):
        """Lost otherwise: two runs in one directory, one of which holds the lock of a removed file."""
        path, order = self.path('lock'), []
        with contextlib.ExitStack() as first:
            first.enter_context(host.locked(path, self.fail))

            def busy():
                order.append('busy')
                os.unlink(path)
                first.close()
            with host.locked(path, busy):
                order.append('held')
                with self.assertRaises(BlockingIOError), open(path, encoding='ascii') as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.assertEqual(order, ['busy', 'held'])

    def test_what_is_kept_is_made_once_for_the_same_parameters(self):
        """Lost otherwise: a benchmark of pages that an earlier version has made."""
        home, made, said = self.path('images', 'x'), [], []

        def find(parameters, fails=False):
            def make():
                made.append(parameters)
                os.mkdir(home)
                if fails:
                    raise KeyboardInterrupt
                return {'number': len(made)}
            return kept.find_or_make(home, parameters, make, said.append)

        for _ in range(2):
            self.assertEqual(find({'rows': (1, 2)})['number'], 1)
        with self.assertRaises(KeyboardInterrupt):
            find({'rows': (1, 3)}, fails=True)
        self.assertFalse(os.path.exists(home))
        self.assertEqual(find({'rows': (1, 2)})['number'], 3)
        self.assertEqual(len(said), 1)
        with open(os.path.join(home, 'made.json'), 'w', encoding='ascii') as file:
            file.write('[]')
        self.assertEqual(find({'rows': (1, 2)})['number'], 4)
        postgres.remove_tree(home)
        with open(home, 'w', encoding='ascii') as file:
            file.write('as an older version kept it')
        self.assertEqual(find({'rows': (1, 2)})['number'], 5)
        self.assertEqual(len(said), 3)

    @needs_root
    def test_a_directory_is_given_to_no_one_by_a_link(self):
        os.mkdir(self.path('mine'))
        os.symlink('mine', self.path('link'))
        with self.assertRaises(OSError):
            postgres.make_place(self.path('link'))
        self.assertEqual(os.stat(self.path('mine')).st_uid, 0)

    @needs_root
    def test_servers_files_are_changed_as_their_user(self):
        """Lost otherwise: modes, owners and names of any file, by a link among those of a server."""
        os.mkdir(self.path('mine'))
        with script.work_place(self.path('root'), 'place') as place:
            wal = os.path.join(place, 'pg_wal')
            postgres.make_directory(wal)
            os.symlink(self.path('mine'), os.path.join(place, 'link'))
            with self.assertRaises(postgres.PostgresError):
                postgres.make_directory(os.path.join(place, 'link', 'new'))
            with self.assertRaises(postgres.PostgresError):
                postgres.move(wal, os.path.join(place, 'link', 'new'))
            os.chmod(self.kept, 0o644)
            # Both look like segments of 16 bytes whose first page is in its place.
            for number, path in enumerate((self.kept, self.path('last'))):
                with open(path, 'wb') as file:
                    file.write(struct.pack('<QQ', 0, number * 16))
                os.symlink(path, os.path.join(wal, f'0000000100000000{number:08X}'))
            with self.assertRaises(postgres.PostgresError):
                image.trim_wal(place, 0)
            self.assertEqual(os.stat(self.kept).st_mode & 0o777, 0o644)
        self.assertEqual(os.listdir(self.path('mine')), [])

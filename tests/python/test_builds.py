"""Builds of a checkout: older than what they are made of, or in use while others are made."""
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from bench import image, kept, postgres, script, workload


class Builds(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix='redoahead-builds.')
        os.chmod(self.top, 0o755)
        self.addCleanup(shutil.rmtree, self.top)
        self.addCleanup(os.umask, os.umask(0o022))
        self.prefix = f'build/pg/{postgres.MAJOR}/patched'
        self.extension = self.write('pg-patch/redoahead/routine.c', '')
        self.write(f'pg-patch/{postgres.MAJOR}/series', '')
        self.write('userspace/common/implied.c', '')
        self.write('Makefile', 'build/redoahead:\n')
        self.program(f'{self.prefix}/bin/postgres', 'echo "postgres (PostgreSQL) 18.6"')
        self.program('build/redoahead', 'true')
        self.complete = self.write(f'{self.prefix}/complete', '')

    def write(self, name, text):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        return path

    def program(self, name, text):
        os.chmod(self.write(name, f'#!/bin/sh\n{text}\n'), 0o755)

    def later(self, path):
        os.utime(path, (os.path.getmtime(self.complete) + 1,) * 2)

    def test_a_server_older_than_its_extension_is_refused(self):
        """Lost otherwise: hours of measuring what was changed before it was built."""
        self.assertEqual(script.find_patched(self.top).prefix, os.path.join(self.top, self.prefix))
        self.later(self.write('pg-patch/redoahead/routine.o', ''))
        script.find_patched(self.top)
        self.later(self.extension)
        with self.assertRaisesRegex(postgres.PostgresError, 'patched is older than .*; run '
                                    f'scripts/build-postgresql patched in {self.top}'):
            script.find_patched(self.top)

    def test_a_cluster_of_the_patched_server_is_of_these_programs(self):
        """Lost otherwise: a measurement of WAL that an earlier version has written."""
        self.program(f'{self.prefix}/bin/pg_config', f'echo {self.top}')
        self.write('redoahead.so', '')
        load = workload.Workload('w', '', 1, 1, {}, None, None, build='patched')
        with mock.patch.object(kept, 'find_or_make') as make:
            for command in 'true', 'true', 'false':
                self.program('build/redoahead', command)
                image.find_or_make(self.top, load, 'small', {'patched': script.find_patched(self.top)}, print)
        first, same, other = (call.args[1] for call in make.call_args_list)
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)

    def test_a_build_in_use_is_not_removed(self):
        """Lost otherwise: the server of a benchmark of hours, while others build."""
        unused = self.write(f'build/pg/{postgres.MAJOR}/unused/complete', '')
        for path in self.complete, unused:
            os.utime(path, (0, 0))
        postgres.find_build('patched', self.top)
        subprocess.run(['bash', '-euo', 'pipefail', '-c', 'eval "$(sed -n "/^prune()/,/^}/p" "$1")"; keep=0; '
                        'prune "$2" "*"', '-', os.path.join(postgres.ROOT, 'scripts/build-postgresql'),
                        os.path.join(self.top, 'build/pg', postgres.MAJOR)], check=True)
        self.assertTrue(os.path.exists(self.complete))
        self.assertFalse(os.path.exists(unused))

    def test_an_installation_of_other_origin_has_no_age(self):
        self.later(self.extension)
        os.unlink(self.complete)
        script.find_patched(self.top)

"""Crashed clusters, each made once and kept.

An image is a data directory whose server was killed at the end of a load, with
facts beside it that describe it.  It lies in DIRECTORY/images/pgVERSION-WORKLOAD-SIZE
and is never changed: recoveries run on copies.

Images are made by the server that the workload names.  They are crashed by
stopping the server in immediate mode.  A workload with `from_base` is replayed from further
back than its last checkpoint: from a crashed copy made before the load,
together with all the WAL that was written since, as after restoring a
snapshot of the data; with `clean_base` the copy was shut down cleanly, not
crashed.  If it has `keep_end`, too, the cluster that wrote the WAL is shut down
cleanly and kept beside the crashed one.  The WAL of a workload with
`without_images` has been archived by `redoahead lesslog`, but for its last segment.
"""
import dataclasses
import json
import os
import struct
from dataclasses import dataclass

from . import host, kept, postgres

# For making images only: nothing that is lost in a crash of the machine
# matters, and one checkpoint right before the load is to be the last.
MAKING = {
    'fsync': 'off',
    'synchronous_commit': 'off',
    'autovacuum': 'off',
    'max_wal_size': '200GB',
    'checkpoint_timeout': '1d',
    'wal_recycle': 'off',
}


# Of the summaries of `redoahead lesslog`.
SUMMED = ('images', 'images_removed', 'image_bytes_removed', 'hints_removed')


@dataclass(frozen=True)
class Image:
    """A crashed cluster."""
    workload: object            # what is in its WAL
    directory: str              # its data directory
    facts: dict                 # what is kept with it, see kept.py

    @property
    def end(self):
        """The data directory that the load left, of a workload with keep_end."""
        return os.path.join(os.path.dirname(self.directory), 'end')

    @property
    def redo_lsn(self):
        return postgres.parse_lsn(self.facts['redo_lsn'])

    @property
    def end_lsn(self):
        return postgres.parse_lsn(self.facts['end_lsn'])


def find_or_make(root, workload, size, builds, say):
    """The image of a workload, from below root, or made there."""
    build = builds[workload.build]
    parameters = workload.parameters()
    if workload.build == 'patched' or workload.without_images:
        # Our changes do not change PostgreSQL's version.
        parameters['programs'] = postgres.checksums({'patched': builds['patched']})
    home = os.path.join(root, 'images', f'pg{build.version}-{workload.name}-{size}')

    def make_it():
        postgres.make_place(home)
        facts = make(home, workload, build, say)
        if workload.without_images:
            facts['images'] = remove_images(home, builds['patched'].daemon, facts, say)
        return facts

    return Image(workload, os.path.join(home, 'data'),
                 kept.find_or_make(home, parameters, make_it, say))


def flush(server):
    """Have all WAL so far survive a crash; returns the end of it.

    Without synchronous_commit a short load may be over before anything of it is
    written, and a crashed cluster would have nothing to replay.
    """
    server.sql("SELECT pg_logical_emit_message(false, '', '', flush => true)")
    return server.sql('SELECT pg_current_wal_flush_lsn()')[0][0]


def make(home, workload, build, say):
    """Make an image in an empty directory; returns its facts."""
    directory = os.path.join(home, 'data')
    base = os.path.join(home, 'base')
    log = os.path.join(home, 'generate.log')

    def server(**more):
        settings = {**MAKING, **workload.settings, **workload.making, **more}
        return postgres.Server(build, directory, settings, home, log)

    say(f'{workload.name}: filling a new cluster')
    postgres.initialize(build, directory)
    with server() as running:
        running.wait_ready()
        workload.prepare(running, workload)
        running.sql('CHECKPOINT')
        say(f'{workload.name}: running the load')
        if not workload.from_base:
            rate = workload.load(running, workload)
            end = flush(running)
        running.stop('fast' if workload.clean_base else 'immediate')
    if workload.from_base:
        postgres.copy_cluster(directory, base)
        with server(wal_keep_size='100GB') as running:
            running.wait_ready()
            rate = workload.load(running, workload)
            end = flush(running)
            running.stop('fast' if workload.keep_end else 'immediate')
        postgres.remove_tree(os.path.join(base, 'pg_wal'))
        postgres.move(os.path.join(directory, 'pg_wal'), os.path.join(base, 'pg_wal'))
        if workload.keep_end:
            keep_end(build, directory, os.path.join(base, 'pg_wal'))
            postgres.move(directory, os.path.join(home, 'end'))
        postgres.remove_tree(directory)
        postgres.move(base, directory)
    control = postgres.control_data(build, directory)
    redo = control["Latest checkpoint's REDO location"]
    trim_wal(directory, postgres.parse_lsn(redo))
    os.sync()
    return {
        'workload': workload.name,
        'about': workload.about,
        'server_version': build.version,
        'redo_lsn': redo,
        'end_lsn': end,
        'wal_bytes': postgres.parse_lsn(end) - postgres.parse_lsn(redo),
        'data_bytes': host.tree_size(directory),
        'primary': dataclasses.asdict(rate) if rate else None,
    }


def remove_images(home, program, facts, say):
    """Archive the WAL of a new image without full-page images; returns what that did, in sum."""
    say(f'{facts["workload"]}: removing full-page images from its WAL')
    wal = os.path.join(home, 'data', 'pg_wal')
    ours = os.path.join(home, 'redoahead')
    postgres.install_program(ours, program)
    found = {}
    for name in sorted(os.listdir(wal)):
        path = os.path.join(wal, name)
        # The last one is not sealed, because it is not complete.
        if len(name) != 24 or os.stat(path).st_mode & 0o777 != postgres.SEALED:
            continue
        summary = json.loads(postgres.run([ours, 'lesslog', '--json', path, f'{path}.new']))
        if summary.get('unchanged_reason'):
            raise postgres.PostgresError(f'{path}: {summary["unchanged_reason"]}')
        postgres.run(['chmod', f'{postgres.SEALED:o}', f'{path}.new'])
        postgres.move(f'{path}.new', path)
        for key in SUMMED:
            found[key] = found.get(key, 0) + summary[key]
    os.remove(ours)
    os.sync()
    return found


def keep_end(build, directory, wal):
    """Give a cluster that was shut down as much of its WAL as it starts with."""
    first = postgres.control_data(build, directory)["Latest checkpoint's REDO WAL file"]
    own = os.path.join(directory, 'pg_wal')
    postgres.make_directory(own)
    postgres.run(['cp', '-a', '-t', own, *(os.path.join(wal, name) for name in os.listdir(wal)
                                           if len(name) == 24 and name >= first)])


def trim_wal(directory, redo_lsn):
    """Make the WAL of an image cheap to copy.

    Segments that recovery does not need go: those before the redo location,
    and those whose first page is not of their own place in the WAL, which were
    made ahead or recycled.  All others but the last are sealed: recovery
    only reads them, so copies of the image can share them.
    """
    wal = os.path.join(directory, 'pg_wal')
    kept, spare = [], []
    for name in sorted(os.listdir(wal)):
        path = os.path.join(wal, name)
        if len(name) != 24 or not os.path.isfile(path):
            continue
        size = os.path.getsize(path)
        start = (int(name[8:16], 16) << 32) + int(name[16:], 16) * size
        with open(path, 'rb') as file:
            # XLogPageHeaderData: magic, info, timeline, page address
            page_address = struct.unpack('<HHIQ', file.read(16))[3]
        if start + size <= redo_lsn or page_address != start:
            spare.append(path)
        else:
            kept.append(path)
    for command, paths in ((['rm'], spare), (['chmod', f'{postgres.SEALED:o}'], kept[:-1])):
        if paths:
            postgres.run([*command, '--', *paths])

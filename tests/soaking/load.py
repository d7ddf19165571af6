"""The load of the primary: pgbench with scripts that do what changes files.

Updates of random rows, rows at random places of many indexes, tables that are
truncated, created and dropped, and checkpoints.  What the tables hold does not grow.
"""
import signal

from bench import postgres

CLIENTS = 4
SCALE = 2                       # more pages than a standby's buffers
ROWS = 20000                    # of table "indexed"

SCHEMA = f"""create extension amcheck;
create table indexed (id int primary key, h int, j jsonb, p point, t text);
insert into indexed select i, i % 999, jsonb_build_array(i % 500), point(i % 97, i % 89), md5(i::text)
    from generate_series(1, {ROWS}) i;
create index on indexed (t); create index on indexed using hash (h); create index on indexed using gin (j);
create index on indexed using gist (p);
create table emptied (id int primary key, t text);"""

SCRIPTS = {                     # name -> (weight, text)
    'update': (6000, f"""\\set id random(1, {100000 * SCALE})
\\set delta random(-5000, 5000)
begin;
update pgbench_accounts set abalance = abalance + :delta where aid = :id;
update pgbench_tellers set tbalance = tbalance + :delta where tid = :id % {10 * SCALE} + 1;
end;
"""),
    'insert': (3000, f"""\\set old random(1, {ROWS})
\\set new random(1, {ROWS})
begin;
delete from indexed where id = :old;
insert into indexed values (:new, :old % 999, jsonb_build_array(:old % 500), point(:old % 97, :new % 89),
    md5((:new + :old)::text)) on conflict (id) do update set h = excluded.h, t = excluded.t;
savepoint a;
insert into emptied values (:old, 'rolled back') on conflict do nothing;
rollback to a;
insert into emptied values (:new, repeat('e', 300)) on conflict do nothing;
end;
"""),
    'truncate': (80, 'truncate emptied;\n'),
    'tables': (200, """drop table if exists made_:client_id;
create table made_:client_id (id int primary key, t text);
insert into made_:client_id select i, repeat('m', 300) from generate_series(1, 2000) i;
delete from made_:client_id where id % 3 = 0;
"""),
    'checkpoint': (1, 'checkpoint;\n'),
}


class Load:
    """pgbench, which is started again whenever it has ended."""

    def __init__(self, build, primary, directory, rate):
        self.build = build
        self.primary = primary
        self.log = f'{directory}/pgbench.log'
        self.rate = rate        # transactions per second
        self.process = None
        self.starts = 0
        self.files = []         # arguments of pgbench
        for name, (weight, text) in SCRIPTS.items():
            path = f'{directory}/{name}.sql'
            with open(path, 'w', encoding='ascii') as file:
                file.write(text)
            self.files += ['-f', f'{path}@{weight}']

    def prepare(self):
        """Make the tables."""
        postgres.run([self.build.program('pgbench'), '-i', '-q', '-s', str(SCALE), '-h', self.primary.data,
                      'postgres'])
        self.primary.server.session([SCHEMA])

    def tend(self):
        """Start it if it does not run."""
        if (self.process and self.process.running()) or not self.primary.accepts():
            return
        self.starts += 1
        self.process = postgres.Process(
            [self.build.program('pgbench'), '-n', '-c', str(CLIENTS), '-T', '1000000', '--rate', str(self.rate),
             '--random-seed', str(self.starts), '-h', self.primary.data, *self.files, 'postgres'], self.log)

    def end(self):
        if self.process:
            self.process.end(signal.SIGINT)

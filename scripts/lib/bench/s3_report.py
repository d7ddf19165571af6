"""The report of scenario S3 in Markdown: the table of 2021, on today's PostgreSQL."""

# Rows of 2021: method, ms, bytes of WAL.
IN_2021 = (
    ('off', 1639, 20357193), ('pglz', 3363, 11644224), ('zlib', 2167, 5611653),
    ('lz4', 1613, 12397123), ('zstd(6)', 1809, 6395993),
)

# Heading, measure, format, for the tables of index builds and of replays.
BUILDS = (('time ms', 'ms', '{:.0f}'), ('CPU ms', 'cpu_ms', '{:.0f}'),
          ('wal_bytes', 'wal_bytes', '{:.0f}'), ('images', 'images', '{:.0f}'))
REPLAYS = (('startup CPU ms', 'replay_cpu_ms', '{:.0f}'), ('redo ms', 'replay_ms', '{:.0f}'))
ABOUT = {
    'sequential': 'CREATE INDEX, table in order',
    'shuffled': 'CREATE INDEX, table in random order',
    'replay': 'replay of ten such indexes, table in order',
}


def line(cells):
    return '| ' + ' | '.join(str(cell) for cell in cells) + ' |'


def table_markdown(name, rows):
    columns = REPLAYS if name == 'replay' else BUILDS
    lines = [f'### {ABOUT[name]}', '',
             line(['server', 'method', *(heading for heading, _, _ in columns)]),
             '|' + '---|' * (2 + len(columns))]
    for key, row in rows.items():
        build, method = key.split(' ', 1)
        lines.append(line([build, method, *(form.format(row[measure])
                                            for _, measure, form in columns)]))
    if name == 'sequential':
        lines += [line(['*2021*', method, milliseconds, '–', size, '–'])
                  for method, milliseconds, size in IN_2021]
    return '\n'.join(lines) + '\n'


def markdown(result):
    """The whole report."""
    head = (f'{result["cpus"]} × {result["cpu_model"]}, {result["kernel"]}; PostgreSQL '
            f'{result["postgresql"]["stock"]}; {result["filesystem"]}; commit {result["commit"]}; '
            f'{result["date"]}. {result["rows"]} rows, medians of {result["rounds"]} rounds.')
    parts = [f'## S3, size {result["size"]}', head]
    parts += [table_markdown(name, rows) for name, rows in result['medians'].items()]
    parts.append('One backend, no parallel workers, rollback, no checkpoint, no autovacuum. '
                 'wal_bytes are those of records, without page headers. CPU is that of the '
                 'backend, or of the startup process. The rows of 2021 are from another machine.\n')
    return '\n\n'.join(parts)

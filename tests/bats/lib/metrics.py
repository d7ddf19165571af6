"""Metrics in Prometheus' text format, and what Grafana's dashboard makes of them.

usage: metrics.py names FILE...          names of metrics that rules, queries or documents have
       metrics.py document NAME          a status document from standard input, with another
                                         data directory
       metrics.py directory NAME         samples from standard input that have another one
       metrics.py watch FILE TEXT TEXT   read a file until it was each of two texts many times;
                                         it must never be anything else
       metrics.py dashboard FILE         what is wrong with a dashboard
       metrics.py queries FILE           its queries
       metrics.py test FILE METRICS      a test for promtool: each query returns something
"""
import json
import os
import re
import sys

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\.)*)"')

# What Grafana puts in place of its variables.
VARIABLES = {'$__rate_interval': '5m', '$instance': 'db', '$data_directory': '/var/lib/postgresql/18/main'}

# Units that the dashboard may use, by Grafana's identifiers.
UNITS = {'bool', 'bytes', 'binBps', 'dateTimeFromNow', 'none', 'percentunit', 'reqps', 's', 'short'}

# A text was read often enough.
READS = 1000

# Grafana lays panels out in so many columns.
COLUMNS = 24


def samples(lines):
    """Name, labels and value of each sample; a line that is none is an error."""
    for line in lines:
        if line.startswith('#'):
            continue
        match = SAMPLE.fullmatch(line.rstrip('\n'))
        if not match:
            sys.exit(f'no sample: {line!r}')
        yield match[1], LABEL.findall(match[2]), match[3]


def unescaped(value):
    return re.sub(r'\\(.)', lambda match: '\n' if match[1] == 'n' else match[1], value)


def names(*paths):
    for path in paths:
        with open(path) as file:
            yield from re.findall(r'\bredoahead_\w+', file.read())


def document(name):
    """Bytes that are no UTF-8 stay as they are."""
    status = json.load(sys.stdin)
    status['data_directory'] = name
    sys.stdout.buffer.write(json.dumps(status, ensure_ascii=False).encode(errors='surrogateescape'))


def directory(name):
    """Bytes that are no UTF-8 become U+FFFD, as control characters do; a newline is escaped."""
    expected = name.encode(errors='surrogateescape').decode(errors='replace')
    expected = re.sub('[\x00-\x09\x0b-\x1f\x7f-\x9f]', '\ufffd', expected)
    for sample, labels, _ in samples(sys.stdin):
        if unescaped(dict(labels)['data_directory']) != expected:
            yield f'{sample} {labels}'


def watch(path, *texts):
    expected = []
    for text in texts:
        with open(text, 'rb') as file:
            expected.append(file.read())
    reads = [0] * len(expected)
    while min(reads) < READS:
        with open(path, 'rb') as file:
            found = file.read()
        if found not in expected:
            sys.exit(f'{path}: neither text, but {len(found)} bytes')
        reads[expected.index(found)] += 1


def load(path):
    with open(path) as file:
        return json.load(file)


def panels(dashboard):
    return [panel for panel in dashboard['panels'] if panel['type'] != 'row']


def queries(path):
    dashboard = load(path)
    for owner in panels(dashboard):
        for target in owner['targets']:
            yield target['expr']
    for annotation in dashboard['annotations']['list']:
        yield annotation['expr']
    for variable in dashboard['templating']['list']:
        if variable['type'] == 'query':
            yield variable['query']['query']


def overlap(one, other):
    return (one['x'] < other['x'] + other['w'] and other['x'] < one['x'] + one['w'] and
            one['y'] < other['y'] + other['h'] and other['y'] < one['y'] + one['h'])


def panel_faults(panel):
    """What is wrong with one panel."""
    if panel['type'] not in ('stat', 'gauge', 'timeseries', 'state-timeline', 'row'):
        yield f'type {panel["type"]} is unknown'
    place = panel['gridPos']
    if place['x'] < 0 or place['x'] + place['w'] > COLUMNS or min(place['w'], place['h']) < 1:
        yield f'is out of the grid: {place}'
    if panel['type'] == 'row':
        return
    if not panel.get('description'):
        yield 'has no description'
    if panel['fieldConfig']['defaults'].get('unit') not in UNITS:
        yield f'has no known unit: {panel["fieldConfig"]["defaults"].get("unit")}'
    if panel['datasource'] != {'type': 'prometheus', 'uid': '${datasource}'}:
        yield 'has a data source of its own'
    references = [target['refId'] for target in panel['targets']]
    if not references or len(set(references)) < len(references):
        yield f'has no queries, or two of the same refId: {references}'
    legends = {target['legendFormat'] for target in panel['targets']}
    for override in panel['fieldConfig'].get('overrides', []):
        if override['matcher'] != {'id': 'byName', 'options': override['matcher']['options']} or \
                override['matcher']['options'] not in legends:
            yield f'overrides what no query returns: {override["matcher"]}'


def dashboard(path):
    """What is wrong with a dashboard; what the format requires and is missing is a KeyError."""
    board = load(path)
    for member, kind in (('title', str), ('uid', str), ('schemaVersion', int), ('version', int), ('tags', list),
                         ('editable', bool), ('refresh', str), ('time', dict), ('timezone', str)):
        if not isinstance(board[member], kind):
            yield f'{member} is no {kind.__name__}'
    # An imported dashboard gets its number from the server.
    if board['id'] is not None or not re.fullmatch('[a-z-]{8,40}', board['uid']):
        yield 'id and uid are not those of a dashboard to import'
    identifiers = [panel['id'] for panel in board['panels']]
    if len(set(identifiers)) < len(identifiers):
        yield 'two panels have the same id'
    for panel in board['panels']:
        for fault in panel_faults(panel):
            yield f'panel {panel["title"]}: {fault}'
        for other in board['panels']:
            if panel is not other and overlap(panel['gridPos'], other['gridPos']):
                yield f'panel {panel["title"]} overlaps {other["title"]}'
    variables = {f'${variable["name"]}' for variable in board['templating']['list']}
    for query in queries(path):
        for used in re.findall(r'\$\w+', query):
            if used not in variables and used not in VARIABLES:
                yield f'nothing defines {used}: {query}'


def series(path):
    """The samples of a document as series of promtool; counters grow."""
    with open(path) as file:
        lines = file.readlines()
    counters = {line.split()[2] for line in lines if line.startswith('# TYPE') and line.endswith(' counter\n')}
    for name, labels, value in samples(lines):
        text = ','.join(f'{label}="{content}"' for label, content in [('instance', 'db'), *labels])
        yield {'series': f'{name}{{{text}}}', 'values': value + ('+60x40' if name in counters else 'x40')}


def promtool_test(path, metrics):
    """JSON is YAML, too."""
    checks = []
    for query in queries(path):
        if 'label_values(' in query or query.startswith('ALERTS'):
            continue
        for variable, value in VARIABLES.items():
            query = query.replace(variable, value)
        checks.append({'expr': f'count({query}) > bool 0', 'eval_time': '9m',
                       'exp_samples': [{'labels': '{}', 'value': 1}]})
    json.dump({'evaluation_interval': '15s', 'tests': [
        {'interval': '15s', 'input_series': list(series(metrics)), 'promql_expr_test': checks}]}, sys.stdout)


def main():
    command, *arguments = sys.argv[1:]
    function = {'names': names, 'document': document, 'directory': directory, 'watch': watch,
                'dashboard': dashboard, 'queries': queries, 'test': promtool_test}[command]
    for line in function(*arguments) or ():
        os.write(1, f'{line}\n'.encode(errors='surrogateescape'))


main()

"""The command line of the benchmarks: parses, runs scenarios, and shows results."""
import argparse
import os
import sys
import textwrap

from . import device, plot, postgres, report, results, runner, scenarios, script

DESCRIPTION = """Measure redoahead against stock PostgreSQL.

  bench SCENARIO...         measure; tables go to standard output
  bench report FILE         show a result again
  bench compare OLD NEW     show two results side by side
  bench readme FILE         write the table of a result into README.md

Each run recovers a fresh copy of a crashed cluster, or does what its scenario declares; the
configurations take turns.  Crashed clusters are made once and kept (in REDOAHEAD_BENCH_DIR,
default /var/tmp/redoahead-bench-UID).  Nothing else stays, whatever the end is: no server, no
array, no file system, no cgroup, no copy.
"""


def size(text):
    if text in ('small', 'full'):
        return text
    try:
        if not 0.01 <= float(text) <= 1000:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text} is none of small, full, and a number from '
                                         '0.01 to 1000') from None
    return text


def names(text):
    return text.split(',')


def epilog():
    """What each scenario has."""
    lines = []
    for name in scenarios.names():
        each = scenarios.find(name)
        parts = each.parts('full')
        known = dict.fromkeys(config for part in parts for config in part.configs)
        lines += [f'{name}: {each.about}']
        lines += [textwrap.fill(f'{title}: {" ".join(found)}', 79, initial_indent='  ',
                                subsequent_indent='      ', break_on_hyphens=False)
                  for title, found in (('cases', [part.name for part in parts]),
                                       ('configurations', known)) if found]
    return '\n'.join(lines)


def arguments(words):
    parser = argparse.ArgumentParser(
        prog='bench', description=DESCRIPTION, epilog=epilog(),
        usage='bench SCENARIO... [OPTION...]', formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('scenario', nargs='+', choices=scenarios.names(), metavar='SCENARIO',
                        help=', '.join(scenarios.names()))
    parser.add_argument('--device', default='ssd', metavar='ssd|raid0|raid10|gp3|DIR',
                        help='ssd: the file system of REDOAHEAD_BENCH_DIR (default); arrays keep '
                        'their disks in REDOAHEAD_DISKLAB_DIR (default: beside the images)')
    parser.add_argument('--size', type=size, default='full', metavar='small|full|NUMBER',
                        help='small: to try it out; NUMBER: that many times the load of full')
    parser.add_argument('--case', type=names, metavar='C,..', help='only these cases')
    parser.add_argument('--config', type=names, metavar='C,..',
                        help='only these configurations')
    parser.add_argument('--rounds', type=script.positive, metavar='N',
                        help=f'how often; off only once if it takes {runner.LONG} s')
    parser.add_argument('--output', metavar='DIR',
                        help='write DIR/SCENARIO.jsonl, with all runs, and DIR/SCENARIO.md')
    parser.add_argument('--plots', action='store_true', help='draw plots into --output, too')
    parser.add_argument('--resume', action='store_true',
                        help='go on with an interrupted run that wrote to the same --output')
    parser.add_argument('--before', metavar='CHECKOUT',
                        help='another checkout of redoahead, with its program and the patched '
                        'server built: its recoveries (configuration before) take turns, too')
    parser.add_argument('--images-only', action='store_true',
                        help='make the crashed clusters that are missing; measure nothing')
    owners = {}                 # of the options that only one scenario has
    for each in map(scenarios.find, scenarios.names()):
        for flag, more in each.options:
            owners[parser.add_argument(flag, **more)] = each.name
    options = parser.parse_args(words)
    found = [scenarios.find(name) for name in options.scenario]
    for option, name in owners.items():
        if name not in options.scenario and getattr(options, option.dest) != option.default:
            parser.error(f'{option.option_strings[0]} is an option of {name}')
    if (options.resume or options.plots) and not options.output:
        parser.error('--resume and --plots need --output')
    for each in found:
        if options.device in device.ARRAYS and not each.arrays:
            parser.error(f'{each.name} is not for arrays; --device can name a directory')
        if 'before' in (options.config or ()) and not options.before:
            parser.error('the configuration before needs --before')
        if options.before and not each.has_before():
            parser.error(f'{each.name} has no recoveries to compare with those of --before')
        if options.size not in ('small', 'full') and not each.numbers:
            parser.error(f'{each.name} has only the sizes small and full')
    return options


def show(scenario, result, output=None, plots=False):
    """Print the report; write it, and draw plots, into a directory."""
    pictures = plot.draw(scenario, result, output) if plots else []
    text = report.markdown(scenario, result, pictures)
    if output:
        results.write(os.path.join(output, f'{scenario.name}.md'), text)
    print(text)


def measure(words):
    """Run scenarios; returns the exit status."""
    options, failed = arguments(words), False
    if options.plots:
        plot.require()
    for name in options.scenario:
        scenario, path, traces = scenarios.find(name), None, None
        if options.output:
            path = os.path.join(options.output, f'{name}.jsonl')
            traces = os.path.join(options.output, 'traces')
        result = runner.run(scenario, argparse.Namespace(**vars(options)), path, traces)
        if result:
            show(scenario, result, options.output, options.plots)
            failed |= bool(scenario.failed and scenario.failed(result.runs))
    return int(failed)


def show_again(words):
    parser = argparse.ArgumentParser(prog='bench report')
    parser.add_argument('file')
    parser.add_argument('--plots', action='store_true', help='draw plots beside it')
    options = parser.parse_args(words)
    result = results.read(options.file)
    show(scenarios.find(result.header['scenario']), result,
         os.path.dirname(options.file) if options.plots else None, options.plots)


def compare(words):
    parser = argparse.ArgumentParser(prog='bench compare')
    parser.add_argument('old')
    parser.add_argument('new')
    options = parser.parse_args(words)
    old, new = results.read(options.old), results.read(options.new)
    for each in report.warnings(old, new):
        print(f'bench: warning: {each}', file=sys.stderr)
    print(report.comparison(scenarios.find(new.header['scenario']), old, new))


def readme(words):
    parser = argparse.ArgumentParser(prog='bench readme')
    parser.add_argument('file', help='a result with redo times')
    parser.add_argument('page', nargs='?', default=os.path.join(postgres.ROOT, 'README.md'))
    options = parser.parse_args(words)
    with open(options.page, encoding='utf-8') as file:
        text = file.read()
    results.write(options.page, report.put_into(
        text, os.path.relpath(os.path.realpath(options.file), postgres.ROOT),
        results.read(options.file)).rstrip('\n'))


def main(words=None):
    words = sys.argv[1:] if words is None else words
    commands = {'report': show_again, 'compare': compare, 'readme': readme}
    if words and words[0] in commands:
        commands[words[0]](words[1:])
        return 0
    return measure(words)

"""What the man pages and the sources state, one fact a line, for docs.bats to compare.

usage: docs.py help < OUTPUT       options of --help: names, range, default
       docs.py options PAGE        the same of a man page
       docs.py ranges PAGE         option, minimum, maximum
       docs.py rows PAGE SECTION   first columns of the tables of a section
       docs.py members JSON FILE   members of a statistics file, and those that a source adds
       docs.py unexplained PAGE... messages of the sources that no TROUBLESHOOTING names
       docs.py unknown PAGE...     messages under TROUBLESHOOTING that no source has
       docs.py broken FILE...      links and paths in Markdown that lead nowhere
"""
import glob
import json
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../..')


def sources():
    for pattern in ('userspace/**/*.c', 'pg-patch/redoahead/*.c'):
        for path in glob.glob(os.path.join(TOP, pattern), recursive=True):
            with open(path) as file:
                # Adjacent literals are one.
                yield re.sub(r'"\s*\n\s*"', '', file.read())


def plain(text):
    """A line of a man page without its macros' escapes."""
    for escape, character in ((r'\-', '-'), (r'\(aq', "'"), (r'\ ', ' ')):
        text = text.replace(escape, character)
    return re.sub(r'\\f[A-Z]', '', text)


def page(path):
    with open(path) as file:
        return [plain(line.rstrip('\n')) for line in file if not line.startswith(('.\\"', "'\\"))]


def section(lines, name):
    """The lines of a section, up to the next heading of its rank or a higher one."""
    found, rank = [], None
    for line in lines:
        if re.match(r'\.S[HS] ', line):
            if line[4:].strip('"') == name:
                rank = line[:3]
                continue
            if rank == '.SS' or line.startswith('.SH'):
                rank = None
        if rank:
            found.append(line)
    return found


def words(line):
    """What a line with a font macro prints, word by word; the macro first."""
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', line)]


def printed(line):
    macro, *arguments = words(line) or ['']
    if not re.fullmatch(r'\.[BIR]+', macro):
        return line
    return ('' if len(macro) == 3 else ' ').join(arguments)


def text(lines):
    return ' '.join(printed(line) for line in lines
                    if not re.match(r'\.(PP|RS|RE|IP|TP)', line))


def fact(names, description):
    limits = re.search(r'(\d[\d.]*) to (\d+)', description)
    default = re.search(r'[Dd]efault: (.*?)(?:\.$|\)$)', description.strip())
    return ' '.join([re.sub(r'[\s,]+', ' ', names).strip(),
                     f'{limits[1]}..{limits[2]}' if limits else '-',
                     default[1] if default else '-'])


def help_options(output):
    for line in re.sub(r'\n {20,}', ' ', output).splitlines():
        option = re.match(r' {2,6}((?:-., )?--\S+)\s*(.*)', line)
        if option:
            yield fact(option[1], option[2])


def page_options(path):
    entries = '\n'.join(section(page(path), 'OPTIONS')).split('.TP\n')[1:]
    for entry in entries:
        names, *description = entry.split('\n')
        yield fact(printed(names), text(description))


def rows(path, name):
    inside = False
    for line in section(page(path), name):
        if line in ('.TS', '.TE'):
            inside = line == '.TS'
        elif inside and re.match(r'[a-z_]+\t', line) and not line.endswith('\tmeaning'):
            yield line.split('\t')[0]


def members(path, source):
    def walk(value):
        for name, inner in value.items():
            yield name
            if isinstance(inner, dict) and '_by_' not in name:
                yield from walk(inner)
    with open(path) as file:
        yield from walk(json.load(file))
    with open(source) as file:
        yield from re.findall(r'(?:add|json)\w*\(\w+, "([a-z_]+)"', file.read())


def pieces(message):
    """The parts of a format that are always the same."""
    parts = re.split(r'%[-+ #0-9.*]*[a-zA-Z]+|%$|[";:,()]|\\"', re.sub(r'" PRI\w+\s*"', 'd', message))
    return [part.strip() for part in parts if len(part.strip()) >= 5]


def tags(path):
    """What TROUBLESHOOTING prints in bold or italics, piece by piece."""
    lines = section(page(path), 'TROUBLESHOOTING')
    for before, line in zip(lines, lines[1:]):
        if before == '.TP' and line.startswith('.'):
            macro, *arguments = words(line)
            yield from arguments[::2] if macro in ('.BR', '.IR', '.BI') else [' '.join(arguments)]


def unexplained(paths):
    explained = ' '.join(text(section(page(path), 'TROUBLESHOOTING')) for path in paths)
    call = re.compile(r'(?:(?:log_(?:error|warning|info)|errmsg|errdetail)\(|drop\(c,|complain\(options,)\s*'
                      r'"((?:[^"\\]|\\.|" PRI\w+\s*")*)"')
    for source in sources():
        for message in call.findall(source):
            if pieces(message) and not any(piece in explained for piece in pieces(message)):
                yield message


def unknown(paths):
    known = '\n'.join(sources()).replace('\\"', '"')
    for path in paths:
        for tag in tags(path):
            if len(tag.strip()) > 2 and tag.strip() not in known:
                yield tag


def broken(paths):
    for path in paths:
        with open(path) as file:
            content = file.read()
        place = os.path.dirname(path)
        for link in re.findall(r'\]\(([^)#:]+)[^):]*\)', content):
            if not os.path.exists(os.path.join(place, link)):
                yield f'{path}: ({link})'
        names = re.findall(r'`((?:bpf|pg-patch|scripts|tests|userspace)/[\w./-]*[\w/])', content)
        names += re.findall(r'`([\w./-]+\.(?:bt|c|h|py|sql|patch))`(?! in the patched)', content)
        bases = ('', place, 'pg-patch/redoahead')
        for name in names:
            if 'NAME' not in name and \
                    not any(os.path.exists(os.path.join(TOP, base, name)) for base in bases):
                yield f'{path}: `{name}`'


def main(verb, *arguments):
    if verb == 'help':
        facts = help_options(sys.stdin.read())
    elif verb == 'ranges':
        found = [re.search(r'(--[\w-]+)\S* ([\d.]+)\.\.(\d+) ', line)
                 for line in page_options(*arguments)]
        facts = [' '.join(limits.groups()) for limits in found if limits]
    else:
        facts = {'options': page_options, 'rows': rows, 'members': members}.get(verb)
        facts = facts(*arguments) if facts else globals()[verb](arguments)
    print('\n'.join(sorted(set(facts))))


if __name__ == '__main__':
    main(*sys.argv[1:])

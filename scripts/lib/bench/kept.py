"""What is made once and kept for later runs, such as crashed clusters and pages.

Each is a directory with a file made.json, which is written last and holds the parameters that
it was made with; with other parameters it is made anew.
"""
import json
import os

from . import host, postgres


def find_or_make(home, parameters, make, say):
    """The facts of what is kept in a directory, a dictionary.

    make() makes it if it is not there, and returns facts beside the parameters.  Of two runs
    that want it, the second one waits for the first.
    """
    parameters = json.loads(json.dumps(parameters))     # as they are read from the file
    path = os.path.join(home, 'made.json')
    os.makedirs(os.path.dirname(home), exist_ok=True)
    with host.locked(home + '.lock', lambda: say(f'another run makes {home}: waiting for it')):
        try:
            with open(path, encoding='utf-8') as file:
                facts = json.load(file)
            if facts['parameters'] == parameters:
                return facts
            say(f'{home} was made with other parameters: making it anew')
        except (OSError, ValueError, KeyError, TypeError):
            if os.path.lexists(home):
                say(f'{home} is not complete, or of another version: making it anew')
        # A version before made a file of that name.
        if os.path.lexists(home) and not os.path.isdir(home):
            os.remove(home)
        postgres.remove_tree(home)
        try:
            facts = {**(make() or {}), 'parameters': parameters}
        except BaseException:
            with host.uninterrupted():
                postgres.remove_tree(home)
            raise
        with host.create(path, encoding='utf-8') as file:
            json.dump(facts, file, indent=2)
        return facts

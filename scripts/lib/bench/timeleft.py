"""How good was the time left that a daemon showed during a recovery?"""
import json
import os
import socket

BEGIN = 0.2                     # estimates count from this part of the time on


def document(path):
    """The status document that a daemon sends on its socket; None if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(10)
        fd = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            client.connect(f'/proc/self/fd/{fd}/{os.path.basename(path)}')
            parts = []
            while part := client.recv(65536):
                parts.append(part)
        except OSError:
            return None
        finally:
            os.close(fd)
    return json.loads(b''.join(parts))


def errors(recovery):
    """Of an ended recovery: its time, and the errors of the estimates from BEGIN on, as parts
    of that time and of what was really left: the mean and the greatest; None if there were
    no estimates, or the daemon did not learn when redo was done."""
    if recovery['stalled_seconds'] is None:
        return None
    history = recovery['history']
    # Without the checkpoint after redo.
    whole = recovery['elapsed_seconds'] - recovery['stalled_seconds']
    of_whole, of_left = [], []
    for elapsed, estimate in zip(history['elapsed_seconds'], history['time_left_seconds']):
        left = whole - elapsed
        if elapsed < BEGIN * whole or estimate is None or left <= 0:
            continue
        of_whole.append(abs(estimate - left) / whole)
        of_left.append(abs(estimate - left) / left)
    if not of_whole:
        return None
    return {'seconds': whole, 'estimates': len(of_whole),
            'mean_of_whole': round(sum(of_whole) / len(of_whole), 3),
            'max_of_whole': round(max(of_whole), 3),
            'mean_of_left': round(sum(of_left) / len(of_left), 3),
            'max_of_left': round(max(of_left), 3)}


def of_last_recovery(path):
    """errors() of the last recovery of the daemon that has this socket."""
    found = document(path)
    recovery = found and (found['last_recovery'] or found['recovery'])
    return errors(recovery) if recovery else None

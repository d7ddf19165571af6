"""Who recovers: which server, with which settings, with or without daemon."""
import signal
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Config:
    """One way to recover a cluster."""
    name: str
    about: str                  # a few words for tables
    build: str                  # stock, patched, before (of --before), or pg13-compactify
    settings: dict = field(default_factory=dict)
    daemon: bool = False        # is a redoahead daemon running?
    follow: bool = False        # is that daemon `redoahead follow`, and no part of the server?
    restore: bool = False       # with an archive: does `redoahead restore` fetch from it?
    warm: bool = False          # are all files in the page cache before?
    accidents: tuple = ()       # (part of the WAL, signal to the daemon), in order
    traced: str = None          # by `redoahead trace` (trace), or the kernel's events (pages)


STOCK_DEFAULT = {'recovery_prefetch': 'try', 'maintenance_io_concurrency': '16'}
EXTENSION = {'shared_preload_libraries': 'redoahead', **STOCK_DEFAULT}
# So that accidents come in time.
FOLLOWED = {**EXTENSION, 'log_startup_progress_interval': '10ms'}

CONFIGS = {config.name: config for config in (
    Config('off', 'stock, prefetch off', 'stock', {'recovery_prefetch': 'off'}),
    Config('default', 'stock default (try, 16)', 'stock', STOCK_DEFAULT),
    Config('try-200', 'stock, try, 200', 'stock',
           {'recovery_prefetch': 'try', 'maintenance_io_concurrency': '200'}),
    Config('try-1000', 'stock, try, 1000, 16 MB', 'stock',
           {'recovery_prefetch': 'try', 'maintenance_io_concurrency': '1000',
            'wal_decode_buffer_size': '16MB'}),
    Config('redoahead', 'redoahead', 'patched', EXTENSION, daemon=True),
    Config('follow', 'stock, off, and redoahead follow', 'stock', {'recovery_prefetch': 'off'},
           daemon=True, follow=True),
    Config('before', 'redoahead of --before', 'before', EXTENSION, daemon=True),
    Config('traced', 'redoahead, and redoahead trace', 'patched', EXTENSION, daemon=True,
           traced='trace'),
    Config('pages', 'redoahead, and page cache events', 'patched', EXTENSION, daemon=True,
           traced='pages'),
    Config('no-prefault', 'redoahead, prefault off', 'patched',
           {**EXTENSION, 'redoahead.prefault': '0'}, daemon=True),
    Config('decoder', 'redoahead, decoder on', 'patched',
           {**EXTENSION, 'redoahead.decoder': 'on'}, daemon=True),
    Config('no-defer', 'redoahead, defer_checkpoint off', 'patched',
           {**EXTENSION, 'redoahead.defer_checkpoint': 'off'}, daemon=True),
    Config('absent', 'extension, no daemon', 'patched', EXTENSION),
    Config('unset', 'extension, no socket set', 'patched',
           {**EXTENSION, 'redoahead.socket': ''}),
    Config('killed', 'daemon killed after 1/4', 'patched', FOLLOWED, daemon=True,
           accidents=((0.25, signal.SIGKILL),)),
    Config('stopped', 'daemon stopped from 1/4 to 3/4', 'patched', FOLLOWED, daemon=True,
           accidents=((0.25, signal.SIGSTOP), (0.75, signal.SIGCONT))),
    Config('patched', 'patched, no extension', 'patched', STOCK_DEFAULT),
    Config('off-warm', 'stock, off, cache warm', 'stock', {'recovery_prefetch': 'off'},
           warm=True),
    Config('follow-warm', 'stock, off, cache warm, and redoahead follow', 'stock',
           {'recovery_prefetch': 'off'}, daemon=True, follow=True, warm=True),
    Config('default-warm', 'stock default, cache warm', 'stock', STOCK_DEFAULT, warm=True),
)}

# What counts as stock at its best is the one of these with the least median.
STOCK_COLD = ('off', 'default', 'try-200', 'try-1000')

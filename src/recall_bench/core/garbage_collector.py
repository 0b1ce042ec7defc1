"""Python's garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect nothing meanwhile.

    Where millions of objects are made that all stay, it looks through them again and again: a
    megabyte of YAML took ten times as long.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

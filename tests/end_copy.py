"""End a copy of a process of tests as an interpreter ends."""

import atexit
import os
import sys
import threading
from typing import NoReturn

_OUTPUT_LOST = 120
"""The exit code of an interpreter that could not write out what was printed."""


def end_copy(code: int) -> NoReturn:
    """End a copy as an interpreter ends, but without taking apart what it shares with the server.

    That would first copy every page of it: a tenth of a second. `multiprocessing` does the same.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            code = _OUTPUT_LOST
    os._exit(code)

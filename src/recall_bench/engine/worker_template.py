"""The process that workers are copies of: it imports what they need once, and runs no system."""

import gc
import importlib
import os
import sys
from contextlib import suppress

from recall_bench.core.fork_server import end_copy, serve_forks


def main() -> None:
    """Import the modules that are named, then serve as a worker in each copy of this process."""
    for name in sys.argv[1].split(","):
        # What the driver has and this process cannot import, a worker that needs it will miss.
        with suppress(ImportError):
            importlib.import_module(name)
    from recall_bench.engine import worker_process

    # A collection in a worker would write to, and so copy, every page that it shares.
    gc.freeze()
    os.chdir(serve_forks())
    worker_process.main()
    end_copy(0)


if __name__ == "__main__":
    main()

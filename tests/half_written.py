"""A process that dies while it writes a file, however it writes it."""

import os
import signal
from pathlib import Path
from typing import Never


def die_half_way() -> None:
    """Let this process die with half of the next file written, before it takes its place."""

    def cut(path: Path, target: object) -> Never:
        os.truncate(path, path.stat().st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it was killed")

    Path.replace = cut  # type: ignore[method-assign,assignment]

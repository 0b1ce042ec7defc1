"""A command in a fork of a warm process, which neither prints nor returns."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NoReturn

from recall_bench.cli.main import main


def end_with(words: list[str]) -> NoReturn:
    """Run the command in this process, which is a child, and end it with the command's code."""
    sys.argv = ["recall-bench", *words]
    code = 99
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 98
    finally:
        os._exit(code)

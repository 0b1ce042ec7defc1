"""A command in a fork of a warm process, which neither prints nor returns."""

import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from recall_bench.cli.main import main


def end_with(words: list[str], log: Path | None = None) -> NoReturn:
    """Run the command in this process, which is a child, and end it with the command's code.

    Its standard error goes to the log, if there is one.
    """
    code: object = 99
    try:
        nowhere = Path(os.devnull)
        sys.stdout, sys.stderr = nowhere.open("w"), (log or nowhere).open("w")
        os.dup2(sys.stdout.fileno(), 1)
        os.dup2(sys.stderr.fileno(), 2)
        sys.argv = ["recall-bench", *words]
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 98)

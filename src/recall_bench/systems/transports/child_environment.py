"""The environment of a program that belongs to a contestant: nothing that it was not given."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from recall_bench.core.errors import UsageError
from recall_bench.core.runtime import IS_WINDOWS

STATE_DIR = "RECALL_BENCH_STATE_DIR"
"""The environment variable with the program's own folder."""

ENDPOINT_VARIABLE = "RECALL_BENCH_ENDPOINT"
"""The environment variable with the model endpoint of the run, if there is one."""

_INHERITED = ("PATH", "LANG", ENDPOINT_VARIABLE)
_INHERITED_ON_WINDOWS = ("SYSTEMROOT", "PATHEXT", "COMSPEC")


def build_environment(private: Path, names: Sequence[str]) -> dict[str, str]:
    """PATH, LANG, the model endpoint, the named variables, and HOME and TMPDIR in a private folder.

    UsageError if a named variable is not set. The keys of judges are not passed unless named.
    """
    usual = _INHERITED + (_INHERITED_ON_WINDOWS if IS_WINDOWS else ())
    environ = {name: os.environ[name] for name in usual if name in os.environ}
    for variable, folder in (("HOME", "home"), ("TMPDIR", "tmp")):
        (private / folder).mkdir(mode=0o700, exist_ok=True)
        environ[variable] = str(private / folder)
    if IS_WINDOWS:
        environ |= {"USERPROFILE": environ["HOME"]}
        environ |= dict.fromkeys(("TEMP", "TMP"), environ["TMPDIR"])
    for name in names:
        if name not in os.environ:
            raise UsageError(
                f"--env {name}: the environment variable {name} is not set; set it, or leave the "
                "option out"
            )
        environ[name] = os.environ[name]
    return environ


def find_endpoint_ports() -> tuple[int, ...]:
    """The port of the model endpoint, if the run has one."""
    address = urlsplit(os.environ.get(ENDPOINT_VARIABLE, "").strip())
    if address.hostname is None:
        return ()
    return (address.port or (443 if address.scheme == "https" else 80),)

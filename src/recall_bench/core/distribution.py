"""The name of the package where it is installed from.

The command is `recall-bench` and the import `recall_bench`, but on PyPI the name `recall-bench`
belongs to another project.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

DISTRIBUTION = "agent-recall-bench"
FOREIGN = "recall-bench"
"""Another project on PyPI with the same import name and the same command."""
_ROOT = Path(__file__).parents[2]
"""The folder that this package lies in: `src` of a checkout, or where pip put it."""


def get_version() -> str:
    """Return the version of this package, as journals and cards record it."""
    return get_part_version(DISTRIBUTION)


@cache
def get_part_version(name: str) -> str:
    """Return the version of an installed package; its metadata are read once."""
    from importlib.metadata import version

    return version(name)


def format_install(extra: str) -> str:
    """Format the command that installs an extra, until the package is published."""
    if _ROOT.name == "src" and (_ROOT.parent / "pyproject.toml").is_file():
        return f"pip install -e '.[{extra}]' in the checkout"
    return f"pip install '{DISTRIBUTION}[{extra}] @ git+<repository>'"


def find_conflicting_package() -> str | None:
    """Say what to do if the other project is installed too; None if it is not."""
    if not any(map(_is_foreign, _list_installed())):
        return None
    found = get_part_version(FOREIGN)
    return (
        f"the package {FOREIGN} {found} is installed beside {DISTRIBUTION}, and both provide the "
        f"module recall_bench; pip uninstall {FOREIGN}, then install {DISTRIBUTION} again"
    )


def _list_installed() -> Iterator[str]:
    """The names of all metadata; modules that read these take longer than most commands."""
    for folder in sys.path:
        with suppress(OSError):
            # Hundreds of names are there: few of them are worth a call or a path.
            names = os.listdir(folder or ".")  # noqa: PTH208
            yield from [name for name in names if name[:1] in _FIRST_LETTERS]


def _is_foreign(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return plain.startswith(f"{_FOREIGN_MODULE}_") and plain.endswith((".dist_info", ".egg_info"))


_FOREIGN_MODULE = FOREIGN.replace("-", "_")
_FIRST_LETTERS = (FOREIGN[0].lower(), FOREIGN[0].upper())

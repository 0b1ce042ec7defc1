"""The name of the package where it is installed from.

The command is `recall-bench` and the import `recall_bench`, but on PyPI the name `recall-bench`
belongs to another project.
"""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "agent-recall-bench"
FOREIGN = "recall-bench"
"""Another project on PyPI with the same import name and the same command."""


def get_version() -> str:
    """Return the version of this package, as journals and cards record it."""
    return get_part_version(DISTRIBUTION)


@cache
def get_part_version(name: str) -> str:
    """Return the version of an installed package; its metadata are read once."""
    return version(name)


def format_install(extra: str) -> str:
    """Format the command that installs an extra, until the package is published."""
    return f"pip install -e '.[{extra}]' in the checkout"


def find_foreign_package() -> str | None:
    """Say what to do if the other project is installed too; None if it is not."""
    try:
        found = version(FOREIGN)
    except PackageNotFoundError:
        return None
    return (
        f"the package {FOREIGN} {found} is installed beside {DISTRIBUTION}, and both provide the "
        f"module recall_bench; pip uninstall {FOREIGN}, then install {DISTRIBUTION} again"
    )

"""The name of the package where it is installed from.

The command is `recall-bench` and the import `recall_bench`, but on PyPI the name `recall-bench`
belongs to another project.
"""

import os
import sys
from functools import cache

DISTRIBUTION = "agent-recall-bench"
FOREIGN = "recall-bench"
"""Another project on PyPI with the same import name and the same command."""


def get_version() -> str:
    """Return the version of this package, as journals and cards record it."""
    return get_part_version(DISTRIBUTION)


@cache
def get_part_version(name: str) -> str:
    """Return the version of an installed package; its metadata are read once."""
    from importlib.metadata import version

    return version(name)


def format_install(extra: str) -> str:
    """Format the command that installs an extra, from where this installation came from."""
    import json
    from importlib.metadata import distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    # PEP 610: where pip got the package, unless it was an index.
    origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    url, source = origin.get("url"), origin.get("vcs_info")
    if url is None:
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install -e '{url2pathname(urlsplit(url).path)}[{extra}]'"
    if source is not None:
        url = f"{source['vcs']}+{url}@{source['commit_id']}"
    return f"pip install '{DISTRIBUTION}[{extra}] @ {url}'"


def find_conflicting_package() -> str | None:
    """Say what to do if the other project is installed too; None if it is not."""
    module = FOREIGN.replace("-", "_")
    # importlib.metadata would take longer than most commands.
    if not any(
        name.lower().replace("-", "_").startswith(f"{module}_")
        for folder in sys.path
        for name in _list_names(folder or ".")
        if name.endswith(("-info", "_info"))
    ):
        return None
    version = get_part_version(FOREIGN)
    return (
        f"the package {FOREIGN} {version} is installed beside {DISTRIBUTION}, and both provide the "
        f"module recall_bench; pip uninstall {FOREIGN}, then install {DISTRIBUTION} again"
    )


def _list_names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - hundreds of names, hardly any worth a path
    except OSError:
        return []

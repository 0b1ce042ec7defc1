"""The command `init`: the files of a first project."""

from importlib.resources import files
from pathlib import Path

import click

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import wrap_text

_ADAPTER = "my_adapter.py"
_TEMPLATES = {
    _ADAPTER: "my_adapter.py.txt",
    "recall-bench.yaml": "recall-bench.yaml",
    "gate.yaml": "gate.yaml",
    ".github/workflows/recall.yml": "recall.yml",
}
"""Each file to write, and its template."""
_NEXT = (
    (f"recall-bench check-adapter {_ADAPTER}", "checks the adapter"),
    ("recall-bench run", "measures it; settings come from recall-bench.yaml"),
    ("recall-bench gate RUN --rules gate.yaml", "passes or fails that run; so does the workflow"),
)
_PYTEST_NOTE = (
    f"With pytest in the same environment as recall-bench, `pytest --recall-bench {_ADAPTER} "
    "--recall-bench-gate gate.yaml` shows the same checks as tests."
)

_WORKFLOW_NOTE = (
    "In .github/workflows/recall.yml, replace <repository> by the address of the repository that "
    "you got recall-bench from."
)


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
def init_command(folder: Path) -> None:
    """Write an adapter that works, recall-bench.yaml, gate.yaml and a workflow into FOLDER.

    FOLDER is the current one unless it is given. Files that exist are never overwritten.
    """
    folder_of_templates = files("recall_bench.cli") / "templates"
    texts = {
        name: (folder_of_templates / template).read_bytes() for name, template in _TEMPLATES.items()
    }
    # A command that was killed may have written some of them.
    if taken := [name for name, text in texts.items() if _is_other(folder / name, text)]:
        raise UsageError(
            f"{folder / taken[0]}: exists with other content and was not changed; name another "
            "folder"
        )
    for name, text in texts.items():
        replace_file(folder / name, text)
        click.echo(str(folder / name))
    click.echo("\nNext:")
    if folder != Path():
        click.echo(f"  cd {folder}")
    width = max(len(command) for command, _ in _NEXT)
    for command, purpose in _NEXT:
        click.echo(f"  {command:{width}}  # {purpose}")
    click.echo("\n".join(["", *wrap_text(_WORKFLOW_NOTE), "", *wrap_text(_PYTEST_NOTE)]))


def _is_other(path: Path, text: bytes) -> bool:
    """Whether something else than this text is there."""
    return path.exists() and not (path.is_file() and path.read_bytes() == text)

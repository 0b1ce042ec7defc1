"""The notebook of the documentation runs, cell by cell, where an event loop is running.

The cells are executed in one namespace, as a kernel would; where nbclient is installed, a real
kernel executes them too.
"""

import ast
import json
from inspect import CO_COROUTINE
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "examples" / "notebook.ipynb"


def read_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


async def execute_cell(source: str, names: dict[str, Any]) -> object:
    """Run a cell, which may await, and return what its last line shows."""
    tree = ast.parse(source)
    if isinstance(tree.body[-1], ast.Expr):
        shown = ast.Assign([ast.Name("_shown", ast.Store())], tree.body[-1].value)
        tree.body[-1] = ast.fix_missing_locations(ast.copy_location(shown, tree.body[-1]))
    names["_shown"] = None
    code = compile(tree, str(NOTEBOOK), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found = eval(code, names)
    if code.co_flags & CO_COROUTINE:
        await found
    return names["_shown"]


@pytest.mark.slow
@pytest.mark.anyio
async def test_every_cell_runs_inside_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}

    shown = [await execute_cell(source, names) for source in read_cells()]
    pages = [each._repr_html_() for each in shown if hasattr(each, "_repr_html_")]

    assert len(shown) > 7
    assert names["mine"].is_valid
    assert sum("silence" in page and "ceiling" in page for page in pages) >= 3
    assert names["again"].was_finished
    assert all(len(repr(each)) < 5000 for each in shown)


@pytest.mark.slow
def test_a_kernel_runs_it(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    found = nbformat.read(NOTEBOOK, as_version=4)

    nbclient.NotebookClient(found, resources={"metadata": {"path": str(tmp_path)}}).execute()

    shown = [each for cell in found.cells for each in cell.get("outputs", ())]
    assert any("silence" in each.get("data", {}).get("text/html", "") for each in shown)


def test_it_is_kept_without_output() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]

    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)

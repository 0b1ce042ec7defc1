"""A gardener on disk and adapters in files, for the commands to work on."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from recall_bench.running import score_bounds
from tests.gardener import ADAPTER, write_persona


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with the gardener in it."""
    write_persona(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No floor and no ceiling are computed, which takes longer than to run a persona."""
    monkeypatch.setattr(score_bounds, "plan_bounds", lambda *_: None)


@pytest.fixture
def adapter(tmp_path: Path) -> Callable[..., Path]:
    """A Python adapter in a file; `adapter(query="raise KeyError")` replaces a method's body."""

    def write(**bodies: str) -> Path:
        text = ADAPTER
        for method, body in bodies.items():
            before, _, after = text.partition(f"    def {method}(")
            signature, _, rest = after.partition(":\n")
            _, _, following = rest.partition("\n\n")
            indented = "".join(f"        {line}\n" for line in dedent(body).splitlines())
            text = f"{before}    def {method}({signature}:\n{indented}\n{following}"
        path = tmp_path / "adapter.py"
        path.write_text(text)
        return path

    return write

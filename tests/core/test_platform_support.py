"""Only `core` asks for the operating system, and the page of differences names where."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "recall_bench"
PAGE = ROOT / "docs" / "reference" / "platforms.md"
ASKS = re.compile(r"(sys\.platform|os\.name|platform\.system\(\)) *[!=]=")

BEYOND_CORE = {"systems/python/adapter_process.py"}
"""Sets up the process of an adapter, which `core/sandbox.py` then confines."""


def list_asking() -> set[str]:
    return {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if ASKS.search(path.read_text(encoding="utf-8"))
    }


def test_only_core_asks_for_the_operating_system() -> None:
    asking = list_asking()

    assert {name for name in asking if not name.startswith("core/")} <= BEYOND_CORE


def test_the_page_names_every_module_that_asks() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [name for name in sorted(list_asking()) if f"`{name}`" not in page] == []

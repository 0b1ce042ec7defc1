"""One server over a folder of runs, and one browser, for all tests here."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recall_bench.reporting.explorer.run_catalogue import RunCatalogue
from tests.reporting.explorer.sample_runs import write_runs
from tests.reporting.pages.conftest import PATIENCE_MS, Visit, browser, listen

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]


@dataclass
class Explorer:
    """A server, and the ids of its runs by name."""

    root: Path
    address: str
    ids: dict[str, str]
    _visit: Visit | None = field(default=None, init=False)
    """The last visit of the tab that tests share: a new one takes as long as most tests."""

    def open(
        self, browser: "Browser", hash_: str, *, width: int = 1280, **settings: object
    ) -> Visit:
        is_shared = width == 1280 and not settings
        if is_shared and self._visit is not None:
            self._visit.value("localStorage.clear()")
            self._visit.stop_listening()
            # Another page: the visit would only move within this one otherwise.
            self._visit.page.goto("about:blank")
            visit = Visit(self._visit.page)
        else:
            context = browser.new_context(viewport={"width": width, "height": 800}, **settings)  # type: ignore[arg-type]
            context.set_default_timeout(PATIENCE_MS)
            visit = Visit(context.new_page())
        if is_shared:
            self._visit = visit
        listen(visit, self.address)
        visit.page.goto(f"{self.address}#{hash_}")
        wait_until_ready(visit)
        return visit

    def name(self, *names: str) -> str:
        return ",".join(self.ids[name] for name in names)


def wait_until_ready(visit: Visit) -> None:
    visit.page.wait_for_selector('html[data-ready="yes"]')


def list_foreign(visit: Visit, explorer: Explorer) -> list[str]:
    """What it let be heard besides requests to its own server."""
    own = f"request: {explorer.address}"
    return [words for words in visit.heard if not words.startswith(own)]


@pytest.fixture(scope="package")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """The command itself, as a process of its own."""
    root = write_runs(tmp_path_factory.mktemp("explored"))
    command = [sys.executable, "-m", "recall_bench", "view", str(root), "--no-open"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found is not None
        yield Explorer(root, found[0], {run.name: run.id for run in RunCatalogue(root).scan()})
        server.terminate()
        server.wait(60)

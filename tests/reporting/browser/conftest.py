"""One browser for all tests of pages, where there is one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recall_bench.reporting.explorer.run_catalogue import RunCatalogue
from tests.reporting.browser.visits import PATIENCE_MS, Explorer, Tab, Visit, Visiting
from tests.reporting.explorer.sample_runs import write_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def browser_program() -> str | None:
    """The program to start: `RECALL_BENCH_BROWSER`, or the first on the path that we know."""
    named = os.environ.get("RECALL_BENCH_BROWSER")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    """A headless browser; without one the test is skipped.

    It goes with the last test here: while it runs, no event loop can be started.
    """
    program = browser_program()
    if program is None:
        pytest.skip(f"needs a browser: one of {', '.join(_NAMES)}, or RECALL_BENCH_BROWSER")
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, a part of [dev]")
    with api.sync_playwright() as started:
        # Without a sandbox, for containers: it opens only pages that these tests wrote.
        browser = started.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def shared_tab(browser: "Browser") -> Tab:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    session = page.context.new_cdp_session(page)
    session.send("Page.enable")
    return Tab(page, session)


@pytest.fixture
def tab(shared_tab: Tab) -> Iterator[Tab]:
    """The tab of all tests, which each leaves as it was."""
    yield shared_tab
    shared_tab.leave()


@pytest.fixture
def visit(tab: Tab) -> Visiting:
    def visiting(path: Path, hash_: str = "", *, is_ready: bool = True, **settings: Any) -> Visit:
        seen = tab.open(f"{path.as_uri()}{hash_}", **settings)
        if is_ready:
            seen.page.wait_for_selector("html[data-ready]")
        return seen

    return visiting


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

"""A browser for the tests of the page, where there is one."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE_MS = 30_000
"""How long a page may take on a busy machine. A test that passes does not wait for it."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")


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


@dataclass
class Visit:
    """An open page, and all that it let be heard."""

    page: "Page"
    heard: list[str] = field(default_factory=list)
    """What it wrote to the console, threw, or asked of anybody."""
    listeners: dict[str, Callable[[Any], None]] = field(default_factory=dict)
    """By the event that they note."""

    def stop_listening(self) -> None:
        """Leave the page to another test."""
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def shows(self, selector: str, text: str) -> None:
        """Wait until an element has this text."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector).first).to_contain_text(text, timeout=PATIENCE_MS)

    def has_value(self, selector: str, value: str) -> None:
        """Wait until a field has this value."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_value(value, timeout=PATIENCE_MS)

    def wait_until_closed(self) -> None:
        """Wait until no trial is open."""
        from playwright.sync_api import expect

        expect(self.page.locator("dialog[open]")).to_have_count(0, timeout=PATIENCE_MS)

    def wait_until(self, script: str, given: object = None) -> None:
        """Wait until a script, which is given this, comes to true."""
        self.page.wait_for_function(script, arg=given)

    def wait_for_address(self, part: str, *, is_there: bool = True) -> None:
        """Wait until the address has this part, or has lost it.

        The page writes it after what it shows, and the browser reports it later still.
        """
        self.page.wait_for_function(
            "([part, isThere]) => location.href.includes(part) === isThere",
            arg=[part, is_there],
        )

    def wait_for_focus(self, id_: str) -> None:
        """Wait until the element with this id has the focus."""
        self.page.wait_for_function("id => document.activeElement.id === id", arg=id_)

    def open_trial(self) -> None:
        """Wait until a trial is open."""
        self.page.wait_for_selector("dialog[open][data-row]")

    def value(self, script: str) -> object:
        return self.page.evaluate(script)


Visiting = Callable[..., Visit]


_VIEW: dict[str, Any] = {"viewport": {"width": 1280, "height": 640}}


@pytest.fixture(scope="package")
def window(browser: "Browser") -> "BrowserContext":
    """Shared by visits without settings of their own: a new one takes longer than the visit."""
    return browser.new_context(**_VIEW)


@pytest.fixture(scope="package")
def shared_tab(window: "BrowserContext") -> "Page":
    """One tab for the first visit of each test: a new one takes three times as long as a visit."""
    return window.new_page()


@pytest.fixture
def visit(browser: "Browser", window: "BrowserContext", shared_tab: "Page") -> Iterator[Visiting]:
    """Open a page from the disk, at an address within it, and wait until it is alive."""
    opened: list[Page | BrowserContext] = []
    visits: list[Visit] = []

    def open_tab(settings: dict[str, Any]) -> "Page":
        if settings.keys() <= {"viewport"} and not visits:
            shared_tab.set_viewport_size(settings.get("viewport", _VIEW["viewport"]))
            return shared_tab
        context = browser.new_context(**(_VIEW | settings)) if settings else window
        page = context.new_page()
        opened.append(context if settings else page)
        return page

    def visiting(path: Path, hash_: str = "", *, is_ready: bool = True, **settings: Any) -> Visit:
        page = open_tab(settings)
        page.set_default_timeout(PATIENCE_MS)
        seen = Visit(page)
        visits.append(seen)
        listen(seen, path.as_uri())
        page.goto(f"{path.as_uri()}{hash_}")
        if is_ready:
            page.wait_for_selector("html[data-ready]")
        return seen

    yield visiting
    for each in opened:
        each.close()
    for seen in visits:
        if seen.page is shared_tab:
            seen.stop_listening()
    # Another page: the next test would only move within this one otherwise.
    shared_tab.goto("about:blank")


def listen(visit: Visit, own: str) -> None:
    """Note everything the page lets be heard but the request for itself."""

    def note(words: str) -> None:
        visit.heard.append(words)

    visit.listeners = {
        "console": lambda message: note(f"console: {message.text}"),
        "pageerror": lambda error: note(f"error: {error}"),
        "dialog": lambda dialog: note(f"dialog: {dialog.message}"),
        "requestfailed": lambda request: note(f"refused: {request.failure}"),
        "request": lambda request: (
            None if request.url.split("#")[0] == own else note(f"request: {request.url}")
        ),
    }
    page: Any = visit.page
    for event, listener in visit.listeners.items():
        page.on(event, listener)

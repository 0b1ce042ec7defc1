"""Visits of pages in the one tab that all tests of this folder share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

PATIENCE_MS = 30_000
"""How long a page may take on a busy machine. A test that passes does not wait for it."""


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

    def draw_charts(self) -> None:
        """Draw every chart at once, as for printing: to scroll to each takes twice as long."""
        self.value("dispatchEvent(new Event('beforeprint'))")
        self.wait_until(
            "() => [...document.querySelectorAll('[data-chart]')]"
            ".every(each => each.querySelector('.canvas:not(.is-coming) svg'))"
        )

    def value(self, script: str) -> object:
        return self.page.evaluate(script)


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


@dataclass
class Tab:
    """One tab for all visits: another one takes three times as long as a visit."""

    page: "Page"
    session: "CDPSession"
    """Settings that a page of Playwright takes only when it is made."""
    _visit: Visit | None = field(default=None, init=False)
    _script: str | None = field(default=None, init=False)
    """The id of what runs before every page."""

    def open(
        self,
        address: str,
        *,
        width: int = 1280,
        height: int = 640,
        color_scheme: Literal["dark", "light"] = "light",
        has_scripts: bool = True,
        first_script: str = "",
    ) -> Visit:
        """Open an address as if in a tab of its own, and note what it lets be heard."""
        self.leave()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=color_scheme)
        self.session.send("Emulation.setScriptExecutionDisabled", {"value": not has_scripts})
        if first_script:
            script = {"source": first_script}
            added = self.session.send("Page.addScriptToEvaluateOnNewDocument", script)
            self._script = added["identifier"]
        self._visit = Visit(self.page)
        listen(self._visit, address.partition("#")[0])
        self.page.goto(address)
        return self._visit

    def leave(self) -> None:
        """Forget the page, so that the next visit finds nothing of it.

        To go to another address of the same page would only move within it.
        """
        if self._visit is None:
            return
        self._visit.stop_listening()
        self._visit.value("localStorage.clear()")
        self._visit = None
        self.page.goto("about:blank")
        if self._script is not None:
            script = {"identifier": self._script}
            self.session.send("Page.removeScriptToEvaluateOnNewDocument", script)
            self._script = None


Visiting = Callable[..., Visit]
"""Opens a page from the disk, at an address within it, and waits until it is alive."""


@dataclass
class Explorer:
    """A server, and the ids of its runs by name."""

    root: Path
    address: str
    ids: dict[str, str]

    def open(self, tab: Tab, hash_: str, **settings: Any) -> Visit:
        visit = tab.open(f"{self.address}#{hash_}", height=800, **settings)
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

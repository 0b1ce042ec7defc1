"""What `create-persona` is asked for."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from recall_bench.datasets.layout import DEFAULT_ARCS, Layout
from recall_bench.errors import UsageError
from recall_bench.generate.request import PassRequest

SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""How ids are spelled: lower-case letters and digits, joined by single hyphens."""

MAX_STORY_DAYS = 9999
"""A day's file has four digits for its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRequest(PassRequest):
    """A persona to be made, and the story of its first so many days."""

    prompt: str = ""
    """The user's description; not needed where the persona is there already."""
    days: int = 1000
    """How long the story is."""
    epoch: date | None = None
    """The calendar date of day 1; None takes the persona's own, else the seed's or the usual."""
    arcs_only: bool = False
    """New arcs for the persona that is there."""
    trade: str | None = None
    """In which of its trades the world makes the persona; None finds it in the prompt."""
    seed: int | None = None
    """Which persona of the trade the world makes; None is 0."""

    def __post_init__(self) -> None:
        if self.arcs is not None or self.start is not None or self.end is not None:
            raise UsageError("a story is made whole; say how long it is with --days")
        # super() does not find its class here: `slots` makes another one.
        PassRequest.__post_init__(self)
        given = self._offline_flags
        if given and self.arcs_only:
            raise UsageError(
                f"{given[0]} chooses a persona, and --arcs-only keeps the one that is there; give "
                "one of them"
            )
        if self.days > MAX_STORY_DAYS:
            raise UsageError(
                f"--days: {self.days} is too long; a story has at most {MAX_STORY_DAYS} days"
            )
        if self.epoch is not None and (date.max - self.epoch).days < self.days:
            last = date.max - timedelta(days=self.days)
            raise UsageError(
                f"--epoch: {self.days} days from {self.epoch} on leave the calendar; begin by "
                f"{last} at the latest"
            )

    def check_model(self) -> None:
        """UsageError if what only the world follows is asked of a model."""
        if self._offline_flags:
            raise UsageError(
                f"{self._offline_flags[0]} is for --model offline alone, no other model follows "
                "it; leave it out, and say in --prompt whom you want"
            )

    @property
    def _offline_flags(self) -> tuple[str, ...]:
        """The flags that were given and that only the world follows."""
        flags = {"--trade": self.trade, "--seed": self.seed}
        return tuple(flag for flag, value in flags.items() if value is not None)

    @property
    def story(self) -> Layout:
        """The files of the story to be made."""
        return Layout(self.persona, DEFAULT_ARCS.replace("1000", str(self.days)))

    @property
    def id(self) -> str:
        """What the persona is called: its folder's name."""
        return self.story.id

    def check_folder(self) -> None:
        """UsageError where nothing can be made: a file in the way, a name that is no id.

        A persona that is there already may be called anything.
        """
        folder = self.persona
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"--persona: {folder} is a file; name a folder")
        if not self.arcs_only and not SLUG.fullmatch(self.id):
            raise UsageError(
                f"--persona: {self.id!r} cannot be a persona's id; name a folder in lower-case "
                f"letters, digits and hyphens, such as {folder.parent / make_slug(self.id)}"
            )
        self._check_parent_folders(folder)

    def _check_parent_folders(self, folder: Path) -> None:
        above = next((part for part in folder.absolute().parents if part.exists()), None)
        if above is not None and not above.is_dir():
            raise UsageError(f"--persona: {above} is a file, so {folder} cannot be made in it")


def make_slug(name: str) -> str:
    """The id closest to a name; a name in letters that ids do not have gets another."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name.casefold())
        if not unicodedata.combining(letter)
    )
    if any(letter.isalnum() and not letter.isascii() for letter in plain):
        return "my-persona"
    return "-".join(re.findall(r"[a-z0-9]+", plain)) or "my-persona"

"""What every pass is asked for: whose story, which days, by which model, within which limits."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from recall_bench.core.errors import UsageError
from recall_bench.core.profile import parse_profile, resolve_code_path
from recall_bench.datasets.persona_files import DEFAULT_ARCS, Layout, list_persona_ids

OFFLINE = "offline"
"""The writer that needs no model: the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRequest:
    """The request of a pass over the days of a story; passes add what is theirs."""

    persona: Path
    arcs: str | None = None
    """Which story, where the folder has several."""
    model: str = OFFLINE
    days: int | None = None
    """The first so many days; not together with `start` or `end`."""
    start: int | None = None
    end: int | None = None
    overwrite: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_ms: int = 600_000
    """For one call of the model."""
    parallelism: int = 8
    """Calls at a time."""
    max_cost_usd: float | None = None
    again: str | None = None
    """The command that goes on where this one stopped, as its user would type it."""

    def __post_init__(self) -> None:
        if self.days is not None and (self.start is not None or self.end is not None):
            raise UsageError("--days is short for --start 1 --end N; give one or the other")
        for flag, number in (("days", self.days), ("start", self.start), ("end", self.end)):
            if number is not None and number < 1:
                raise UsageError(f"--{flag}: {number} is no story day; the first is 1")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise UsageError(f"--start: day {self.start} comes after --end {self.end}; swap them")
        cost = self.max_cost_usd
        if cost is not None and not (isfinite(cost) and cost >= 0):
            raise UsageError(f"--max-cost: {cost} is not a sum of money; say US dollars")

    @property
    def is_offline(self) -> bool:
        """Whether the world writes."""
        return self.model == OFFLINE

    def find_layout(self) -> Layout:
        """The files of the story that is meant; UsageError if that is unclear."""
        from recall_bench.generate.shipped_personas import find_story

        if not self.persona.is_dir():
            raise UsageError(
                f"--persona: there is no folder {self.persona}; `recall-bench create-persona` "
                "makes one"
            )
        if not (self.persona / "persona.yaml").is_file():
            within = ", ".join(str(self.persona / name) for name in list_persona_ids(self.persona))
            instead = (
                f"name one of {within}" if within else "`recall-bench create-persona` makes one"
            )
            raise UsageError(f"--persona: {self.persona} holds no persona.yaml; {instead}")
        return Layout(self.persona, find_story(self.persona, self.arcs).arcs)

    def select_days(self, last: int) -> range:
        """The story days asked for, of a story that ends on day `last`."""
        first = self.start or 1
        end = min(self.days or self.end or last, last)
        if first > end:
            raise UsageError(f"--start: day {first} lies beyond the story's last day, {last}")
        return range(first, end + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysRequest(PassRequest):
    """The request for the days of a story."""

    history_window: int = 3
    """How many earlier entries of a session its author sees."""
    lag: int = 8
    """A day looks back on days so many told days before it or more, so that days between are
    written side by side."""
    from_ledger: bool = False
    """Whether the world's facts are what is told, each day verified."""

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one its methods close over.
        PassRequest.__post_init__(self)
        if self.history_window < 0:
            raise UsageError(f"--history-window: {self.history_window} is no number of entries")
        if self.lag < 1:
            raise UsageError(f"--lag: {self.lag} is no distance; the nearest is 1, the day before")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationsRequest(PassRequest):
    """A story's days, and the form their dialogues take."""

    format: Literal["markdown", "json"] = "markdown"


STANDARD = "standard"
BOUNDARY_MODE = "boundary"
MODES = (STANDARD, BOUNDARY_MODE)

_DEFAULT_INTERVALS = {STANDARD: 7, BOUNDARY_MODE: 30}
_DEFAULT_AMOUNTS = {STANDARD: 12, BOUNDARY_MODE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsRequest(PassRequest):
    """A story's days, and what is to be asked about them."""

    mode: str = STANDARD
    """`standard`, or `boundary` for the secrets of isolated sessions."""
    interval: int | None = None
    """Days from one checkpoint to the next; 7, or 30 for boundary."""
    per_checkpoint: int | None = None
    """Questions for each checkpoint, 12; for boundary secrets of each isolated session, 2."""
    query_session: str | None = None
    """Where questions are asked from; the principal's, or for boundary any that may not know."""

    def __post_init__(self) -> None:
        PassRequest.__post_init__(self)
        if self.mode not in MODES:
            raise UsageError(f"--mode: there is no mode {self.mode!r}; say {' or '.join(MODES)}")
        for flag, number in (
            ("interval", self.interval),
            ("pairs-per-checkpoint", self.per_checkpoint),
        ):
            if number is not None and number < 1:
                raise UsageError(f"--{flag}: {number} is too few; say 1 or more")

    @property
    def days_between(self) -> int:
        """Days from one checkpoint to the next."""
        return self.interval or _DEFAULT_INTERVALS[self.mode]

    @property
    def amount(self) -> int:
        """What is asked for at each checkpoint."""
        return self.per_checkpoint or _DEFAULT_AMOUNTS[self.mode]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest(PassRequest):
    """Which questions are to be verified; `offline` is by the checks alone."""

    questions: Path | None = None
    """Any question file on the story; None is the story's own."""
    out: Path | None = None
    """The folder that takes what is found; None is the story's own, `qa-<suffix>`."""


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


def read_generation_profile(path: Path, model: str) -> dict[str, Any]:
    """The fields of a request that a profile gives. Relative paths in it are relative to it.

    `model` is the one of its models that is asked: creation, generation or conversation. Where a
    profile names no model for creation or conversation, it is the one for generation.
    """
    profile, base = parse_profile(path), path.parent
    found: dict[str, Any] = {}
    if profile.persona is not None:
        found["persona"] = base / (profile.persona.dir or profile.persona.id)
        found["arcs"] = profile.persona.arcs
    if profile.models is not None:
        named = getattr(profile.models, model) or profile.models.generation
        found["model"] = resolve_code_path(named, base)
    if profile.generate is not None:
        for name in ("days", "start", "end", "temperature", "max_tokens", "history_window"):
            found[name] = getattr(profile.generate, name)
    return {name: value for name, value in found.items() if value is not None}

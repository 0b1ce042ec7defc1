"""The requests of all passes: which story and days, which model, which limits."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from recall_bench.core.errors import UsageError
from recall_bench.core.folders import join_id
from recall_bench.core.profile import parse_profile, resolve_code_path
from recall_bench.stories.persona_files import DEFAULT_ARCS, Layout, list_persona_ids

OFFLINE = "offline"
"""The writer that needs no model: the simulator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRequest:
    """The request of a pass over the days of a story; passes add their own fields."""

    persona: Path
    arcs: str | None = None
    """Which story, where the folder has several."""
    model: str = OFFLINE
    days: int | None = None
    """The first N days; not together with `start` or `end`."""
    start: int | None = None
    end: int | None = None
    overwrite: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_ms: int = 600_000
    """For one model call."""
    parallelism: int = 8
    """Concurrent model calls."""
    max_cost_usd: float | None = None
    resume_command: str | None = None
    """The command that continues this pass, as a user types it."""

    def __post_init__(self) -> None:
        if self.days is not None and (self.start is not None or self.end is not None):
            raise UsageError("--days is short for --start 1 --end N; give one or the other")
        for flag, number in (("days", self.days), ("start", self.start), ("end", self.end)):
            if number is not None and number < 1:
                raise UsageError(f"--{flag}: {number} is not a story day; the first is 1")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise UsageError(f"--start: day {self.start} comes after --end {self.end}; swap them")
        cost = self.max_cost_usd
        if cost is not None and not (isfinite(cost) and cost >= 0):
            raise UsageError(f"--max-cost: {cost} is not a sum of money; say US dollars")

    @property
    def timeout_s(self) -> float:
        """The time limit for one model call, in seconds."""
        return self.timeout_ms / 1000

    @property
    def is_offline(self) -> bool:
        """Whether the simulator writes."""
        return self.model == OFFLINE

    def find_layout(self) -> Layout:
        """The files of the story; UsageError if it is unclear which story is meant."""
        from recall_bench.stories.story_folders import find_story

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
        """The requested days of a story that ends on day `last`."""
        first = self.start or 1
        end = min(self.days or self.end or last, last)
        if first > end:
            raise UsageError(f"--start: day {first} lies beyond the story's last day, {last}")
        return range(first, end + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysRequest(PassRequest):
    """A request for the days of a story."""

    history_window: int = 3
    """How many earlier entries of a session the model sees."""
    lag: int = 8
    """A day sees only days at least this many written days before it, so that the days between can
    be written concurrently."""
    from_ledger: bool = False
    """Whether the model words the simulator's facts; every day is then verified."""

    def __post_init__(self) -> None:
        # `slots` replaces the class, so super() would not find it.
        PassRequest.__post_init__(self)
        if self.history_window < 0:
            raise UsageError(f"--history-window: {self.history_window} is not a number of entries")
        if self.lag < 1:
            raise UsageError(
                f"--lag: {self.lag} is not a distance; the nearest is 1, the day before"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationsRequest(PassRequest):
    """A request for the dialogues of a story's days."""

    format: Literal["markdown", "json"] = "markdown"


STANDARD = "standard"
BOUNDARY_MODE = "boundary"
MODES = (STANDARD, BOUNDARY_MODE)

_DEFAULT_INTERVALS = {STANDARD: 7, BOUNDARY_MODE: 30}
_DEFAULT_AMOUNTS = {STANDARD: 12, BOUNDARY_MODE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsRequest(PassRequest):
    """A request for questions about a story's days."""

    mode: str = STANDARD
    """`standard`, or `boundary` for the secrets of isolated sessions."""
    interval: int | None = None
    """Days between checkpoints; 7, or 30 for boundary."""
    per_checkpoint: int | None = None
    """Questions per checkpoint, 12; for boundary secrets per isolated session, 2."""
    query_session: str | None = None
    """The session that asks; the principal's, or for boundary one that must not know."""

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
        """Days between checkpoints."""
        return self.interval or _DEFAULT_INTERVALS[self.mode]

    @property
    def amount(self) -> int:
        """Questions, or secrets, per checkpoint."""
        return self.per_checkpoint or _DEFAULT_AMOUNTS[self.mode]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest(PassRequest):
    """A request to verify questions; `offline` uses the checks alone."""

    questions: Path | None = None
    """A question file on the story; None for the story's own."""
    out: Path | None = None
    """The output folder; None for the story's own, `qa-<suffix>`."""


SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""The spelling of ids: lower-case letters and digits, joined by single hyphens."""

MAX_STORY_DAYS = 9999
"""A day's file has four digits for its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRequest(PassRequest):
    """A request for a new persona and its story."""

    prompt: str = ""
    """The user's description; not needed if the persona exists."""
    days: int = 1000
    """The length of the story."""
    epoch: date | None = None
    """The date of day 1; None for that of the persona, else of the seed, else the default."""
    arcs_only: bool = False
    """Whether to write new arcs for an existing persona."""
    trade: str | None = None
    """The simulator's trade for the persona; None to find it in the prompt."""
    seed: int | None = None
    """The simulator's seed for the persona; None is 0."""

    def __post_init__(self) -> None:
        if self.arcs is not None or self.start is not None or self.end is not None:
            raise UsageError("a story is made whole; say how long it is with --days")
        # `slots` replaces the class, so super() would not find it.
        PassRequest.__post_init__(self)
        flags = self._offline_flags
        if flags and self.arcs_only:
            raise UsageError(
                f"{flags[0]} chooses a persona, and --arcs-only keeps the one that is there; give "
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
        """UsageError if an option that only the simulator has is given with a model."""
        if self._offline_flags:
            raise UsageError(
                f"{self._offline_flags[0]} is only for --model offline; other models do not follow "
                "it; leave it out and describe the persona in --prompt"
            )

    @property
    def _offline_flags(self) -> tuple[str, ...]:
        """The given flags that only the simulator has."""
        flags = {"--trade": self.trade, "--seed": self.seed}
        return tuple(flag for flag, value in flags.items() if value is not None)

    @property
    def story(self) -> Layout:
        """The files of the new story."""
        return Layout(self.persona, DEFAULT_ARCS.replace("1000", str(self.days)))

    @property
    def id(self) -> str:
        """The persona's id: the name of its folder."""
        return self.story.id

    def check_folder(self) -> None:
        """UsageError if the folder cannot be created or its name is no id.

        An existing persona may have any name.
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
    """The closest id to a name; `my-persona` for a name in other letters."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name.casefold())
        if not unicodedata.combining(letter)
    )
    if any(letter.isalnum() and not letter.isascii() for letter in plain):
        return "my-persona"
    return "-".join(re.findall(r"[a-z0-9]+", plain)) or "my-persona"


def read_generation_profile(path: Path, model: str) -> dict[str, Any]:
    """The fields of a request that a profile sets. Its relative paths are relative to its folder.

    `model` is creation, generation or conversation; the model for generation stands in for the
    other two.
    """
    profile, base = parse_profile(path), path.parent
    fields: dict[str, Any] = {}
    if profile.persona is not None:
        named = profile.persona.dir
        fields["persona"] = base / named if named else join_id(base, profile.persona.id, str(path))
        fields["arcs"] = profile.persona.arcs
    if profile.models is not None:
        target = getattr(profile.models, model) or profile.models.generation
        fields["model"] = resolve_code_path(target, base)
    if profile.generate is not None:
        for name in ("days", "start", "end", "temperature", "max_tokens", "history_window"):
            fields[name] = getattr(profile.generate, name)
    return {name: value for name, value in fields.items() if value is not None}

"""The files of a persona, and messages about missing ones.

A persona's folder holds `persona.yaml` and its stories, `arcs-<suffix>.yaml`. A story owns the
folders of the same suffix: `memories-180d`, `qa-180d`, `tools-180d`, `conversations-180d`. Its
days are `day-0001.md` and so on. The public format ignores what it cannot use: a file named
`day-10.md`, an empty file, a missing day. Each of these changes the history, so here each is
reported.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.errors import BenchError, Malformed, UsageError
from recall_bench.core.untrusted_json import read_regular_file
from recall_bench.core.yaml12 import decode_text

DEFAULT_ARCS = "arcs-1000d.yaml"

_ARCS = re.compile(r"arcs(?:-(.+))?\.ya?ml")


def name_story_folder(arcs_filename: str, base: str) -> str:
    """Return the name of the folder `base` of the story with this arcs file."""
    match = _ARCS.fullmatch(arcs_filename)
    return f"{base}-{match[1]}" if match and match[1] else base


def list_persona_ids(data: Path) -> tuple[str, ...]:
    """List the personas of a data folder."""
    if not data.is_dir():
        raise UsageError(f"there is no data folder {data}; check the path")
    return tuple(sorted(folder.parent.name for folder in data.glob("*/persona.yaml")))


def list_stories(folder: Path) -> tuple[str, ...]:
    """List the arcs files of a persona."""
    return tuple(sorted(path.name for path in folder.iterdir() if _ARCS.fullmatch(path.name)))


def choose_story(names: Collection[str]) -> str | None:
    """Return the story to use by default: the usual one, or the only one; None if unclear."""
    if DEFAULT_ARCS in names or not names:
        return DEFAULT_ARCS
    return next(iter(names)) if len(names) == 1 else None


def parse_story_days(arcs: str) -> int | None:
    """Return the number of days in the name of an arcs file; None if there is none."""
    match = re.fullmatch(r"arcs-(\d+)d\.ya?ml", arcs)
    return int(match[1]) if match else None


LEDGER_FILE = "ledger.jsonl"
"""Beside the questions: the facts of a simulated story."""
STATEMENTS_FILE = "statements.jsonl"
"""Beside the questions: where each value of a written story stands in its days."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one story of one persona."""

    folder: Path
    arcs: str

    @property
    def id(self) -> str:
        """The folder's name, which selects the persona."""
        is_named = self.folder.name not in {"", ".."}
        return (self.folder if is_named else self.folder.resolve()).name

    @property
    def suffix(self) -> str:
        """The suffix of the story's folders: `180d`; empty for `arcs.yaml`."""
        match = _ARCS.fullmatch(self.arcs)
        return (match[1] or "") if match else ""

    @property
    def persona_file(self) -> Path:
        """The file that describes the persona."""
        return self.folder / "persona.yaml"

    @property
    def arcs_file(self) -> Path:
        """The file with its arcs."""
        return self.folder / self.arcs

    @property
    def memories(self) -> Path:
        """The folder with its days."""
        return self.folder / name_story_folder(self.arcs, "memories")

    @property
    def questions_file(self) -> Path:
        """The file with its questions."""
        return self.folder / name_story_folder(self.arcs, "qa") / "questions.yaml"

    @property
    def tools(self) -> Path:
        """The folder with its tool calls, which not every story has."""
        return self.folder / name_story_folder(self.arcs, "tools")

    @property
    def conversations(self) -> Path:
        """The folder with its conversations, which not every story has."""
        name = re.sub("^memories", "conversations", self.memories.name)
        return self.folder / name

    def name(self, path: Path) -> str:
        """Return the path relative to the data folder, for messages."""
        return f"{self.id}/{path.relative_to(self.folder).as_posix()}"

    def find_missing(self) -> list[UsageError]:
        """List what is missing, with what exists instead."""
        if not self.folder.is_dir():
            return [self._report_no_persona()]
        problems = []
        if not self.persona_file.is_file():
            problems.append(
                UsageError(f"{self.name(self.persona_file)} does not exist; every persona has one")
            )
        if not self.arcs_file.is_file():
            problems.append(self._report_no_story())
        elif not (self.memories.is_dir() and self.questions_file.is_file()):
            problems += self._report_no_corpus()
        return problems

    def _report_no_persona(self) -> UsageError:
        data = self.folder.parent
        personas = ", ".join(list_persona_ids(data)) if data.is_dir() else ""
        return UsageError(f"there is no persona {self.id} in {data}; there is {personas or 'none'}")

    def _report_no_story(self) -> UsageError:
        stories = list_stories(self.folder)
        if not stories:
            return UsageError(f"{self.id} has no {self.arcs} and no other arcs file; add one")
        return UsageError(
            f"{self.id} has no {self.arcs}; it has {', '.join(stories)}: "
            f"choose with --arcs {stories[0]}"
        )

    def _report_no_corpus(self) -> list[UsageError]:
        complete = [
            arcs
            for arcs in list_stories(self.folder)
            if (other := Layout(self.folder, arcs)).memories.is_dir()
            and other.questions_file.is_file()
        ]
        instead = (
            f"or choose --arcs {complete[0]}"
            if complete
            else "no story of this persona has both yet"
        )
        problems = []
        if not self.memories.is_dir():
            name = self.name(self.memories)
            problems.append(
                UsageError(
                    f"{name}, the days of {self.arcs}, does not exist; add it (`recall-bench "
                    f"generate` writes it), {instead}"
                )
            )
        if not self.questions_file.is_file():
            name = self.name(self.questions_file)
            problems.append(
                UsageError(
                    f"{name}, the questions on {self.arcs}, does not exist; add it (`recall-bench "
                    f"generate-qa` writes it), {instead}"
                )
            )
        return problems


_NAME = re.compile(r"day-([0-9]{4}|[1-9][0-9]{4,})\.md")
_ALMOST = re.compile(r"day[-_ ]?([0-9]+)\.(?:md|markdown|txt)", re.IGNORECASE)
_FRONTMATTER_ONLY = re.compile(r"\s*---\s*\n(?:.*\n)*?---\s*")


@dataclass(frozen=True, slots=True)
class DayFile:
    """One day's log on disk."""

    day: int
    path: Path
    name: str
    """The name in messages."""

    def read(self) -> str:
        """Return the log, unchanged; Malformed if it is empty or not text."""
        text = read_file_text(self.path, self.name)
        if not text.strip().strip("\ufeff"):
            raise Malformed(self.name, "is empty; restore it, or remove it if nothing happened")
        return text


def read_file_text(path: Path, name: str, encoding: str = "utf-8") -> str:
    """Return the text of a file, unchanged; Malformed, with its name, if it is not text."""
    try:
        raw = read_regular_file(path)
    except OSError as error:
        raise Malformed(name, f"cannot be read ({error.strerror}); restore the file") from error
    if (nul := raw.find(b"\0")) >= 0:
        line = raw.count(b"\n", 0, nul) + 1
        raise Malformed(
            f"{name}, line {line}", "holds a NUL byte, so it is not text; restore the file"
        )
    return decode_text(raw, name, encoding)


def name_day_file(day: int) -> str:
    """Return the file name of a day."""
    return f"day-{day:04}.md"


def name_conversation_file(day: int, ending: str = "md") -> str:
    """Return the file name of a day's dialogue."""
    return f"conv-{day:04}.{ending}"


def list_days(
    layout: Layout, problems: list[BenchError], warnings: list[str]
) -> tuple[DayFile, ...]:
    """List the day files in story order; similar file names become problems or warnings."""
    files = []
    names = sorted(path.name for path in layout.memories.iterdir())
    for name in names:
        path = layout.memories / name
        label = layout.name(path)
        if match := _NAME.fullmatch(name):
            files.append(DayFile(int(match[1]), path, label))
        elif match := _ALMOST.fullmatch(name):
            problems.append(_describe_wrong_name(label, int(match[1]), names))
        elif path.suffix == ".md" and not name.startswith("."):
            warnings.append(f"{label}: is not named like a day and is not read")
    if files and files[0].day == 0:
        problems.append(Malformed(files[0].name, "the first story day is 1; rename or remove it"))
    if not files:
        where = layout.name(layout.memories)
        problems.append(Malformed(where, "holds no day file; add day-0001.md and so on"))
    return tuple(sorted(files, key=lambda file: file.day))


def _describe_wrong_name(shown: str, day: int, names: Collection[str]) -> Malformed:
    right = name_day_file(day)
    if day == 0:
        return Malformed(shown, "the first story day is 1; rename or remove it")
    if right in names:
        return Malformed(shown, f"is not a day file and {right} exists; remove one of the two")
    return Malformed(shown, f"would not be read, for days have four digits; rename it to {right}")


def is_bare(text: str) -> bool:
    """Whether the text is frontmatter and nothing else."""
    return len(text) < 4096 and _FRONTMATTER_ONLY.fullmatch(text) is not None


def find_gaps(days: Collection[int], is_active: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Find runs of days without a file, before the last day, on which an arc is active."""
    existing = frozenset(days)
    missing = (day for day in range(1, max(existing)) if day not in existing and is_active(day))
    return find_runs(missing)


def find_runs(days: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run of consecutive days; the days ascend."""
    first = last = None
    for day in days:
        if first is None or last is None or day != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = day
        last = day
    if first is not None and last is not None:
        yield first, last


def format_days(days: Iterable[int]) -> str:
    """Format days, in any order, for messages: `day 4`, `days 1–3, 7`."""
    runs = find_runs(sorted(days))
    parts = [f"{first}–{last}" if last > first else f"{first}" for first, last in runs]
    return f"{'day' if len(parts) == 1 and '–' not in parts[0] else 'days'} {', '.join(parts)}"

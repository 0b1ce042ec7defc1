"""PersonaMem (v1): how an assistant should reply after long conversations with one person.

Six facts about the upstream files shape this one:

* A question sees its shared context up to `end_index_in_shared_context`, so there is a scenario for
  each context and cut, with all questions asked there.
* A context starts with a system message that describes the persona, and repeats it at the start of
  every session: 20 times in each context of the 128k sample. It separates the sessions, an episode
  each, and is not ingested.
* There are no dates. Episodes are a day apart from a fixed date.
* The options of a question are a list in JSON or in Python, about half of each.
* There is no evidence.
* A context may be a million tokens. Lines are found by offset and decoded one at a time, and
  scenarios of one context follow each other, so that it is decoded once.
"""

import csv
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import (
    Episode,
    Item,
    Scenario,
    Truth,
    Turn,
    compute_story_date,
    hash_question_id,
)
from recall_bench.core.untrusted_json import (
    decode_plain_json,
    decode_untrusted_json,
    open_regular_file,
    open_unpacked,
)
from recall_bench.features.datasets.loading import (
    LazyScenarios,
    build_dialogue,
    parse_literal,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of every first episode: PersonaMem has no dates."""

_SIZES = {"32k": "32k", "128k": "128k", "1m": "1M"}
"""Our name of a size, and the one in file names."""

_QUESTION_COLUMNS = ("user_question_or_message", "question")
"""The column of the question, in the release and in earlier samples."""
_COLUMNS = (
    "question_id",
    "question_type",
    "correct_answer",
    "all_options",
    "shared_context_id",
    "end_index_in_shared_context",
)
_OPTION = re.compile(r"\s*\(([a-zA-Z])\)\s*")
_SIZED = re.compile(r"_(\d+[km])\.csv", re.IGNORECASE)
_KEY = re.compile(rb'\s*\{\s*("(?:[^"\\]|\\.)*")\s*:')
_COUNT = re.compile(r"[0-9]{1,9}")
_SPEAKERS = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _PersonaMemQuestion:
    """One row of the questions."""

    place: str
    id: str
    category: str
    text: str
    right: str
    options: Mapping[str, str]
    """By capital letter."""
    context: str
    end: int


def load(path: Path, layers: Mapping[str, Path], *, size: str) -> Sequence[Scenario]:
    """Read the questions and the contexts beside them: `path` is their folder, or the questions."""
    refuse_corrections("personamem", layers)
    questions = _find_questions_file(path, size)
    contexts = _SharedContexts(_find_contexts_file(questions, size))
    cuts: dict[str, dict[int, list[_PersonaMemQuestion]]] = {}
    for row in _read_rows(questions):
        if row.context not in contexts:
            raise Malformed(row.place, f"its context {row.context!r} is not in {contexts.path}")
        cuts.setdefault(row.context, {}).setdefault(row.end, []).append(row)
    groups = [group for ends in cuts.values() for group in ends.values()]
    return LazyScenarios(len(groups), lambda number: _build_scenario(groups[number], contexts))


def _build_scenario(group: list[_PersonaMemQuestion], contexts: "_SharedContexts") -> Scenario:
    first = group[0]
    messages = contexts.read_messages(first.context)
    if not 0 < first.end <= len(messages):
        raise Malformed(first.place, f"cuts at {first.end} a context of {len(messages)} messages")
    where = f"{contexts.path}, context {first.context}"
    episodes = tuple(_build_episodes(where, messages[: first.end]))
    if not episodes:
        raise Malformed(first.place, f"cuts at {first.end}, before anything is said")
    items = (
        _build_item(number, raw_question, episodes[-1].day)
        for number, raw_question in enumerate(group)
    )
    return Scenario(
        id=hash_question_id(first.context, str(first.end)),
        epoch=EPOCH,
        episodes=episodes,
        items=tuple(items),
    )


def _build_episodes(where: str, messages: list[Any]) -> Iterator[Episode]:
    day, turns = 0, list[Turn]()
    for number, message in enumerate(messages):
        match message:
            case {"role": "system", "content": str()}:
                if turns:
                    day += 1
                    yield _build_episode(day, turns)
                    turns = []
            case {"role": str(role), "content": str(text)} if role in _SPEAKERS:
                turns.append(Turn(speaker=role, text=text))
            case _:
                raise Malformed(where, f"message {number + 1} has no known role and text")
    if turns:
        yield _build_episode(day + 1, turns)


def _build_episode(day: int, turns: list[Turn]) -> Episode:
    return build_dialogue(
        f"session-{day:03}", day=day, at=compute_story_date(EPOCH, day), turns=turns
    )


def _build_item(number: int, asked: _PersonaMemQuestion, last_day: int) -> Item:
    return Item(
        id=f"q{number:03}",
        text=asked.text,
        truth=Truth(
            reference=asked.options[asked.right],
            category=asked.category,
            choice=asked.right,
            source=asked.id,
        ),
        known_from=last_day,
        choices=tuple(f"({letter}) {text}" for letter, text in asked.options.items()),
    )


class _SharedContexts:
    """The shared contexts, one per line; the last one used is cached."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[str, int] = {}
        self._kept: tuple[str, list[Any]] | None = None
        with _open_file(path) as file:
            self._index(file)

    def __contains__(self, name: str) -> bool:
        return name in self._offsets

    def read_messages(self, name: str) -> list[Any]:
        """All messages of the context."""
        cached = self._kept
        if cached is None or cached[0] != name:
            cached = self._kept = (name, self._decode(name))
        return cached[1]

    def _index(self, file: BinaryIO) -> None:
        offset = 0
        for number, line in enumerate(file, start=1):
            key = _KEY.match(line)
            if key is not None:
                name = self._decode_name(key[1], number)
                if name in self._offsets:
                    raise Malformed(f"{self.path}, line {number}", f"a second context {name!r}")
                self._offsets[name] = offset
            elif line.strip():
                raise Malformed(f"{self.path}, line {number}", "is not a context under its id")
            offset += len(line)

    def _decode_name(self, spelled: bytes, number: int) -> str:
        try:
            return decode_untrusted_json(spelled, str)
        except msgspec.DecodeError as error:
            where = f"{self.path}, line {number}"
            raise Malformed(where, f"has no id that can be read ({error})") from error

    def _decode(self, name: str) -> list[Any]:
        with _open_file(self.path) as file:
            file.seek(self._offsets[name])
            line = file.readline()
        where = f"{self.path}, context {name}"
        try:
            content = decode_plain_json(line)
        except msgspec.DecodeError as error:
            raise Malformed(where, f"cannot be read as JSON ({error})") from error
        messages: object = content[name]
        if len(content) != 1 or not isinstance(messages, list):
            raise Malformed(where, "is not one list of messages")
        return messages


def _read_rows(path: Path) -> Iterator[_PersonaMemQuestion]:
    with _open_file(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        reader = csv.DictReader(text)
        try:
            column = _find_question_column(path, reader.fieldnames or ())
            for row in reader:
                yield _parse_row(f"{path}, line {reader.line_num}", row, column)
        except (UnicodeDecodeError, csv.Error) as error:
            raise Malformed(str(path), f"cannot be read as CSV ({error})") from error


def _find_question_column(path: Path, columns: Sequence[str]) -> str:
    missing = [column for column in _COLUMNS if column not in columns]
    question_columns = [column for column in _QUESTION_COLUMNS if column in columns]
    if missing or not question_columns:
        columns_needed = ", ".join(
            [*missing, *([] if question_columns else [" or ".join(_QUESTION_COLUMNS)])]
        )
        raise Malformed(str(path), f"lacks the columns of PersonaMem: {columns_needed}")
    return question_columns[0]


def _parse_row(place: str, row: Mapping[str, str | None], column: str) -> _PersonaMemQuestion:
    cells = {name: (row[name] or "").strip() for name in (*_COLUMNS, column)}
    if empty := [name for name, value in cells.items() if not value]:
        raise Malformed(place, f"has no value for {', '.join(empty)}")
    written = cells["all_options"]
    by_letter: dict[str, str] = {}
    for option in _parse_list(place, written):
        mark = _OPTION.match(option) if isinstance(option, str) else None
        if mark is None or mark[1].upper() in by_letter or not option[mark.end() :].strip():
            raise Malformed(place, f"options begin with letters of their own; got {option!r:.60}")
        by_letter[mark[1].upper()] = option[mark.end() :].strip()
    if len(by_letter) < 2:
        raise Malformed(place, "offers fewer than two options")
    options = by_letter
    right = cells["correct_answer"].strip("() ").upper()
    if right not in options:
        raise Malformed(place, f"the right option {right!r} is not among {', '.join(options)}")
    end = cells["end_index_in_shared_context"]
    if not _COUNT.fullmatch(end):
        raise Malformed(place, f"the cut {end!r:.60} is not a count of messages")
    return _PersonaMemQuestion(
        place=place,
        id=cells["question_id"],
        category=cells["question_type"],
        text=cells[column],
        right=right,
        options=options,
        context=cells["shared_context_id"],
        end=int(end),
    )


def _parse_list(place: str, written: str) -> list[Any]:
    listed = parse_literal(written)
    if not isinstance(listed, list):
        raise Malformed(place, "its options are not a list, neither in JSON nor in Python")
    return listed


def _find_questions_file(path: Path, size: str) -> Path:
    if path.is_dir():
        return _find_file(path, (f"questions_{_SIZES[size]}.csv", "questions.csv"), size)
    if not path.is_file():
        raise UsageError(f"there is no {path}; name the folder of PersonaMem's {size} files")
    other = _SIZED.search(path.name)
    if other is not None and other[1].lower() != size:
        raise UsageError(f"{path} is another size; evaluate personamem-{other[1].lower()} with it")
    return path


def _find_contexts_file(questions: Path, size: str) -> Path:
    name = questions.name.removesuffix(".gz").removesuffix(".csv")
    beside = name.replace("questions", "shared_contexts", 1)
    stems = dict.fromkeys((beside, f"shared_contexts_{_SIZES[size]}", "shared_contexts"))
    names = tuple(f"{stem}.jsonl" for stem in stems if stem != name)
    return _find_file(questions.parent, names, size)


def _find_file(folder: Path, names: Sequence[str], size: str) -> Path:
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise UsageError(
        f"{folder} holds no {' or '.join(names)}, plain or .gz; put both files of PersonaMem's "
        f"{size} release there"
    )


@contextmanager
def _open_file(path: Path) -> Iterator[BinaryIO]:
    try:
        with open_regular_file(path) as raw:
            yield open_unpacked(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise Malformed(str(path), f"cannot be read ({error})") from error

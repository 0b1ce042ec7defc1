"""PersonaMem-v2: what to reply to a person whose traits only show through their conversations.

Six facts about the upstream files shape this one:

* `benchmark/text/benchmark.csv` has a row for each question; it names the file of the persona's
  history in two lengths. A history is a scenario with all questions about it.
* A history begins with a system message that states the persona. It is not fed.
* There are no sessions and no dates. Every `_SESSION` messages are an episode.
* `user_query`, `incorrect_answers` and `related_conversation_snippet` are JSON in some rows and
  Python in others.
* The right answer and the wrong ones have no letters. Upstream shuffles them by a hash that differs
  from process to process; here a digest of each option gives the order.
* `related_conversation_snippet` repeats the messages that reveal the trait. Those that stand in the
  history word for word are evidence.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.record import group_by
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Item,
    Scenario,
    Truth,
    Turn,
    compute_story_date,
    hash_question_id,
)
from recall_bench.core.untrusted_json import open_regular_file
from recall_bench.features.datasets.loading import (
    LazyScenarios,
    build_dialogue,
    parse_literal,
    read_object,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of every first episode: PersonaMem-v2 has no dates."""

ROWS = ("benchmark/text/benchmark.csv", "benchmark/benchmark.csv", "benchmark.csv")

_SESSION = 20
_SPEAKERS = frozenset({"user", "assistant"})
_COLUMNS = ("persona_id", "user_query", "correct_answer", "incorrect_answers", "pref_type")


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreferenceQuestion:
    """One row of the questions."""

    place: str
    history: str
    text: str
    right: str
    wrong: tuple[str, ...]
    category: str
    snippet: tuple[str, ...]


class _PersonaChat(msgspec.Struct):
    chat_history: list[dict[str, Any]] | None = None
    conversations: list[dict[str, Any]] | None = None


def load(data: Path, layers: Mapping[str, Path], *, size: str) -> Sequence[Scenario]:
    """Read the folder of the release: a scenario for each history, built on demand."""
    refuse_corrections("personamem-v2", layers)
    path, root = _find_rows_file(data)
    rows = _read_rows(path, f"chat_history_{size}_link")
    groups = list(group_by(rows, lambda row: row.history).items())
    return LazyScenarios(len(groups), lambda number: _build_scenario(root, *groups[number]))


def _find_rows_file(data: Path) -> tuple[Path, Path]:
    """Return the file of the questions, and the folder that histories are relative to."""
    if data.is_file():
        above = (data.parent, *data.parents[1:4])
        return data, next((folder for folder in above if (folder / "data").is_dir()), data.parent)
    for name in ROWS:
        if (data / name).is_file():
            return data / name, data
    raise UsageError(f"{data} holds no {ROWS[0]}; name the folder of PersonaMem-v2's release")


def _read_rows(path: Path, link: str) -> Iterator[_PreferenceQuestion]:
    csv.field_size_limit(1 << 27)
    with open_regular_file(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        reader = csv.DictReader(text)
        try:
            missing = {*_COLUMNS, link}.difference(reader.fieldnames or ())
            if missing:
                raise Malformed(str(path), f"lacks the columns {', '.join(sorted(missing))}")
            for row in reader:
                place = f"{path}, line {reader.line_num}"
                try:
                    yield _parse_row(place, row, link)
                except ValueError as error:
                    raise Malformed(place, f"is not as PersonaMem-v2 has it ({error})") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise Malformed(str(path), f"cannot be read as CSV ({error})") from error


def _parse_row(place: str, row: Mapping[str, str | None], link: str) -> _PreferenceQuestion:
    cells = {name: (row[name] or "").strip() for name in (*_COLUMNS, link)}
    if empty := [name for name, value in cells.items() if not value]:
        raise ValueError(f"no value for {', '.join(empty)}")
    wrong = [text.strip() for text in _parse_texts(cells["incorrect_answers"])]
    if not wrong or not all(wrong) or cells["correct_answer"] in wrong:
        raise ValueError("incorrect_answers are not a list of other answers")
    return _PreferenceQuestion(
        place=place,
        history=cells[link],
        text=_parse_query(cells["user_query"]),
        right=cells["correct_answer"],
        wrong=tuple(dict.fromkeys(wrong)),
        category=cells["pref_type"],
        snippet=tuple(_parse_snippet(row.get("related_conversation_snippet") or "")),
    )


def _parse_query(written: str) -> str:
    match parse_literal(written):
        case {"content": str(text)} if text.strip():
            return text
        case None:
            return written
    raise ValueError("user_query has no content")


def _parse_texts(written: str) -> list[str]:
    literal = parse_literal(written)
    if isinstance(literal, list) and all(isinstance(text, str) for text in literal):
        return literal
    raise ValueError("incorrect_answers are not a list of texts, neither in JSON nor in Python")


def _parse_snippet(written: str) -> Iterator[str]:
    parsed = parse_literal(written) if written.strip() else None
    for message in parsed if isinstance(parsed, list) else ():
        match message:
            case {"content": str(text)} if text.strip():
                yield text


def _build_scenario(root: Path, history: str, asked: list[_PreferenceQuestion]) -> Scenario:
    path = root / history
    if not _is_file_below(root, path):
        raise Malformed(asked[0].place, f"its history {history!r:.80} is not below {root}")
    messages = list(_read_messages(path))
    if not messages:
        raise Malformed(str(path), "holds no message of user or assistant")
    episodes = tuple(
        _build_episode(number // _SESSION + 1, messages[number : number + _SESSION])
        for number in range(0, len(messages), _SESSION)
    )
    places = _find_places(messages)
    items = (_build_item(number, row, episodes[-1].day, places) for number, row in enumerate(asked))
    return Scenario(
        id=f"pm2-{hash_question_id(history, 'history')}",
        epoch=EPOCH,
        episodes=episodes,
        items=tuple(items),
    )


def _is_file_below(root: Path, path: Path) -> bool:
    try:
        return path.is_file() and path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError):
        # A name that no file system takes.
        return False


def _read_messages(path: Path) -> Iterator[Turn]:
    content = read_object(path, _PersonaChat | list[dict[str, Any]])  # type: ignore[arg-type]
    raw = (
        content
        if isinstance(content, list)
        else content.chat_history or content.conversations or []
    )
    for number, message in enumerate(raw, start=1):
        match message:
            case {"role": "system"}:
                continue
            case {"role": str(role), "content": str(text)} if role in _SPEAKERS:
                if text.strip():
                    yield Turn(speaker=role, text=text)
            case _:
                raise Malformed(f"{path}, message {number}", "has no known role and text")


def _build_episode(day: int, turns: list[Turn]) -> Episode:
    return build_dialogue(
        f"session-{day:03}", day=day, at=compute_story_date(EPOCH, day), turns=turns
    )


def _find_places(messages: list[Turn]) -> dict[str, Evidence]:
    """Where each text stands first."""
    places: dict[str, Evidence] = {}
    for number, turn in enumerate(messages):
        place = Evidence(day=number // _SESSION + 1, turn=number % _SESSION, speaker=turn.speaker)
        places.setdefault(turn.text.strip(), place)
    return places


def _build_item(
    number: int, row: _PreferenceQuestion, last_day: int, places: Mapping[str, Evidence]
) -> Item:
    options = sorted(
        (row.right, *row.wrong),
        key=lambda text: sha256(f"{row.text}\x00{text}".encode()).hexdigest(),
    )
    letters = ascii_uppercase[: len(options)]
    if len(options) > len(ascii_uppercase):
        raise Malformed(row.place, f"offers {len(options)} options")
    cited = [places[text.strip()] for text in row.snippet if text.strip() in places]
    return Item(
        id=f"q{number:03}",
        text=row.text,
        truth=Truth(
            reference=row.right,
            category=row.category,
            choice=letters[options.index(row.right)],
            evidence=tuple(dict.fromkeys(cited)),
            source=row.place.rpartition(", ")[2],
        ),
        known_from=last_day,
        choices=tuple(f"({letter}) {text}" for letter, text in zip(letters, options, strict=True)),
    )

"""The rows of a file of answers or rankings: one question each, found by its id or its words."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from recall_bench.core.errors import DataError, Malformed
from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import Question, hash_question_id
from recall_bench.core.untrusted_json import decode_untrusted_line, read_regular_file
from recall_bench.text.words import normalise_words

TREC_COLUMNS = 6
"""A line of a TREC run: question, Q0, document, rank, score, name of the run."""


class RankedPlace(Record, frozen=True, kw_only=True):
    """A place of the history, or a text of one's own with the day it came from."""

    id: str | None = None
    """The id of the episode: `day-0012`."""
    day: int | None = None
    text: str | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        if self.id is None and self.day is None and self.text is None:
            raise ValueError("a passage needs an id, a day or a text")


class RecordedRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What was answered or retrieved for one question."""

    id: str | None = None
    """The question's id in the dataset; or its words, below."""
    question: str | None = None
    persona: str | None = None
    """The persona, or the history; None if the id or the words tell it."""
    day: Annotated[int, Meta(ge=1)] | None = None
    """The checkpoint, as a story day; None for every checkpoint without a row of its own."""
    answer: str | None = None
    passages: tuple[RankedPlace | str | int, ...] = ()
    """Best first: ids of episodes, story days, or objects with text."""

    def __post_init__(self) -> None:
        if self.id is None and self.question is None:
            raise ValueError("a row needs the id of its question, or its words as `question`")


class RecordedRows:
    """The rows of a file, by question."""

    def __init__(self, path: Path, rows: dict[int, RecordedRow], digest: str) -> None:
        self.path = path
        self.digest = digest
        """Of the file: another file is another system."""
        self._rows = rows
        self._by_id = group_by(rows, lambda line: rows[line].id or "")
        self._by_words = group_by(rows, lambda line: tuple(_split(rows[line].question or "")))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read JSON lines, or a TREC run; Malformed names the first bad line."""
        try:
            content = read_regular_file(path)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        lines = {
            number: line
            for number, line in enumerate(content.split(b"\n"), start=1)
            if line.strip()
        }
        is_json = next(iter(lines.values()), b"{").lstrip().startswith(b"{")
        rows = dict((_read_json if is_json else _read_trec)(path, lines))
        if not rows:
            raise Malformed(str(path), "holds no row; write one JSON object a line")
        keys: dict[tuple[object, ...], int] = {}
        for line, row in rows.items():
            first = keys.setdefault((row.id or row.question, row.persona, row.day), line)
            if first != line:
                raise Malformed(
                    f"{path}, line {line}", f"answers the question of line {first}; keep one"
                )
        return cls(path, rows, sha256(content).hexdigest()[:12])

    @property
    def has_days(self) -> bool:
        """Whether a row names its checkpoint."""
        return any(row.day is not None for row in self._rows.values())

    def match_ids(self, scenario: str) -> dict[str, list[int]]:
        """The lines of each public id, as a question of this history has it."""
        return {hash_question_id(scenario, own): lines for own, lines in self._by_id.items()}

    def find(self, ids: dict[str, list[int]], question: Question, day: int) -> RecordedRow | None:
        """The row of a question at a checkpoint; None if there is none."""
        lines = ids.get(question.id) or self._by_words.get(tuple(_split(question.text)), [])
        rows = [self._rows[line] for line in lines]
        own = [row for row in rows if row.persona in {None, question.scenario}]
        return next(
            (row for wanted in (day, None) for row in own if row.day == wanted),
            None,
        )


def _split(text: str) -> list[str]:
    return list(normalise_words(text))


def _read_json(path: Path, lines: dict[int, bytes]) -> Iterator[tuple[int, RecordedRow]]:
    decoder = msgspec.json.Decoder(RecordedRow)
    for number, line in lines.items():
        try:
            yield number, decode_untrusted_line(decoder, line)
        except msgspec.DecodeError as error:
            raise Malformed(f"{path}, line {number}", str(error)) from error


def _read_trec(path: Path, lines: dict[int, bytes]) -> Iterator[tuple[int, RecordedRow]]:
    ranked: dict[str, list[tuple[int, RankedPlace]]] = {}
    first: dict[str, int] = {}
    for number, line in lines.items():
        columns = line.decode(errors="replace").split()
        try:
            question, _, place, rank, score, _ = columns
            ranked.setdefault(question, []).append(
                (int(rank), RankedPlace(id=place, score=float(score)))
            )
        except ValueError as error:
            raise Malformed(
                f"{path}, line {number}",
                f"is no line of a TREC run, which has {TREC_COLUMNS} columns: "
                "question Q0 document rank score name",
            ) from error
        first.setdefault(question, number)
    for question, places in ranked.items():
        places.sort(key=lambda pair: pair[0])
        yield first[question], RecordedRow(id=question, passages=tuple(one for _, one in places))

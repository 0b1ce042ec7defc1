"""Questions of a life edition in the words of a writer instead of those of a template.

The names and dates of a story depend on its seed, so its questions are made from templates. Those
of the story as authored can be worded one by one: `wordings.jsonl`, beside the sources, holds a
line for each question that a person worded anew or found unsound, or whose evidence lacks a
sentence. A line names the question that it replaces by a digest, so that it ends with it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.append_log import read_lines
from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import Malformed
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.generate.written.sources import SentenceCitation, WrittenQuestion

WORDINGS_FILE = "wordings.jsonl"


class QuestionWording(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the file: a wording, sentences to cite, or why the question is not asked."""

    of: str
    ask: str | None = None
    drop: str | None = None
    cite: tuple[SentenceCitation, ...] = ()


def compute_question_key(question: WrittenQuestion) -> str:
    """The digest that a line of the file names a question by."""
    text = f"{question.session}\0{question.ask}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_wordings(folder: Path) -> dict[str, QuestionWording]:
    """The wordings beside the sources; none where there is no file."""
    path = folder / WORDINGS_FILE
    if not path.is_file():
        return {}
    found: dict[str, QuestionWording] = {}
    for number, (_, line) in enumerate(read_lines(path), start=1):
        where = f"{WORDINGS_FILE}, line {number}"
        wording = decode_line(line, QuestionWording, where)
        is_asked = wording.ask is not None or bool(wording.cite)
        if is_asked == (wording.drop is not None):
            raise Malformed(where, "a line has either ask, cite or both, or drop")
        if wording.of in found:
            raise Malformed(where, f"the question {wording.of} is worded twice; keep one")
        found[wording.of] = wording
    return found


T = TypeVar("T")


def decode_line(line: bytes, shape: type[T], where: str) -> T:
    """A line of JSON as a record; Malformed if it is none."""
    try:
        return decode_untrusted_json(line, shape)
    except msgspec.DecodeError as error:
        raise Malformed(where, f"no such line: {error}") from error


def reword_questions(
    questions: Sequence[WrittenQuestion], wordings: Mapping[str, QuestionWording]
) -> list[WrittenQuestion]:
    """The questions in the words of the file; each keeps its number, whatever is left out."""
    found = [(each, wordings.get(compute_question_key(each))) for each in questions]
    return [
        question if wording is None else _reword(question, wording)
        for question, wording in found
        if wording is None or wording.drop is None
    ]


def _reword(question: WrittenQuestion, wording: QuestionWording) -> WrittenQuestion:
    cites = [*question.cites, *wording.cite]
    return msgspec.structs.replace(question, ask=wording.ask or question.ask, cites=cites)


def write_wordings(folder: Path, wordings: Mapping[str, QuestionWording]) -> Path:
    """Write the file anew, in the order of the digests."""
    path = folder / WORDINGS_FILE
    lines = [msgspec.json.encode(wordings[key]) + b"\n" for key in sorted(wordings)]
    replace_file(path, b"".join(lines))
    return path

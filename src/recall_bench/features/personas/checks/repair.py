"""Repairs of questions that need no judgement, and the repaired question file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import BOUNDARY, Disclosure
from recall_bench.core.yaml12 import Document, decode_text
from recall_bench.core.yaml_writer import dump_yaml, format_scalar
from recall_bench.features.personas.checks.boundary_check import is_insider
from recall_bench.features.personas.checks.check_result import QuestionRepair
from recall_bench.features.personas.checks.support_check import GUARDED, find_holding_days
from recall_bench.features.personas.checks.time_check import AnswerChange, replace_day_numbers
from recall_bench.stories.lint.boundary_checks import find_disclosures
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.stories.persona_files import format_days


def suggest_repairs(
    corpus: LintCorpus, asked: LintQuestion, change: AnswerChange | None
) -> Iterator[QuestionRepair]:
    """Possible repairs; the checks decide whether one helps."""
    yield from _repair_boundary(corpus, asked)
    yield from _repair_dates(corpus, asked)
    yield from _repair_days(corpus, asked)
    if change is not None:
        yield QuestionRepair(
            changes={"irrelevant_after": change.day - 1, "changes_on": change.day},
            why=f"day {change.day} changes the answer",
        )


def apply_changes(entry: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The entry with changed fields in place; new ones come last."""
    merged = {**entry, **changes}
    return {key: value for key, value in merged.items() if key not in changes or value is not None}


def combine_repairs(several: list[QuestionRepair]) -> QuestionRepair | None:
    """Several repairs as one; None without any."""
    if not several:
        return None
    return QuestionRepair(
        changes=merge_changes(several), why="; ".join(item.why for item in several)
    )


def merge_changes(several: list[QuestionRepair]) -> dict[str, object]:
    """The changes of several repairs; the last one wins."""
    return {key: value for item in several for key, value in item.changes.items()}


def _repair_boundary(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionRepair]:
    truth = asked.item.truth
    if truth.disclosure in GUARDED:
        if is_insider(corpus, asked) and find_disclosures(corpus, asked):
            yield QuestionRepair(
                changes={"expected_disclosure": "answer", "forbidden_sessions": None},
                why=f"everybody in {asked.session} was told, and the answer tells",
            )
        elif asked.category != BOUNDARY and truth.forbidden_sessions:
            yield QuestionRepair(
                changes={"category": BOUNDARY}, why=f"it expects {truth.disclosure}"
            )
    if truth.disclosure is Disclosure.ANSWER and is_insider(corpus, asked):
        yield QuestionRepair(
            changes={"forbidden_sessions": None}, why=f"everybody in {asked.session} was told"
        )


def _repair_dates(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionRepair]:
    texts = {"question": asked.item.text, "answer": asked.reference}
    changes: dict[str, object] = {
        key: day_numbers
        for key, text in texts.items()
        if (day_numbers := replace_day_numbers(corpus, text))
    }
    if changes:
        yield QuestionRepair(
            changes=changes, why="day numbers are the benchmark's own: their dates"
        )


def _repair_days(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionRepair]:
    """Only the listed days that state the answer or hold its evidence."""
    spans = {span.day for span in asked.item.truth.evidence if span.start is not None}
    holding = sorted({*find_holding_days(corpus, asked), *spans})
    if holding and len(holding) < len(asked.days):
        yield QuestionRepair(
            changes={"relevant_days": holding}, why=f"only {format_days(holding)} told it"
        )


def rewrite_questions(name: str, source: str, repairs: Mapping[int, QuestionRepair]) -> str:
    """The text of a question file with some entries repaired; all other entries keep their bytes.

    Malformed if entries depend on each other, so that none can be changed alone.
    """
    import yaml

    content = Document(name, source).content
    rows: Sequence[object] = content if isinstance(content, list) else ()
    repaired = {
        place: apply_changes({str(key): value for key, value in row.items()}, repair.changes)
        for place, repair in repairs.items()
        if isinstance(row := rows[place], dict)
    }
    root = yaml.compose(source, Loader=yaml.BaseLoader)
    if root.flow_style:
        # One list on a line or several, such as JSON: there are no entries to keep apart.
        left = [
            repaired.get(place, row)
            for place, row in enumerate(rows)
            if place not in repairs or not repairs[place].removes
        ]
        return format_scalar(left) + "\n"
    text = source
    for place in sorted(repairs, reverse=True):
        node = root.value[place]
        start = source.rfind("\n", 0, source.rindex("-", 0, node.start_mark.index)) + 1
        # The parser counts the comments and blank lines below an entry to it.
        lines = source[start : node.end_mark.index].splitlines(keepends=True)
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
            lines.pop()
        own = "".join(lines)
        margin = re.match(r" *", own)[0] if own else ""  # type: ignore[index]
        line_end = "\r\n" if "\r\n" in own else "\n"
        entry = "" if repairs[place].removes else dump_yaml([repaired[place]])
        new = "".join(f"{margin}{line}{line_end}" for line in entry.splitlines())
        text = text[:start] + new + text[start + len(own) :]
    expected = [
        repaired.get(place, row)
        for place, row in enumerate(rows)
        if place not in repairs or not repairs[place].removes
    ]
    try:
        is_as_meant = Document(name, text).content == expected
    except Malformed:
        is_as_meant = False
    if not is_as_meant:
        raise Malformed(
            name, "uses anchors or other ties between its entries; write them out to have it mended"
        )
    return text


_BOM = b"\xef\xbb\xbf"
_PROPOSED = re.compile(r"\.proposed-\d+\Z")


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A question file as read; it is never written."""

    path: Path
    name: str
    """Its name in messages."""
    raw: bytes

    @property
    def text(self) -> str:
        """Its text; Malformed if it is not UTF-8."""
        return decode_text(self.raw, self.name, "utf-8-sig")

    @property
    def stem(self) -> str:
        """Its name without extension and proposal number."""
        return _PROPOSED.sub("", self.path.stem)


def choose_findings_path(folder: Path, file: QuestionSource, own: Path) -> Path:
    """The path of the findings; named after the file unless it is the story's own."""
    if file.path.resolve() == own.resolve():
        return folder / "verification.jsonl"
    return folder / f"verification.{file.path.stem}.jsonl"


def write_proposal(
    folder: Path, file: QuestionSource, repairs: Mapping[int, QuestionRepair]
) -> Path | None:
    """Write the repaired file as the next proposal; its path, or None without repairs.

    An existing proposal with the same content is not written again.
    """
    if not repairs:
        return None
    text = rewrite_questions(file.name, file.text, repairs).encode()
    content = _BOM + text if file.raw.startswith(_BOM) else text
    number = 1
    while (path := folder / f"{file.stem}.proposed-{number}.yaml").exists():
        if path.read_bytes() == content:
            return path
        number += 1
    replace_file(path, content)
    return path

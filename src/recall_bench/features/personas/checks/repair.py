"""Repairs of questions that need no judgement, and the repaired question file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import BOUNDARY, Disclosure
from recall_bench.core.yaml12 import Document, decode_text
from recall_bench.core.yaml_writer import format_scalar
from recall_bench.features.personas.checks.boundary_check import is_insider
from recall_bench.features.personas.checks.check_result import QuestionRepair
from recall_bench.features.personas.checks.support_check import GUARDED, find_holding_days
from recall_bench.features.personas.checks.time_check import AnswerChange, replace_day_numbers
from recall_bench.stories.lint.boundary_checks import find_disclosures
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.stories.persona_files import format_days

if TYPE_CHECKING:
    from yaml import MappingNode, Node, SequenceNode


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


Cut = tuple[int, int, str]
"""Start and end of a piece of text, and its replacement."""


def rewrite_questions(name: str, source: str, repairs: Mapping[int, QuestionRepair]) -> str:
    """The text of a question file with some entries repaired; all other bytes stay.

    Malformed if entries depend on each other, so that none can be changed alone.
    """
    content = Document(name, source).content
    rows: Sequence[object] = content if isinstance(content, list) else ()
    root = _compose_nodes(source)
    cuts = [
        cut
        for place, repair in repairs.items()
        for cut in _list_cuts(source, root, place, repair, rows)
    ]
    text = source
    for start, end, new in sorted(cuts, reverse=True):
        text = text[:start] + new + text[end:]
    atoms = [
        apply_changes(row, repairs[place].changes)
        if place in repairs and isinstance(row, dict)
        else row
        for place, row in enumerate(rows)
        if place not in repairs or not repairs[place].removes
    ]
    if not _is_content(name, text, atoms):
        raise Malformed(
            name, "uses anchors or other ties between its entries; write them out to have it mended"
        )
    return text


def _is_content(name: str, text: str, wanted: list[object]) -> bool:
    try:
        return Document(name, text).content == wanted
    except Malformed:
        return False


def _compose_nodes(source: str) -> "SequenceNode":
    import yaml

    loader = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    root: SequenceNode = yaml.compose(source, Loader=loader)
    return root


def _list_cuts(
    source: str, root: "SequenceNode", place: int, repair: QuestionRepair, rows: Sequence[object]
) -> Iterator[Cut]:
    node = root.value[place]
    row = rows[place]
    if repair.removes:
        yield _cut_entry(source, root, place)
    elif node.flow_style or not isinstance(row, dict) or _is_losing_first_key(node, repair):
        indent = " " * node.start_mark.column
        yield (
            node.start_mark.index,
            _find_end(source, node),
            _render_entry(
                apply_changes(_convert_keys(row), repair.changes),
                None if node.flow_style else indent,
            ),
        )
    else:
        yield from _update_fields(source, node, repair)


def _is_losing_first_key(node: "MappingNode", repair: QuestionRepair) -> bool:
    """Whether the key after the dash is removed."""
    return repair.changes.get(node.value[0][0].value, "") is None


def _convert_keys(row: object) -> dict[str, object]:
    return {str(key): value for key, value in row.items()} if isinstance(row, dict) else {}


def _render_entry(entry: Mapping[str, object], indent: str | None) -> str:
    """A whole entry: on one line as JSON, or one line per key."""
    if indent is None:
        return format_scalar(entry)
    return f"\n{indent}".join(f"{key}: {format_scalar(value)}" for key, value in entry.items())


def _update_fields(source: str, node: "MappingNode", repair: QuestionRepair) -> Iterator[Cut]:
    added = []
    there = {key.value: (key, value) for key, value in node.value}
    for name, value in repair.changes.items():
        if name not in there:
            added += [] if value is None else [f"{name}: {format_scalar(value)}"]
            continue
        key, old = there[name]
        if value is None:
            start = source.rfind("\n", 0, key.start_mark.index) + 1
            yield start, _find_line_end(source, _find_end(source, old), with_break=True), ""
        else:
            colon = source.index(":", key.end_mark.index) + 1
            yield colon, max(_find_end(source, old), colon), f" {format_scalar(value)}"
    if added:
        at = _find_line_end(source, _find_end(source, node), with_break=False)
        begin = ("\r\n" if "\r\n" in source else "\n") + " " * node.start_mark.column
        yield at, at, "".join(f"{begin}{line}" for line in added)


def _cut_entry(source: str, root: "SequenceNode", place: int) -> Cut:
    node = root.value[place]
    if not root.flow_style:
        dash = source.rindex("-", 0, node.start_mark.index)
        start = source.rfind("\n", 0, dash) + 1
        return start, _find_line_end(source, _find_end(source, node), with_break=True), ""
    if place:
        return _find_end(source, root.value[place - 1]), _find_end(source, node), ""
    return node.start_mark.index, root.value[1].start_mark.index, ""


def _find_end(source: str, node: "Node") -> int:
    """The end of a node's own text; the parser includes following blank lines and comments."""
    from yaml import CollectionNode, MappingNode

    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, CollectionNode):
        return start + len(source[start:end].rstrip())
    if node.flow_style or not node.value:
        return int(end)
    last = node.value[-1]
    return _find_end(source, last[1] if isinstance(node, MappingNode) else last)


def _find_line_end(source: str, at: int, *, with_break: bool) -> int:
    end = source.find("\n", at)
    if end < 0:
        return len(source)
    if with_break:
        return end + 1
    return end - 1 if source[end - 1] == "\r" and end > at else end


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

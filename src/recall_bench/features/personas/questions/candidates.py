"""Candidates for questions: made from replies, checked, repaired, and kept or rejected."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.errors import Malformed
from recall_bench.core.record import Record
from recall_bench.core.scenario import DIFFICULTIES
from recall_bench.core.yaml12 import Document
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.checks.answer_check import is_in_answer
from recall_bench.features.personas.checks.check_result import (
    FoundProblem,
    QuestionChecker,
    QuestionProblem,
    make_format_problem,
    make_support_problem,
)
from recall_bench.features.personas.day_log import StoryDay
from recall_bench.features.personas.questions.quotation import (
    QuotePlace,
    VisibilityRule,
    locate_quote,
)
from recall_bench.features.personas.questions.window import QuestionEntry
from recall_bench.stories.yaml_fields import is_whole

_MIN_WORDS = 2
_MIN_LETTERS = 8
"""Shorter quotations occur by chance."""
_WORD = re.compile(r"\w+")


class QuestionCandidate(dict[str, object]):
    """An entry, with what its writer knows beyond the fields of the file."""

    def __init__(
        self,
        fields: Mapping[str, object],
        *,
        flaws: Iterable[QuestionProblem] = (),
        pair: str | None = None,
    ) -> None:
        super().__init__(fields)
        self.flaws = tuple(flaws)
        """Problems known before the checks."""
        self.pair = pair
        """Candidates of the same pair are kept together or not at all."""


@dataclass(frozen=True, slots=True)
class QuoteEvidence:
    """The places of quotations in the days."""

    spans: tuple[tuple[int, QuotePlace], ...]
    """Days and places, in story order."""
    flaws: tuple[QuestionProblem, ...]

    @property
    def days(self) -> list[int]:
        """The days of the quotations, ascending."""
        return list(dict.fromkeys(day for day, _ in self.spans))

    @property
    def evidence(self) -> list[dict[str, object]] | None:
        """As in `questions.yaml`; None if there is none."""
        return [
            {"day": day, "session": place.session, "start": place.start, "end": place.end}
            if place.session is not None
            else {"day": day, "start": place.start, "end": place.end}
            for day, place in self.spans
        ] or None


def collect_evidence(
    raw: object, days: Mapping[int, StoryDay], is_visible: VisibilityRule
) -> QuoteEvidence:
    """The places of a reply's quotations; a quotation that is not found is a flaw.

    A quotation with a wrong date is assigned to the day that holds it, if there is just one.
    """
    spans: set[tuple[int, QuotePlace]] = set()
    flaws: list[QuestionProblem] = []
    for item in raw if isinstance(raw, list) else ():
        quote = item.get("quote") if isinstance(item, dict) else None
        if not isinstance(quote, str) or not (
            len(_WORD.findall(quote)) >= _MIN_WORDS and len(quote.strip()) >= _MIN_LETTERS
        ):
            flaws.append(make_support_problem("it has a quotation of less than two words"))
            continue
        quotation = _locate_quotation(item, quote, days, is_visible)
        if quotation is None:
            flaws.append(make_support_problem(f"“{quote:.80}” stands in nothing that was shown"))
            continue
        day, placed = quotation
        spans |= {(day, place) for place in placed}
    ordered = sorted(spans, key=lambda span: (span[0], span[1].start, span[1].end))
    return QuoteEvidence(tuple(ordered), tuple(dict.fromkeys(flaws)))


_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)


def count_topics(found: QuoteEvidence, days: Mapping[int, StoryDay]) -> int:
    """The number of topics, in all days and sessions, that the quotations are from."""
    return len(
        {(day, len(_HEADING.findall(days[day].text, 0, place.start))) for day, place in found.spans}
    )


def _locate_quotation(
    raw: Mapping[str, object], quote: str, days: Mapping[int, StoryDay], is_visible: VisibilityRule
) -> tuple[int, tuple[QuotePlace, ...]] | None:
    session, named = raw.get("session"), raw.get("day")
    home = session if isinstance(session, str) else None
    quotation = [
        (number, placed)
        for number, day in days.items()
        if (placed := locate_quote(day.text, quote, session=home, is_visible=is_visible))
    ]
    right = [item for item in quotation if item[0] == named]
    if right:
        return right[0]
    return quotation[0] if len(quotation) == 1 else None


def read_text(raw: Mapping[str, object], key: str) -> str:
    """A text on one line without unprintable characters; empty if there is none."""
    value = raw.get(key)
    return _clean_line(value) if isinstance(value, str) else ""


def read_texts(raw: Mapping[str, object], key: str) -> list[str]:
    """A list of texts, each once."""
    value = raw.get(key)
    texts = (
        (_clean_line(part) for part in value if isinstance(part, str))
        if isinstance(value, list)
        else ()
    )
    return list(dict.fromkeys(text for text in texts if text))


def read_days(raw: Mapping[str, object], days: Collection[int]) -> list[int]:
    """The relevant days in a reply, as far as they were shown."""
    value = raw.get("relevant_days")
    named = {day for day in value if is_whole(day)} if isinstance(value, list) else set()
    return sorted(day for day in days if day in named)


def read_atoms(raw: Mapping[str, object], answer: str) -> list[str] | None:
    """The atoms in a reply, as far as the answer holds them."""
    atoms = (atom for atom in read_texts(raw, "atoms") if atom.lower() in answer.lower())
    return [atom for atom in atoms if is_in_answer(answer, atom)] or None


def read_aliases(raw: Mapping[str, object], answer: str) -> list[str] | None:
    """The other wordings of the answer in a reply."""
    return [alias for alias in read_texts(raw, "aliases") if alias != answer] or None


def check_fields(raw: Mapping[str, object], keys: Sequence[str]) -> list[QuestionProblem]:
    """Missing texts and an unknown difficulty."""
    flaws = [make_format_problem(f"it has no {key}") for key in keys if not read_text(raw, key)]
    difficulty = raw.get("difficulty")
    if difficulty not in DIFFICULTIES:
        flaws.append(
            make_format_problem(f"its difficulty is {difficulty!r:.40}; {', '.join(DIFFICULTIES)}")
        )
    return flaws


def _clean_line(text: str) -> str:
    words = ("".join(letter for letter in word if letter.isprintable()) for word in text.split())
    return " ".join(word for word in words if word)


_MAX_REPAIRS = 3
"""A question that needs more repairs is rejected."""


class RejectedQuestion(Record, frozen=True, kw_only=True):
    """A question that was not kept."""

    entry: dict[str, object]
    problems: tuple[FoundProblem, ...]


@dataclass(frozen=True, slots=True)
class SortedCandidates:
    """The kept and the rejected candidates of a window."""

    kept: tuple[dict[str, object], ...]
    refused: tuple[RejectedQuestion, ...]


def sort_candidates(
    candidates: Sequence[QuestionEntry], checker: QuestionChecker, ids: Iterator[str]
) -> SortedCandidates:
    """Check every candidate; those of a pair are kept together or not at all.

    A kept question gets the next id, by which later problems can name it.
    """
    entries: list[dict[str, object]] = []
    refused: list[RejectedQuestion] = []
    for group in _group_pairs(candidates):
        results = [_check_candidate(entry, checker) for entry in group]
        if any(problems for _, problems in results):
            refused += _make_rejections(results)
            continue
        for entry, _ in results:
            entries.append({"id": next(ids), **entry})
            checker.keep(entries[-1])
    return SortedCandidates(tuple(entries), tuple(refused))


def _group_pairs(candidates: Sequence[QuestionEntry]) -> Iterator[list[QuestionEntry]]:
    groups: dict[str, list[QuestionEntry]] = {}
    for place, entry in enumerate(candidates):
        pair = entry.pair if isinstance(entry, QuestionCandidate) else None
        groups.setdefault(pair or f"\0{place}", []).append(entry)
    yield from groups.values()


def _make_rejections(
    results: Sequence[tuple[dict[str, object], tuple[QuestionProblem, ...]]],
) -> Iterator[RejectedQuestion]:
    for entry, problems in results:
        faults = tuple(
            FoundProblem(kind=problem.kind, message=problem.message) for problem in problems
        )
        if not faults:
            first = next(problem for _, others in results for problem in others)
            faults = (
                FoundProblem(kind=first.kind, message=f"its twin was rejected: {first.message}"),
            )
        yield RejectedQuestion(entry=entry, problems=faults)


def _check_candidate(
    candidate: QuestionEntry, checker: QuestionChecker
) -> tuple[dict[str, object], tuple[QuestionProblem, ...]]:
    entry = _normalise_entry(candidate)
    flaws = candidate.flaws if isinstance(candidate, QuestionCandidate) else ()
    if flaws:
        return entry, flaws
    if not _is_storable(entry):
        return entry, (make_format_problem("it holds characters that YAML cannot hold"),)
    result = checker.check(entry)
    for _ in range(_MAX_REPAIRS):
        if result.is_sound or result.repair is None or result.repair.removes:
            break
        mended = repair_entry(entry, result.repair.changes)
        if mended == entry:
            break
        entry = mended
        result = checker.check(entry)
    return entry, result.problems


def repair_entry(entry: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The entry with a repair's changes and their consequences.

    Evidence on days that are no longer relevant is removed; `irrelevant_after` sets `changes_on`.
    """
    fields = {**entry, **changes}
    days = fields.get("relevant_days")
    if "relevant_days" in changes and isinstance(days, list | tuple) and days:
        fields["relevant_days"] = list(days)
        evidence = fields.get("evidence")
        if isinstance(evidence, list):
            fields["evidence"] = [span for span in evidence if span["day"] in days]
        if "answerable_from" in entry and "answerable_from" not in changes:
            latest = max(days)
            before = entry["answerable_from"]
            was = entry.get("relevant_days")
            # A question that must be asked later than its days keeps its day.
            if isinstance(was, list) and before == max(was, default=None):
                fields["answerable_from"] = latest
    until = changes.get("irrelevant_after")
    if isinstance(until, int) and "changes_on" not in changes:
        fields["changes_on"] = until + 1
    return _normalise_entry(fields)


def _normalise_entry(entry: Mapping[str, object]) -> dict[str, object]:
    """The entry as a file gives it back: without empty values, with lists for tuples."""
    plain: dict[str, object] = json.loads(json.dumps(dict(entry), ensure_ascii=True))
    return {key: value for key, value in plain.items() if value not in (None, [])}


def _is_storable(entry: Mapping[str, object]) -> bool:
    """Whether writing and reading gives the same entry."""
    try:
        text = dump_yaml([entry])
        text.encode()
        return Document("entry", text).content == [entry]
    except (Malformed, UnicodeEncodeError):
        return False

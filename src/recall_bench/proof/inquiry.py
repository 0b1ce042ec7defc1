"""`questions.yaml` as the proof needs it: the public keys, and those the simulator adds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from recall_bench.core.question import PRINCIPAL
from recall_bench.datasets.fields import Fields, mappings, raise_noted, shown
from recall_bench.errors import BenchError, Malformed
from recall_bench.yaml12 import Document


@dataclass(frozen=True, slots=True)
class Claim:
    """One piece of evidence as the question cites it."""

    day: int
    session: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"day {self.day}, session {self.session}, characters {self.start}–{self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A question and everything claimed about it."""

    id: str
    question: str
    answer: str
    category: str
    relevant_days: tuple[int, ...]
    session: str
    disclosure: str | None
    irrelevant_after: int | None
    answerable_from: int
    changes_on: int | None
    aliases: tuple[str, ...]
    atoms: tuple[str, ...]
    stale: tuple[str, ...]
    distractors: tuple[str, ...]
    evidence: tuple[Claim, ...]
    canaries: tuple[str, ...]
    withheld: tuple[str, ...]
    """The values a refusal keeps back, where the question lists them."""
    derive: Mapping[object, object] | None

    @property
    def where(self) -> str:
        """What findings call it."""
        return f"question {self.id}"


def read_inquiries(document: Document) -> tuple[Inquiry, ...]:
    """Every question in file order; DataError if one departs from its shape."""
    content = document.content
    if not isinstance(content, list) or not content:
        raise Malformed(document.name, f"holds {shown(content)}; write a list of questions")
    problems: list[BenchError] = []
    found = tuple(_inquiries(document, content, problems))
    raise_noted(problems)
    return found


def _inquiries(
    document: Document, content: list[object], problems: list[BenchError]
) -> Iterator[Inquiry]:
    seen: set[str] = set()
    for fields in mappings(document, (), "question", content, problems):
        raw = cast("dict[object, object]", content[cast("int", fields.path[0])])
        inquiry = _inquiry(fields, raw.get("derive"))
        if inquiry.id in seen:
            fields.note(f"two questions have the id {inquiry.id}; rename one", "id")
        seen.add(inquiry.id)
        yield inquiry


def _inquiry(fields: Fields, derive: object) -> Inquiry:
    if derive is not None and not isinstance(derive, dict):
        fields.note(f"derive of {fields.subject} is {shown(derive)}; write a mapping", "derive")
    relevant = fields.wholes("relevant_days")
    asked_from = fields.whole_or_none("answerable_from")
    return Inquiry(
        id=fields.text("id"),
        question=fields.text("question"),
        answer=fields.text("answer"),
        category=fields.text("category"),
        relevant_days=relevant,
        session=fields.text_or_none("query_session") or PRINCIPAL,
        disclosure=fields.text_or_none("expected_disclosure"),
        irrelevant_after=fields.whole_or_none("irrelevant_after"),
        answerable_from=max(relevant, default=1) if asked_from is None else asked_from,
        changes_on=fields.whole_or_none("changes_on"),
        aliases=fields.texts("aliases"),
        atoms=fields.texts("atoms"),
        stale=fields.texts("stale"),
        distractors=fields.texts("distractors"),
        evidence=tuple(_claim(part) for part in fields.parts("evidence", "evidence")),
        canaries=fields.texts("canaries"),
        withheld=fields.texts("withheld"),
        derive=derive if isinstance(derive, dict) else None,
    )


def _claim(fields: Fields) -> Claim:
    return Claim(
        day=fields.whole("day"),
        session=fields.text("session"),
        start=fields.whole("start"),
        end=fields.whole("end"),
    )

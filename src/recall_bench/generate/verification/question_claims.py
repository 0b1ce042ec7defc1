"""`questions.yaml` as the verifier reads it: the public keys, and those of the simulator."""

from collections.abc import Iterator, Mapping
from typing import cast

from recall_bench.core.errors import BenchError, Malformed
from recall_bench.core.record import Record
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.yaml12 import Document
from recall_bench.datasets.yaml_fields import Fields, describe_value, raise_problems, read_mappings


class EvidenceClaim(Record, frozen=True, kw_only=True):
    """One piece of evidence as the question cites it."""

    day: int
    session: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"day {self.day}, session {self.session}, characters {self.start}–{self.end}"


class QuestionClaims(
    Record,
    frozen=True,
    kw_only=True,
    rename={"session": "query_session", "disclosure": "expected_disclosure"},
):
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
    evidence: tuple[EvidenceClaim, ...]
    canaries: tuple[str, ...]
    withheld: tuple[str, ...]
    """The values a refusal withholds, if the question lists them."""
    derive: Mapping[object, object] | None

    @property
    def where(self) -> str:
        """Its name in findings."""
        return f"question {self.id}"


def read_claims(document: Document) -> tuple[QuestionClaims, ...]:
    """Every question in file order; DataError if one has a wrong form."""
    content = document.content
    if not isinstance(content, list) or not content:
        raise Malformed(
            document.name, f"holds {describe_value(content)}; write a list of questions"
        )
    problems: list[BenchError] = []
    found = tuple(_read_all(document, content, problems))
    raise_problems(problems)
    return found


def _read_all(
    document: Document, content: list[object], problems: list[BenchError]
) -> Iterator[QuestionClaims]:
    seen: set[str] = set()
    for fields in read_mappings(document, (), "question", content, problems):
        raw = cast("dict[object, object]", content[cast("int", fields.path[0])])
        claims = _read_question(fields, raw.get("derive"))
        if claims.id in seen:
            fields.note(f"two questions have the id {claims.id}; rename one", "id")
        seen.add(claims.id)
        yield claims


def _read_question(fields: Fields, derive: object) -> QuestionClaims:
    if derive is not None and not isinstance(derive, dict):
        fields.note(
            f"derive of {fields.subject} is {describe_value(derive)}; write a mapping", "derive"
        )
    claims = fields.read_record(
        QuestionClaims,
        session=lambda each: each.read_optional_text("query_session") or PRINCIPAL,
        answerable_from=lambda each: each.read_optional_int("answerable_from") or 0,
        evidence=lambda each: tuple(
            part.read_record(EvidenceClaim) for part in each.read_parts("evidence", "evidence")
        ),
        derive=lambda _: derive if isinstance(derive, dict) else None,
    )
    if fields.has("answerable_from"):
        return claims
    return claims.replace(answerable_from=max(claims.relevant_days, default=1))

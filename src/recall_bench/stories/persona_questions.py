"""Parses `questions.yaml`: the questions about a story, with their truth.

The public harness trusts this file: an unknown category is missing from every table, a question
about a day that does not exist is never asked, a duplicate id counts twice. Here each is an error
with its line.
"""

import re
from collections.abc import Collection, Iterator

from recall_bench.core.errors import BenchError, Malformed
from recall_bench.core.plain_text import find_nearest
from recall_bench.core.scenario import (
    CATEGORIES,
    DIFFICULTIES,
    NEGATIVE,
    Disclosure,
    Evidence,
    Expects,
    Item,
    Truth,
)
from recall_bench.core.yaml12 import Document
from recall_bench.stories.persona_files import format_days, name_day_file
from recall_bench.stories.yaml_fields import Fields, describe_value, read_mappings
from recall_bench.text.languages import is_denial, list_foreign_languages

_KEYS = frozenset(
    {
        "id",
        "question",
        "answer",
        "category",
        "difficulty",
        "expects",
        "relevant_days",
        "requires_synthesis",
        "query_session",
        "forbidden_sessions",
        "expected_disclosure",
        "irrelevant_after",
        "answerable_from",
        "aliases",
        "atoms",
        "stale",
        "distractors",
        "canaries",
        "withheld",
        "evidence",
        "template",
        "derive",
        "kind",
        "language",
    }
)
_IGNORED = frozenset({"temporal_scope", "changes_on"})
"""Keys that runs do not read: one of the public format, and one of the verification."""

_MISSPELLING_SIMILARITY = 0.8
"""The similarity from which an unknown key counts as a misspelt one."""

_DENIAL = re.compile(
    r"[\s\"'“‘*_(]*(?:no|none|not|never|nothing|neither|nobody|nowhere|nor)\b", re.IGNORECASE
)


def parse_questions(
    document: Document,
    *,
    days: Collection[int] | None,
    sessions: Collection[str],
    problems: list[BenchError],
    warnings: list[str],
) -> tuple[Item, ...]:
    """Return the valid questions in file order; the others become problems.

    `days` are the existing story days, None if unknown; `sessions` those the persona declares.
    """
    content = document.content
    if not isinstance(content, list) or not content:
        what = "an empty list" if content == [] else describe_value(content)
        problems.append(Malformed(document.name, f"holds {what}; write a list of questions"))
        return ()
    existing = None if days is None else frozenset(days)
    items: list[Item] = []
    unknown: dict[str, list[Fields]] = {}
    first: dict[str, Fields] = {}
    for fields in read_mappings(document, (), "question", content, problems):
        item = _parse_item(fields, existing)
        for key in _find_unknown_keys(fields):
            unknown.setdefault(key, []).append(fields)
        if item.id and (other := first.setdefault(item.id, fields)) is not fields:
            line = document.find_line(*other.path)
            fields.note(f"two questions have the id {item.id}, one on line {line}; rename one")
        if fields.is_sound:
            items.append(item)
            warnings += _find_undeclared_sessions(fields, item, sessions)
    for key, where in unknown.items():
        others = f", here and in {len(where) - 1} more" if len(where) > 1 else ""
        warnings.append(f"{where[0].locate(key)}: the key {key} is unknown and ignored{others}")
    return tuple(items)


def _parse_item(fields: Fields, days: frozenset[int] | None) -> Item:
    """Parse a question; it is valid only if its fields are sound."""
    relevant = fields.read_ints("relevant_days")
    known_until = fields.read_optional_int("irrelevant_after")
    item = Item(
        id=fields.read_text("id"),
        text=fields.read_text("question"),
        truth=_parse_truth(fields, relevant),
        known_from=max((*relevant, fields.read_optional_int("answerable_from") or 0), default=0),
        known_until=known_until,
        session=fields.read_optional_text("query_session"),
        template=fields.read_optional_text("template")
        or infer_template(fields.get("category"), fields.get("derive")),
        kind=_parse_kind(fields),
    )
    early = sorted({day for day in relevant if day < 1})
    if early:
        fields.note(
            f"relevant_days of {fields.subject} holds {early[0]}; the first story day is 1",
            "relevant_days",
        )
    absent = sorted({day for day in relevant if day >= 1} - days) if days is not None else []
    if absent:
        fields.note(
            f"{fields.subject} needs {format_days(absent)}, which the history does not have; "
            f"restore {name_day_file(absent[0])} or correct relevant_days",
            "relevant_days",
        )
    # The day after the last is let pass: a published half-year has such a question, and must open.
    if days and item.known_from > max((*relevant, 0)) and item.known_from > max(days) + 1:
        late = f"from day {item.known_from}, after the last day {max(days)}"
        fields.note(f"{fields.subject} is answerable {late}; correct it", "answerable_from")
    if relevant and known_until is not None and known_until < item.known_from:
        fields.note(
            f"{fields.subject} is irrelevant after day {known_until}, before its last relevant "
            f"day {item.known_from}, so it could never be asked; correct one of the two",
            "irrelevant_after",
        )
    return item


def _parse_kind(fields: Fields) -> str | None:
    """The kind of memory work; simulated questions name a form of template there instead."""
    kind = fields.read_optional_text("kind")
    return None if kind is None or "/" in kind else kind


def _parse_truth(fields: Fields, relevant: tuple[int, ...]) -> Truth:
    reference = fields.read_text("answer")
    category = fields.read_choice("category", CATEGORIES)
    word = fields.read_optional_choice("expected_disclosure", tuple(Disclosure))
    disclosure = Disclosure(word) if word else None
    expects = fields.read_optional_choice("expects", tuple(Expects))
    return Truth(
        reference=reference,
        category=category,
        difficulty=fields.read_choice("difficulty", DIFFICULTIES),
        expects=(Expects(expects) if expects else None)
        or _find_expectation(fields.get("derive"))
        or infer_expectation(reference, category, disclosure),
        evidence=_parse_evidence(fields, relevant),
        aliases=fields.read_texts("aliases"),
        atoms=fields.read_texts("atoms"),
        stale=fields.read_texts("stale"),
        distractors=fields.read_texts("distractors"),
        canaries=fields.read_texts("canaries"),
        withheld=fields.read_texts("withheld"),
        requires_synthesis=fields.read_flag("requires_synthesis"),
        forbidden_sessions=fields.read_texts("forbidden_sessions"),
        disclosure=disclosure,
    )


def _find_expectation(derive: object) -> Expects | None:
    """What its derivation says of a question, whatever its category; None if nothing."""
    forms = {
        "absent": Expects.ABSTAIN,
        "unknown": Expects.ABSTAIN,
        # A yes or a no that follows from what is told.
        "told": Expects.ANSWER,
    }
    return forms.get(str(derive.get("form"))) if isinstance(derive, dict) else None


def _parse_evidence(fields: Fields, relevant: tuple[int, ...]) -> tuple[Evidence, ...]:
    """Return the evidence: the sentences if the dataset has them, else the days.

    A file that says what it expects may say with an empty list that nothing supports the answer.
    """
    spans = tuple(
        Evidence(
            day=span.read_int("day"),
            session=span.read_optional_text("session"),
            start=span.read_optional_int("start"),
            end=span.read_optional_int("end"),
        )
        for span in fields.read_parts("evidence", "evidence")
    )
    for span in spans:
        if span.day not in relevant:
            fields.note(
                f"evidence of {fields.subject} is on day {span.day}, which relevant_days leaves "
                "out; add it there",
                "evidence",
            )
    if fields.has("expects") and fields.get("evidence") == []:
        return ()
    return spans or tuple(Evidence(day=day) for day in dict.fromkeys(relevant))


def infer_expectation(reference: str, category: str, disclosure: Disclosure | None) -> Expects:
    """Infer from the reference what a correct system does: answer, abstain or withhold."""
    if disclosure is Disclosure.REFUSE:
        return Expects.WITHHOLD
    if category == NEGATIVE and (
        _DENIAL.match(reference)
        or any(is_denial(reference, language) for language in list_foreign_languages())
    ):
        return Expects.ABSTAIN
    return Expects.ANSWER


_SERIAL = re.compile(r"-[0-9]+$")
_TEMPLATE_KEYS = ("op", "process", "thread", "slot", "step", "of", "events", "give", "hold")
_PAIR = 2


def infer_template(category: object, derive: object) -> str | None:
    """Infer the template of a simulated question from how its answer is derived.

    `derive` names the threads and their attributes. Threads of one process differ by their serial
    number alone: a question about `investor-0001` and one about `investor-0007` share a template.
    """
    if not isinstance(derive, dict) or "op" not in derive:
        return None
    names = [str(category)]
    for key in _TEMPLATE_KEYS:
        names += _list_names(derive.get(key))
    return " ".join([*names, "as_of"] if "as_of" in derive else names)


def _list_names(part: object) -> list[str]:
    """The names in a thread, a pair of thread and attribute, or a list of pairs."""
    if isinstance(part, str):
        return [_SERIAL.sub("", part)]
    if not isinstance(part, list):
        return []
    # An event names its thread and its step, and then describes it in words.
    pairs = part[:_PAIR] if all(isinstance(entry, str) for entry in part) else part
    return [name for pair in pairs for name in _list_names(pair)]


def _find_unknown_keys(fields: Fields) -> Iterator[str]:
    """Yield unknown keys; one that looks like a misspelt key becomes a problem."""
    for key in fields.keys:
        if key in _KEYS or key in _IGNORED:
            continue
        near = find_nearest(key, _KEYS, _MISSPELLING_SIMILARITY)
        if near is None:
            yield key
        else:
            fields.note(f"{fields.subject} has an unknown key {key}; did you mean {near}?", key)


def _find_undeclared_sessions(
    fields: Fields, item: Item, sessions: Collection[str]
) -> Iterator[str]:
    """Yield warnings about sessions that the persona does not declare."""
    named = {
        "query_session": [item.session] if item.session else [],
        "forbidden_sessions": item.truth.forbidden_sessions,
    }
    for key, names in named.items():
        for name in names:
            if sessions and name not in sessions:
                yield (
                    f"{fields.locate(key)}: {key} of {fields.subject} names {name}, "
                    "which the persona does not declare"
                )

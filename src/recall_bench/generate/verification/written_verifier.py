"""Verify a built written edition: read every value back from the text, and re-derive the answers.

It shares no code with the builder. `statements.jsonl` says where a value of a fact stands; what the
value is, is read from the day file itself.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.languages import (
    LANGUAGE_CODES,
    Language,
    build_word_start,
    get_language,
    is_denial,
    is_spelled_in,
)
from recall_bench.core.multilingual_values import normalise_multilingual_values
from recall_bench.core.yaml12 import read_document
from recall_bench.datasets.persona_files import Layout
from recall_bench.generate.verification.findings import (
    VerificationCode,
    VerificationFinding,
    VerificationProblem,
    VerificationReport,
)
from recall_bench.generate.verification.value_readers import (
    Amount,
    Key,
    build_date_reader,
    build_money_reader,
    fold_text,
)
from recall_bench.generate.verification.written_text import (
    BARE_NUMBER,
    VALUE_READERS,
    StatementText,
    WrittenText,
    find_conflicts,
    read_text,
)

FORGOTTEN = "forgotten"
"""The kind of a question about something that was asked to be forgotten."""

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Letters of a script without blanks between words."""
_SENTENCE_END = re.compile(r"(?<=[.!?؟])\s+|(?<=[。！？])|\n")


class DeriveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The `derive` of a question."""

    form: str
    states: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    as_of: int | None = None


class EvidenceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One evidence sentence of a question."""

    day: int
    session: str
    start: int
    end: int


class WrittenClaims(msgspec.Struct, frozen=True, kw_only=True):
    """What a question claims about the text."""

    id: str
    question: str
    answer: str
    derive: DeriveRecord
    kind: str = ""
    evidence: tuple[EvidenceRecord, ...] = ()
    relevant_days: tuple[int, ...] = ()
    language: str | None = None
    """Where it is not that of the story."""
    answerable_from: int
    irrelevant_after: int | None = None
    query_session: str | None = None
    expected_disclosure: str | None = None
    atoms: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


TextCheck = Callable[[Path, WrittenText, Sequence[WrittenClaims]], list[VerificationFinding]]
"""A further check, by the files beside the questions."""


def verify_written(
    folder: Path, arcs: str, check: TextCheck = lambda _path, _text, _claims: []
) -> VerificationReport:
    """Verify a built written edition."""
    layout = Layout(folder, arcs)
    language = _read_language(layout)
    claims = [_level_claims(each, language) for each in _read_claims(layout)]
    findings: list[VerificationFinding] = []
    text = read_text(layout, language, findings)
    rederived = 0
    for each in claims:
        problems = list(_verify_claims(text, each))
        rederived += not problems
        findings += [VerificationFinding(code, each.id, message) for code, message in problems]
    findings += find_conflicts(text)
    findings += check(layout.questions_file.parent, text, claims)
    return VerificationReport(questions=len(claims), rederived=rederived, findings=tuple(findings))


def _read_language(layout: Layout) -> Language:
    """The language that persona.yaml names, else English."""
    content = read_document(layout.folder / "persona.yaml", name="persona.yaml").content
    code = content.get("language", "en") if isinstance(content, dict) else "en"
    if code not in LANGUAGE_CODES:
        raise Malformed("persona.yaml", f"language: {code} is none of {', '.join(LANGUAGE_CODES)}")
    return get_language(code)


def _level_claims(claims: WrittenClaims, language: Language) -> WrittenClaims:
    """The claims with their values in the English form."""
    code = claims.language or language.code
    return msgspec.structs.replace(
        claims,
        answer=normalise_multilingual_values(claims.answer, code),
        atoms=tuple(normalise_multilingual_values(each, code) for each in claims.atoms),
        stale=tuple(normalise_multilingual_values(each, code) for each in claims.stale),
        withheld=tuple(normalise_multilingual_values(each, code) for each in claims.withheld),
    )


def _read_claims(layout: Layout) -> tuple[WrittenClaims, ...]:
    document = read_document(layout.questions_file, name=layout.name(layout.questions_file))
    try:
        return msgspec.convert(document.content, tuple[WrittenClaims, ...])
    except msgspec.ValidationError as problem:
        raise Malformed(document.name, str(problem)) from None


Problems = Iterator[VerificationProblem]


def _verify_claims(text: WrittenText, claims: WrittenClaims) -> Problems:
    derive = claims.derive
    if derive.form in ("absent", "unknown"):
        yield from _verify_absence(text, claims)
        return
    if unknown := [state for state in derive.states if state not in text.first]:
        message = f"{', '.join(unknown)} is stated nowhere"
        yield VerificationProblem(VerificationCode.UNSTATED, message)
        return
    stated = [text.first[state] for state in derive.states]
    yield from _verify_days(text, claims, stated)
    yield from _verify_evidence(text, claims, stated)
    if claims.withheld:
        yield from _verify_secret(text, claims, stated)
    else:
        yield from _verify_answer(text, claims, stated)


def _verify_absence(text: WrittenText, claims: WrittenClaims) -> Problems:
    plain = claims.derive.words
    words = [re.compile(build_word_start(word, text.language)) for word in plain]
    for day, whole in text.folded_days.items():
        # A pattern takes many times as long to see that a word is not there.
        if not (all(word in whole for word in plain) and all(word.search(whole) for word in words)):
            continue
        for sentence, low in _split_sentences(text.days[day]):
            if all(word.search(low) for word in words):
                yield VerificationProblem(
                    VerificationCode.SECOND_ANSWER, f"day {day} tells of it: “{sentence.strip()}”"
                )


@lru_cache(maxsize=512)
def _split_sentences(content: str) -> tuple[tuple[str, str], ...]:
    """The sentences of a day, as they are and without case: many questions are about no day."""
    return tuple((each, each.casefold()) for each in _SENTENCE_END.split(content))


def _verify_days(
    text: WrittenText, claims: WrittenClaims, stated: Sequence[StatementText]
) -> Problems:
    latest = max(each.record.day for each in stated)
    is_as_of = claims.derive.form == "as-of"
    if claims.answerable_from < latest and not is_as_of:
        yield VerificationProblem(
            VerificationCode.TOO_EARLY,
            f"it may be asked from day {claims.answerable_from}, but day {latest} is needed",
        )
    if claims.derive.form == "latest":
        following = [
            each.record.day
            for each in text.list_states(stated[0].record.fact)
            if each.record.state > stated[0].record.state
        ]
        ends = min(following) - 1 if following else None
        if ends is not None and (claims.irrelevant_after or ends + 1) > ends:
            yield VerificationProblem(
                VerificationCode.SPAN, f"the value changes on day {ends + 1}, but it is still asked"
            )


def _verify_evidence(
    text: WrittenText, claims: WrittenClaims, stated: Sequence[StatementText]
) -> Problems:
    if set(claims.relevant_days) != {span.day for span in claims.evidence}:
        yield VerificationProblem(
            VerificationCode.RELEVANT_DAYS, "the relevant days are not those of the evidence"
        )
    for span in claims.evidence:
        if not text.days.get(span.day, "")[span.start : span.end].strip():
            yield VerificationProblem(
                VerificationCode.EVIDENCE, f"day {span.day} has no text at {span.start}"
            )
    used = stated
    if claims.derive.form in ("as-of", "history"):
        used = text.list_states(stated[0].record.fact, claims.derive.as_of)
        used = used[-1:] if claims.derive.form == "as-of" else used
    for each in used:
        record = each.record
        if not any(
            span.day == record.day and span.start <= record.start and record.end <= span.end
            for span in claims.evidence
        ):
            yield VerificationProblem(
                VerificationCode.EVIDENCE,
                f"the evidence leaves out day {record.day}, which tells {record.fact}",
            )


def _verify_secret(
    text: WrittenText, claims: WrittenClaims, stated: Sequence[StatementText]
) -> Problems:
    asker = claims.query_session or "principal"
    closed = claims.derive.as_of
    if closed is not None and claims.answerable_from <= closed:
        yield VerificationProblem(
            VerificationCode.TOO_EARLY,
            f"{asker} may know until day {closed}, but is refused before",
        )
    for each in stated:
        if not _is_key_in(each, "; ".join(claims.withheld), text.get_date(each)):
            yield VerificationProblem(
                VerificationCode.WITHHELD, f"“{each.surface}” is secret and not withheld"
            )
        for other in text.by_state[each.record.fact, each.record.state]:
            if other.record.session != asker:
                continue
            day = other.record.day
            if claims.derive.as_of is not None and day <= claims.derive.as_of:
                continue
            if claims.kind == FORGOTTEN:
                if day > claims.answerable_from:
                    yield VerificationProblem(
                        VerificationCode.FORGET, f"day {day} tells it again after it was forgotten"
                    )
            elif day <= (claims.irrelevant_after or day):
                yield VerificationProblem(
                    VerificationCode.LEAK, f"day {day} tells it in {asker} itself"
                )
    for way in claims.withheld:
        # “April 2” is not told by “April 2026”.
        whole = rf"(?<!\d){re.escape(fold_text(way))}(?!\d)"
        if re.search(whole, fold_text(claims.answer)):
            yield VerificationProblem(VerificationCode.REFERENCE, f"the reference tells “{way}”")


def _verify_answer(
    text: WrittenText, claims: WrittenClaims, stated: Sequence[StatementText]
) -> Problems:
    form = claims.derive.form
    derived = _DERIVE[form](text, stated, claims)
    atoms = "; ".join(claims.atoms)
    for label, is_told in derived:
        if not is_told(claims.answer):
            yield VerificationProblem(
                VerificationCode.REFERENCE,
                f"“{label}” follows from the text, but the answer is “{claims.answer}”",
            )
        elif (
            atoms and form in _WITH_VALUES and not is_told(atoms) and not _are_quoted(text, claims)
        ):
            yield VerificationProblem(
                VerificationCode.ATOMS, f"“{label}” follows from the text, but not “{atoms}”"
            )
    if form == "latest":
        now = stated[0]
        states = text.list_states(now.record.fact)
        old = [each for each in states if each.record.state < now.record.state]
        listed = "; ".join(claims.stale)
        for each in old:
            if each.key != now.key and not _is_key_in(each, listed, text.get_date(each)):
                yield VerificationProblem(
                    VerificationCode.STALE, f"the earlier “{each.surface}” is not listed as stale"
                )


_WITH_VALUES = frozenset("value latest as-of history list count sum difference days date".split())
"""Forms whose atoms are the derived values themselves."""

Derived = list[tuple[str, Callable[[str], bool]]]
"""Each part of the answer: how it is shown, and whether a text tells it."""


def _are_quoted(text: WrittenText, claims: WrittenClaims) -> bool:
    """Whether the atoms are words of the evidence, as those that a writer gave for prose.

    A figure is never prose.
    """
    if any(letter.isdigit() for atom in claims.atoms for letter in atom):
        return False
    evidence = " ".join(
        text.days.get(span.day, "")[span.start : span.end] for span in claims.evidence
    )
    return bool(claims.atoms) and all(_share_words(atom, evidence) for atom in claims.atoms)


def _tell_value(text: WrittenText, statement: StatementText, claims: WrittenClaims) -> Derived:
    is_prose = statement.record.kind in ("phrase", "person")

    def is_told(answer: str) -> bool:
        if _is_key_in(statement, answer, text.get_date(statement)):
            return True
        return (
            is_prose
            and _are_quoted(text, claims)
            and all(_share_words(atom, answer) for atom in claims.atoms)
        )

    return [(statement.surface, is_told)]


def _is_key_in(statement: StatementText, answer: str, today: date) -> bool:
    kind, key = statement.record.kind, statement.key
    if isinstance(key, Amount):
        numbers = (Decimal(n[0].replace(",", "")) for n in BARE_NUMBER.finditer(answer))
        if not key.unit or kind == "number":
            return key.number in numbers
    if kind in VALUE_READERS:
        return any(value.key == key for value in VALUE_READERS[kind]().find(answer, today))
    return fold_text(statement.surface) in fold_text(answer)


def _share_words(atom: str, evidence: str) -> bool:
    """Whether most words of an atom are in the evidence, endings aside."""
    words = [word for word in re.findall(r"\w+", atom.casefold()) if len(word) > 3]
    low = evidence.casefold()
    if _UNSPACED.search(atom):
        signs = "".join(_UNSPACED.findall(atom))
        pairs = [signs[place : place + 2] for place in range(max(1, len(signs) - 1))]
        return sum(pair in low for pair in pairs) * 2 >= len(pairs)
    if not words:
        return fold_text(atom) in ("yes", "no") or atom.casefold() in low
    present = sum(word[: max(4, len(word) - 2)] in low for word in words)
    return present * 2 >= len(words)


def _derive_states(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    return [part for each in stated for part in _tell_value(text, each, claims)]


def _derive_as_of(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    states = text.list_states(stated[0].record.fact, claims.derive.as_of)
    return _tell_value(text, states[-1], claims) if states else [("nothing", lambda _: False)]


def _derive_history(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    states = text.list_states(stated[0].record.fact, claims.derive.as_of)
    return _derive_states(text, states, claims)


def _derive_same(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    """Everything that has the value of the first statement, as long as the question is asked."""
    days = [claims.answerable_from, claims.irrelevant_after or max(text.days)]
    first, last = (set(_find_alike(text, stated[0], day)) for day in days)
    if first != last or not first:
        return [("the same list as long as it is asked", lambda _: False)]
    listed = sorted(map(fold_text, claims.atoms))
    is_complete = listed == sorted(map(fold_text, first))
    parts: Derived = [(name, _make_search(name)) for name in sorted(first)]
    return [*parts, ("the complete list", lambda _: is_complete)]


def _make_search(name: str) -> Callable[[str], bool]:
    return lambda answer: fold_text(name) in fold_text(answer)


def _find_alike(text: WrittenText, wanted: StatementText, day: int) -> Iterator[str]:
    """What the facts of its kind are about whose last value up to a day is the same."""
    for fact in text.facts_by_kind[wanted.record.what]:
        states = text.list_states(fact, day)
        if states and states[-1].key == wanted.key:
            yield states[-1].record.about or ""


def _derive_count(
    text: WrittenText, stated: Sequence[StatementText], _claims: WrittenClaims
) -> Derived:
    return [_tell_number(Decimal(len(stated)), text.language)]


def _tell_number(number: Decimal, language: Language) -> tuple[str, Callable[[str], bool]]:
    def is_told(answer: str) -> bool:
        found = (Decimal(n[0].replace(",", "")) for n in BARE_NUMBER.finditer(answer))
        if number in found:
            return True
        if number < 0 or number != int(number):
            return False
        adverb = {1: "once", 2: "twice"}.get(int(number))
        if adverb and re.search(rf"\b{adverb}\b", answer.casefold()):
            return True
        told_in = (language, get_language("en"))
        return any(is_spelled_in(int(number), answer, each) for each in told_in)

    return f"{number:f}", is_told


def _derive_sum(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    amounts = [each.key for each in stated if isinstance(each.key, Amount)]
    if len(amounts) < len(stated):
        return [("a number", lambda _: False)]
    numbers = [amount.number for amount in amounts]
    total = abs(numbers[0] - numbers[1]) if claims.derive.form == "difference" else sum(numbers)
    reader = build_money_reader()
    label, is_number = _tell_number(Decimal(total), text.language)
    return [
        (
            label,
            lambda answer: (
                is_number(answer)
                or any(
                    isinstance(value.key, Amount) and value.key.number == total
                    for value in reader.find(answer, date.min)
                )
            ),
        )
    ]


def _derive_days(
    text: WrittenText, stated: Sequence[StatementText], _claims: WrittenClaims
) -> Derived:
    first, second = (text.get_moment(each) for each in stated[:2])
    days = abs((second - first).days)
    label, is_number = _tell_number(Decimal(days), text.language)
    weeks = _tell_number(Decimal(days) / 7, text.language)[1] if days % 7 == 0 else lambda _: False
    return [(f"{label} days", lambda answer: is_number(answer) or weeks(answer))]


def _derive_date(
    text: WrittenText, stated: Sequence[StatementText], _claims: WrittenClaims
) -> Derived:
    moment = text.get_moment(stated[0])
    reader = build_date_reader()
    return [
        (
            moment.isoformat(),
            lambda answer: any(value.key == moment for value in reader.find(answer, moment)),
        )
    ]


def _derive_order(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    """The statements in their order.

    Where a writer named them in other words than the facts have, the answer holds the atoms in
    their order.
    """
    ordered = sorted(stated, key=text.get_moment)
    moments = [text.get_moment(each) for each in ordered]
    own = [each.record.about or each.surface for each in ordered]
    in_own_words = {*map(fold_text, claims.atoms)} == {*map(fold_text, own)}
    labels = own if in_own_words or not claims.atoms else list(claims.atoms)

    def is_told(answer: str) -> bool:
        low = fold_text(answer)
        places = [low.find(fold_text(label)) for label in labels]
        return -1 not in places and places == sorted(places)

    is_clear = len(set(moments)) == len(moments)
    return [(", ".join(own), is_told if is_clear else lambda _: False)]


def _is_named(text: WrittenText, statement: StatementText, label: str) -> bool:
    """Whether a label is what the statement is about, or words of its paragraph."""
    about = statement.record.about or ""
    if fold_text(label) in fold_text(about) or (about and fold_text(about) in fold_text(label)):
        return True
    return _share_words(label, text.get_paragraph(statement))


def _derive_extreme(
    text: WrittenText, stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    is_most = claims.derive.form == "most"
    sizes = [(size, each) for each in stated if (size := _measure(each.key)) is not None]
    ranked = sorted(sizes, key=lambda pair: pair[0], reverse=is_most)
    if len(ranked) < max(2, len(stated)) or ranked[0][0] == ranked[1][0]:
        return [("a single one", lambda _: False)]
    winner = ranked[0][1]
    names = [winner.record.about or "", winner.surface]

    def is_told(answer: str) -> bool:
        if any(name and fold_text(name) in fold_text(answer) for name in names):
            return True
        return any(
            fold_text(atom) in fold_text(answer) and _is_named(text, winner, atom)
            for atom in claims.atoms
        )

    return [(names[0] or names[1], is_told)]


def _measure(key: Key) -> Decimal | None:
    """The size of a number, a date or a time; None for a code, a name or a phrase."""
    if isinstance(key, Amount):
        return key.number
    if isinstance(key, date):
        return Decimal(key.toordinal())
    time = re.fullmatch(r"(\d\d):(\d\d)", key)
    return Decimal(int(time[1]) * 60 + int(time[2])) if time else None


def _derive_yes(
    text: WrittenText, _stated: Sequence[StatementText], claims: WrittenClaims
) -> Derived:
    language = get_language(claims.language) if claims.language else text.language
    if claims.derive.form == "yes":
        return [("yes", lambda answer: answer.startswith(language.yes))]
    return [("no", lambda answer: is_denial(answer, language))]


_DERIVE: Mapping[str, Callable[[WrittenText, Sequence[StatementText], WrittenClaims], Derived]] = {
    "value": _derive_states,
    "latest": _derive_states,
    "list": _derive_states,
    "secret": _derive_states,
    "as-of": _derive_as_of,
    "history": _derive_history,
    "same": _derive_same,
    "count": _derive_count,
    "sum": _derive_sum,
    "difference": _derive_sum,
    "days": _derive_days,
    "date": _derive_date,
    "order": _derive_order,
    "most": _derive_extreme,
    "least": _derive_extreme,
    "yes": _derive_yes,
    "no": _derive_yes,
}

"""The questions of a written edition as entries of questions.yaml."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from recall_bench.core.languages import get_language, join_list
from recall_bench.core.scenario import BOUNDARY, PRINCIPAL
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.fact_values import list_spellings
from recall_bench.generate.written.derivation import (
    AnswerDeriver,
    AnswerFromFacts,
    Derivation,
    UnderivableAnswer,
    parse_derivation,
)
from recall_bench.generate.written.renderer import RenderedEdition, WrittenStatement
from recall_bench.generate.written.slots import FactState, Slot, find_slots, parse_state
from recall_bench.generate.written.sources import SentenceCitation, WrittenDay, WrittenQuestion

DERIVED = "{derived}"
"""Stands for what `derive` gives, in the answer and the atoms of a question."""

DAYS_AFTER_EVIDENCE = 3
"""How long after its last evidence a question is asked first, if it does not say: people ask about
what they learned some days ago, not about what they learn that day."""

_SYNTHESIS = frozenset(
    {"list", "same", "count", "sum", "difference", "history", "order", "most", "least"}
)


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A sentence of a day file."""

    day: int
    session: str
    start: int
    end: int


class EntryBuilder:
    """Builds the entries of one rendered edition."""

    def __init__(self, edition: RenderedEdition, language: str | None = None) -> None:
        """Build entries in a language; without one, in that of the story."""
        told_in = edition.sources.story.language
        self._language = get_language(language or told_in)
        self._edition = edition if self._language.code == told_in else edition.in_english
        self._deriver = AnswerDeriver(self._edition, self._language)
        sources = edition.sources
        self._cast = Cast([*sources.persona.cast, *sources.story.cast])
        self._isolated = {each.id for each in sources.persona.sessions if each.isolated}

    def build(self, number: int, question: WrittenQuestion) -> dict[str, Any]:
        """The entry of a question; UnderivableAnswer if it does not follow from the facts.

        Its id is the one it gives, else that of its place among all questions.
        """
        if question.language is not None and question.language != self._language.code:
            return self._get_builder(question.language).build(number, question)
        derivation = parse_derivation(question.derive)
        derived = self._deriver.derive(derivation)
        spans = self._list_spans(question, derived)
        until = self._find_last_day(question, derivation, derived)
        cited = [span.day for span in spans]
        first = question.from_ or self._find_first_day(cited, derivation, until)
        together = join_list(derived.atoms, self._language)

        def fill(text: str) -> str:
            return self._edition.fill(text.replace(DERIVED, together))

        atoms = derived.atoms if question.atoms is None else [fill(a) for a in question.atoms]
        stale = derived.stale if question.stale is None else [fill(s) for s in question.stale]
        return {
            "id": question.id or f"{self._edition.sources.persona.id}-w{number:03}",
            "question": fill(question.ask),
            "answer": fill(question.answer),
            "category": question.category,
            "difficulty": question.difficulty,
            "relevant_days": list(dict.fromkeys(cited)) or [self._find_day(first)],
            "requires_synthesis": derivation.form in _SYNTHESIS,
            "query_session": self._get_asker(question),
            "expected_disclosure": self._get_disclosure(question),
            "forbidden_sessions": self._list_forbidden(question, derivation) or None,
            "irrelevant_after": until,
            "answerable_from": first,
            "changes_on": None if until is None else until + 1,
            "aliases": self._list_aliases(question, derivation, derived) or None,
            "atoms": atoms or None,
            "stale": stale or None,
            "distractors": [fill(each) for each in question.distractors] or None,
            "withheld": self._list_withheld(question, derivation) or None,
            "evidence": [
                {"day": span.day, "session": span.session, "start": span.start, "end": span.end}
                for span in spans
            ],
            "kind": question.kind,
            "language": question.language,
            "derive": self._describe(derivation, derived),
        }

    def is_open(self, question: WrittenQuestion, day: int) -> bool:
        """Whether a question can be asked on a day, and cites no later one.

        This takes much less time than its entry: no text is rendered and no sentence is located.
        """
        if question.language is not None and question.language != self._language.code:
            return self._get_builder(question.language).is_open(question, day)
        if question.from_ and question.from_ > day:
            return False
        derivation = parse_derivation(question.derive)
        derived = self._deriver.derive(derivation)
        statements = self._list_statements(question, self._list_evidence(question, derived))
        cited = [each.day for each in statements] + [each.day for each in question.cites]
        until = self._find_last_day(question, derivation, derived)
        first = question.from_ or self._find_first_day(cited, derivation, until)
        return max(first, *cited, 0) <= day and (until is None or day <= until)

    def list_spans(self, question: WrittenQuestion) -> list[EvidenceSpan]:
        """The sentences that a question cites, in the order of the story."""
        return self._list_spans(question, self._deriver.derive(parse_derivation(question.derive)))

    def _list_spans(
        self, question: WrittenQuestion, derived: AnswerFromFacts
    ) -> list[EvidenceSpan]:
        statements = self._list_statements(question, self._list_evidence(question, derived))
        spans = {self._find_sentence(each) for each in statements}
        spans.update(self._find_cited(each) for each in question.cites)
        return sorted(spans, key=lambda span: (span.day, span.start))

    @cache  # noqa: B019 - a builder lives as long as its edition
    def _get_builder(self, language: str) -> "EntryBuilder":
        return EntryBuilder(self._edition, language)

    def _list_evidence(
        self, question: WrittenQuestion, derived: AnswerFromFacts
    ) -> list[FactState]:
        named = [state for each in question.needs if (state := parse_state(each))]
        if len(named) < len(question.needs):
            raise UnderivableAnswer(f"needs: one of {', '.join(question.needs)} is not a key")
        stated = [
            slot.state
            for slot in find_slots(question.answer.replace(DERIVED, ""))
            if isinstance(slot, Slot) and slot.state is not None
        ]
        is_open = question.expects == "answer"
        return list(dict.fromkeys([*derived.states, *named, *(stated if is_open else ())]))

    def _list_statements(
        self, question: WrittenQuestion, states: Iterable[FactState]
    ) -> Iterator[WrittenStatement]:
        """Where the states are stated first, and where the asker's room was told a secret."""
        for state in states:
            first = self._deriver.get_statement(state)
            yield first
            if question.expects == "answer" and first.session in self._isolated - {
                question.session
            }:
                yield from [
                    each
                    for each in self._edition.statements[state]
                    if each.session == question.session and each.day <= (question.from_ or 0)
                ][:1]

    def list_order_faults(self, question: WrittenQuestion, entry: Mapping[str, Any]) -> list[str]:
        """What is wrong with the atoms that a writer gave for an order.

        There is one for each state, in the order that follows from the facts, in words of the fact
        or of the paragraph that tells it; and the answer names them in this order.
        """
        if question.language is not None and question.language != self._language.code:
            return self._get_builder(question.language).list_order_faults(question, entry)
        atoms = entry["atoms"] or []
        ordered = self._deriver.derive(parse_derivation(question.derive)).states
        if len(atoms) != len(ordered):
            return [f"{len(atoms)} atoms for {len(ordered)} states"]
        faults = [
            f"{atom!r} does not name {state}, which is number {number} in the order of the facts"
            for number, (atom, state) in enumerate(zip(atoms, ordered, strict=True), start=1)
            if not _shares_all_words(atom, self._describe_state(state))
        ]
        places = [entry["answer"].casefold().find(atom.casefold()) for atom in atoms]
        if -1 in places or places != sorted(places):
            faults.append(f"the answer does not name {', '.join(atoms)} in this order")
        return faults

    def _describe_state(self, state: FactState) -> str:
        """The words of a fact: its key, its plan, its value and the paragraph with its heading."""
        planned = self._edition.sources.story.facts.get(state.key)
        statement = self._deriver.get_statement(state)
        text = self._edition.texts[statement.day]
        start = text.rfind("\n\n", 0, statement.start) + 1
        end = text.find("\n\n", statement.end)
        heading = text.rfind("\n#", 0, start + 2) + 1
        return " ".join(
            (
                state.key,
                f"{planned.about} {planned.what}" if planned else "",
                self._deriver.format_value(state),
                text[heading : text.find("\n", heading)],
                text[start : end if end >= 0 else None],
            )
        )

    def _find_sentence(self, statement: WrittenStatement) -> EvidenceSpan:
        for start, end in self._edition.locate_sentences(statement.day):
            if start <= statement.start and statement.end <= end:
                return EvidenceSpan(statement.day, statement.session, start, end)
        raise UnderivableAnswer(f"{statement.state} crosses the end of a sentence")

    def _find_cited(self, citation: SentenceCitation) -> EvidenceSpan:
        """The one sentence of a day that begins as the citation says."""
        day = WrittenDay(citation.day, "", self._edition.texts.get(citation.day, ""))
        start_of = self._edition.fill(citation.text)
        found = [
            span
            for span in self._edition.locate_sentences(citation.day)
            if day.text[slice(*span)].startswith(start_of)
        ]
        if len(found) != 1:
            raise UnderivableAnswer(
                f"{len(found)} sentences of day {citation.day} begin with “{start_of}”"
            )
        start, end = found[0]
        return EvidenceSpan(citation.day, day.find_session(start) or PRINCIPAL, start, end)

    def _find_day(self, day: int) -> int:
        """The last day with a file up to this one, else the first of all."""
        days = [each for each in self._edition.texts if each <= day]
        return max(days, default=min(self._edition.texts))

    def _find_last_day(
        self, question: WrittenQuestion, derivation: Derivation, derived: AnswerFromFacts
    ) -> int | None:
        """The last day on which the answer holds, if it does not hold to the end."""
        until = question.until if question.until is not None else derived.until
        if until is None and derivation.form == "secret" and question.kind != "forgotten":
            return self._find_end_of_secrecy(derivation, question.session)
        return until

    def _find_first_day(
        self, cited: Iterable[int], derivation: Derivation, until: int | None
    ) -> int:
        """Some days after the last evidence and the day asked about, while the answer holds."""
        last = max(cited, default=0)
        if not last:
            return 1
        end = max(self._edition.texts) if until is None else until
        asked = max(last, derivation.as_of or 0) + DAYS_AFTER_EVIDENCE
        return max(last, min(asked, end, max(self._edition.texts)))

    def _find_end_of_secrecy(self, derivation: Derivation, asker: str) -> int | None:
        """The last day before the secret is stated in the asker's own session.

        With `secret KEY @60` the session knew until day 60 and may not know any more.
        """
        days = [
            statement.day
            for state in derivation.states
            for statement in self._edition.statements[state]
            if statement.session == asker and statement.day > (derivation.as_of or 0)
        ]
        return min(days) - 1 if days else None

    def _get_asker(self, question: WrittenQuestion) -> str | None:
        """The session it is asked from, where it matters or is not the principal's."""
        is_default = question.session == PRINCIPAL and question.category != BOUNDARY
        return None if is_default else question.session

    def _get_disclosure(self, question: WrittenQuestion) -> str | None:
        return question.expects if question.category == BOUNDARY else None

    def _list_forbidden(self, question: WrittenQuestion, derivation: Derivation) -> list[str]:
        if question.expects == "answer":
            return []
        homes = [self._deriver.get_statement(state).session for state in derivation.states]
        others = [home for home in dict.fromkeys(homes) if home != question.session]
        # What was forgotten is stated nowhere, not even where it was stated first.
        return others or list(dict.fromkeys(homes))

    def _list_withheld(self, question: WrittenQuestion, derivation: Derivation) -> list[str]:
        if question.expects == "answer" or derivation.form != "secret":
            return []
        ways = [way for state in derivation.states for way in self._spell(state)]
        return list(dict.fromkeys(ways))

    def _spell(self, state: FactState) -> list[str]:
        value = self._deriver.get_value(state)
        told_on = self._deriver.get_statement(state).day
        ways = [self._deriver.format_value(state)]
        if value.kind == "person":
            ways += self._cast.surfaces.get(value.text, [])
        if value.day is None and not self._edition.values.style.is_english:
            return [*ways, *self._edition.values.style.list_spellings(value.text)]
        return [*ways, *list_spellings(value, self._edition.values.dates, told_on)]

    def _list_aliases(
        self, question: WrittenQuestion, derivation: Derivation, derived: AnswerFromFacts
    ) -> list[str]:
        aliases = [self._edition.fill(each) for each in question.aliases]
        if derivation.form in ("value", "latest", "as-of") and question.expects == "answer":
            aliases += self._spell(derived.states[0])[1:]
        return list(dict.fromkeys(aliases))

    def _describe(self, derivation: Derivation, derived: AnswerFromFacts) -> Mapping[str, object]:
        """How the verifier finds the same answer: the form and the states, words or day."""
        described: dict[str, object] = {"form": derivation.form}
        if derivation.words:
            described["words"] = list(derivation.words)
        if derivation.states:
            named = derivation.states
            if derivation.form == "latest":
                named = tuple(derived.states)
            described["states"] = [str(state) for state in named]
        if derivation.as_of is not None:
            described["as_of"] = derivation.as_of
        return described


def _shares_all_words(atom: str, text: str) -> bool:
    """Whether all words of an atom are in a text, endings aside."""
    low = text.casefold()
    words = re.findall(r"\w+", atom.casefold())
    return all(word[: max(4, len(word) - 3)] in low for word in words)


def find_repeated(wordings: Iterable[str]) -> list[str]:
    """Wordings that occur more than once, case and spaces aside."""
    seen: dict[str, int] = {}
    for wording in wordings:
        plain = re.sub(r"\W+", " ", wording).strip().casefold()
        seen[plain] = seen.get(plain, 0) + 1
    return [wording for wording, count in seen.items() if count > 1]

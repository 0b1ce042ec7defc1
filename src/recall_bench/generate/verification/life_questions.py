"""Verify the questions of a life edition against its ledger: what is asked holds as long as it is.

The text alone proves an answer; the ledger proves that nothing changes it while it is asked, and
that a count, a sum or an extreme leaves nothing out.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path

from recall_bench.core.scenario import compute_story_date
from recall_bench.generate.verification.findings import VerificationCode, VerificationFinding
from recall_bench.generate.verification.life_ledger import (
    LEDGER,
    LifeRecords,
    StepRecord,
    check_ledger,
    read_records,
)
from recall_bench.generate.verification.written_text import StatementText, WrittenText
from recall_bench.generate.verification.written_verifier import EvidenceRecord, WrittenClaims

_TALLIES = ("count", "sum", "most", "least")
_PRESENT = ("latest", "most", "least")
_JOINS = ("two-hop", "three-hop")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_QUARTERS = ("first", "second", "third", "fourth")

Findings = Iterator[VerificationFinding]


def check_life(
    folder: Path, text: WrittenText, claims: Sequence[WrittenClaims]
) -> list[VerificationFinding]:
    """Everything wrong with the ledger of a life edition, and with its questions by the ledger.

    A written edition has no such ledger, and nothing is found.
    """
    path = folder / LEDGER
    if not path.is_file():
        return []
    records = read_records(path)
    checker = _LifeQuestionChecker(records, text)
    found = [each for question in claims for each in checker.check(question)]
    return [*check_ledger(records, text), *found]


class _LifeQuestionChecker:
    def __init__(self, records: LifeRecords, text: WrittenText) -> None:
        self._records = records
        self._text = text
        self._last = records.calendar.days
        self._steps = {each.fact: each for each in records.steps}
        self._threads = {each.thread: each for each in reversed(records.steps)}
        self._entities = {each.entity for each in records.states}

    def check(self, claims: WrittenClaims) -> Findings:
        facts = [state.rpartition(".")[0] for state in claims.derive.states]
        is_told = all(state in self._text.first for state in claims.derive.states)
        if not facts or not is_told:
            return
        if all(fact in self._records.by_fact for fact in facts):
            if claims.derive.form in _PRESENT:
                yield from self._check_present(claims)
        elif claims.derive.form in _TALLIES and len(facts) > 1:
            yield from self._check_tally(claims, facts)
        if claims.kind in _JOINS and claims.derive.form in ("latest", "value"):
            yield from self._check_hops(claims)

    def _list_ends(self, claims: WrittenClaims) -> tuple[int, int]:
        return claims.answerable_from, claims.irrelevant_after or self._last

    def _is_in_force(self, fact: str, state: int, claims: WrittenClaims) -> bool:
        states = self._records.by_fact[fact]
        return all(
            [each.state for each in states if each.day <= day][-1:] == [state]
            for day in self._list_ends(claims)
        )

    def _check_present(self, claims: WrittenClaims) -> Findings:
        """A value that is asked as the current one is current from the first day to the last."""
        for written in claims.derive.states:
            fact, _, number = written.rpartition(".")
            if not self._is_in_force(fact, int(number), claims):
                yield VerificationFinding(
                    VerificationCode.SPAN, claims.id, f"{written} is not in force all the time"
                )

    def _check_hops(self, claims: WrittenClaims) -> Findings:
        """Each record that a path leads over is in force from the first day to the last."""
        for span in claims.evidence:
            statements = [
                each
                for each in self._list_statements(span)
                if each.record.fact in self._records.by_fact
            ]
            if statements and not any(
                self._is_in_force(each.record.fact, each.record.state, claims)
                for each in statements
            ):
                yield VerificationFinding(
                    VerificationCode.SPAN,
                    claims.id,
                    f"what day {span.day} tells of {statements[0].record.fact} changes while it is "
                    "asked",
                )

    def _list_statements(self, span: EvidenceRecord) -> list[StatementText]:
        return [
            each
            for each in self._text.by_day.get(span.day, ())
            if span.start <= each.record.start < span.end
        ]

    def _check_tally(self, claims: WrittenClaims, facts: list[str]) -> Findings:
        """A tally has every member that the question means, on each day it is asked."""
        is_count = claims.derive.form == "count"
        members = dict(self._list_alike(facts[0], claims.question, is_count=is_count))
        for day in self._list_ends(claims):
            expected = {fact for fact, first_day in members.items() if first_day <= day}
            if expected != set(facts):
                yield VerificationFinding(
                    VerificationCode.REFERENCE,
                    claims.id,
                    f"{len(facts)} are counted, but by day {day} there are {len(expected)}",
                )
                return

    def _list_alike(self, fact: str, question: str, *, is_count: bool) -> Iterator[tuple[str, int]]:
        """Facts of the same sort, about the entity or in the period that the question names.

        A count is one of steps, each with the fact that marks it; other tallies are of facts, some
        of which may mark a step as well.
        """
        sample = self._thread_of.get(fact)
        if sample is None:
            return
        own = self._steps.get(fact) if is_count else None
        named = [name for name in sample.entities if name.casefold() in question.casefold()]
        for first in self._text.first.values():
            other, day = first.record.fact, first.record.day
            thread = self._thread_of[other]
            if thread is None or thread.process != sample.process:
                continue
            if own is not None:
                step = self._steps.get(other)
                is_alike = step is not None and step.step == own.step
            else:
                is_alike = other.removeprefix(thread.thread) == fact.removeprefix(sample.thread)
            if is_alike and self._is_meant(thread, day, named, question):
                yield other, day

    @cached_property
    def _thread_of(self) -> dict[str, StepRecord | None]:
        """Each fact with the first step of its thread; None if it is part of none."""
        found = {}
        for first in self._text.first.values():
            name = re.match(r".*?-\d+(?=-)", first.record.fact)
            found[first.record.fact] = self._threads.get(name[0]) if name else None
        return found

    def _is_meant(self, thread: StepRecord, day: int, named: list[str], question: str) -> bool:
        if named:
            return any(name in thread.entities for name in named)
        at = compute_story_date(date.fromisoformat(self._records.calendar.epoch), day).date()
        years = _YEAR.findall(question)
        if years and str(at.year) not in years:
            return False
        quarters = [each for each in _QUARTERS if f"{each} quarter" in question]
        return not quarters or _QUARTERS[(at.month - 1) // 3] in quarters

"""Questions on a window, written by a model."""

from collections.abc import Mapping, Sequence

from recall_bench.core.question import PRINCIPAL
from recall_bench.generate.caller import Caller
from recall_bench.generate.checks.checker import Problem
from recall_bench.generate.questions.asking import asking
from recall_bench.generate.questions.candidates import (
    Candidate,
    Proof,
    aliases_of,
    atoms_in,
    days_of,
    form_flaws,
    malformed,
    proof,
    text_of,
    unsupported,
)
from recall_bench.generate.questions.categories import NEGATIVE, RECENCY, RULES, SYNTHESIS, wanted
from recall_bench.generate.questions.replies import Raw, read_questions
from recall_bench.generate.questions.showing import Telling
from recall_bench.generate.questions.writer import Entry, Window
from recall_bench.generate.rounds import accepted
from recall_bench.generate.told_days import ToldDay
from recall_bench.models.model import Prompt


class ModelledQuestions:
    """Asks a model for the questions of a window, and proves its quotations."""

    usual_tokens = 3000
    """What a reply usually takes."""

    def __init__(
        self,
        telling: Telling,
        caller: Caller,
        *,
        per_days: tuple[int, int],
        asker: str = PRINCIPAL,
    ) -> None:
        """`per_days` says how many questions are wanted for how many days."""
        self._telling = telling
        self._caller = caller
        self._per_days = per_days
        self._asker = asker

    @property
    def name(self) -> str:
        """The model's name."""
        return self._caller.model.name

    def prompts(self, window: Window, amount: int) -> list[Prompt]:
        """What the model is asked about a window."""
        return [asking(self._telling, window, self._wanted(window, amount), self._is_visible)]

    async def write(self, window: Window, amount: int) -> Sequence[Entry]:
        """About so many candidates; Unwritten if the model gave none that can be read."""
        [prompt] = self.prompts(window, amount)
        found = await accepted(
            self._caller,
            f"window {window.number}, {window.name}",
            prompt,
            read_questions,
            reads_cut=True,
        )
        shown = [*self._telling.earlier(window), *self._telling.within(window)]
        days = {day.number: day for day in shown}
        return [
            candidate
            for place, raw in enumerate(found)
            for candidate in self._candidates(raw, days, window, f"negative {place}")
        ]

    def _wanted(self, window: Window, amount: int) -> tuple[str, ...]:
        return wanted(
            window.first,
            amount,
            per_days=self._per_days,
            has_groups=self._telling.rooms.has_groups,
            has_past=bool(self._telling.earlier(window)),
        )

    def _is_visible(self, session: str) -> bool:
        return self._telling.rooms.may_know(self._asker, session)

    def _candidates(
        self, raw: Raw, days: Mapping[int, ToldDay], window: Window, pair: str
    ) -> list[Candidate]:
        found = proof(raw.get("evidence"), days, self._is_visible)
        category = raw.get("category")
        flaws = [*form_flaws(raw, ("question", "answer")), *found.flaws]
        if not isinstance(category, str) or category not in RULES:
            flaws.append(malformed(f"its category is {category!r:.40}, which was not asked for"))
        if not found.days:
            flaws.append(unsupported("no quotation proves it"))
        if category != NEGATIVE:
            return [Candidate(self._entry(raw, found, window), flaws=flaws)]
        return self._negatives(raw, found, window, (flaws, pair))

    def _entry(self, raw: Raw, found: Proof, window: Window) -> dict[str, object]:
        answer = text_of(raw, "answer")
        days = found.days
        is_several = raw.get("requires_synthesis") is True and len(days) > 1
        is_old = raw.get("category") == RECENCY
        return {
            "question": text_of(raw, "question"),
            "answer": answer,
            "category": raw.get("category"),
            "difficulty": raw.get("difficulty"),
            "relevant_days": days,
            "requires_synthesis": is_several or raw.get("category") == SYNTHESIS,
            "query_session": self._asker,
            # An old detail is worth asking for once newer days lie over it.
            "answerable_from": window.last if is_old else max(days, default=window.last),
            "aliases": aliases_of(raw, answer),
            "atoms": atoms_in(raw, answer),
            "evidence": found.evidence,
        }

    def _negatives(
        self, raw: Raw, found: Proof, window: Window, known: tuple[list[Problem], str]
    ) -> list[Candidate]:
        """What happened and its twin, which did not."""
        flaws, pair = known
        entry = self._entry(raw, found, window)
        twin = raw.get("twin")
        if not isinstance(twin, dict):
            flaws = [*flaws, malformed("it has no twin about something that did not happen")]
            return [Candidate(entry, flaws=flaws)]
        if not text_of(raw, "answer").lower().startswith("yes"):
            flaws = [*flaws, malformed("what happened is answered with Yes")]
        others = [
            malformed(f"it has no {key}")
            for key in ("question", "answer")
            if not text_of(twin, key)
        ]
        if not text_of(twin, "answer").lower().startswith("no"):
            others.append(malformed("what did not happen is answered with No"))
        told = [day.number for day in self._telling.within(window)]
        denial = {
            **{key: entry[key] for key in ("category", "difficulty", "query_session")},
            "question": text_of(twin, "question"),
            "answer": text_of(twin, "answer"),
            "relevant_days": days_of(twin, told) or found.days,
            "requires_synthesis": False,
            "answerable_from": window.last,
        }
        return [
            Candidate(entry, flaws=flaws, pair=pair),
            Candidate(denial, flaws=others, pair=pair),
        ]

"""Questions on a window by a model."""

from collections.abc import Mapping, Sequence

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.generate.checks.check_result import QuestionProblem
from recall_bench.generate.day_log import StoryDay
from recall_bench.generate.model_caller import ModelCaller
from recall_bench.generate.model_reply import ask_until_usable
from recall_bench.generate.questions.candidates import (
    QuestionCandidate,
    QuoteEvidence,
    check_fields,
    collect_evidence,
    make_format_problem,
    make_support_problem,
    read_aliases,
    read_atoms,
    read_days,
    read_text,
)
from recall_bench.generate.questions.question_prompt import (
    Raw,
    build_questions_prompt,
    read_questions,
)
from recall_bench.generate.questions.story_view import StoryView
from recall_bench.generate.questions.window import (
    NEGATIVE,
    RECENCY,
    RULES,
    SYNTHESIS,
    QuestionEntry,
    QuestionWindow,
    choose_categories,
)
from recall_bench.models.model import Prompt


class ModelQuestionWriter:
    """Asks a model for the questions of a window and locates its quotations."""

    usual_tokens = 3000
    """The usual length of a reply."""

    def __init__(
        self,
        view: StoryView,
        caller: ModelCaller,
        *,
        per_days: tuple[int, int],
        asker: str = PRINCIPAL,
    ) -> None:
        """`per_days` is a number of questions and the number of days for them."""
        self._view = view
        self._caller = caller
        self._per_days = per_days
        self._asker = asker

    @property
    def name(self) -> str:
        """The model's name."""
        return self._caller.model.name

    def build_prompts(self, window: QuestionWindow, amount: int) -> list[Prompt]:
        """The prompts for a window."""
        return [
            build_questions_prompt(
                self._view, window, self._choose_categories(window, amount), self._is_visible
            )
        ]

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About `amount` candidates; NoUsableReply if the model gave none."""
        [prompt] = self.build_prompts(window, amount)
        found = await ask_until_usable(
            self._caller,
            f"window {window.number}, {window.name}",
            prompt,
            read_questions,
            reads_cut=True,
        )
        shown = [*self._view.list_earlier_days(window), *self._view.list_days(window)]
        days = {day.number: day for day in shown}
        return [
            candidate
            for place, raw in enumerate(found)
            for candidate in self._make_candidates(raw, days, window, f"negative {place}")
        ]

    def _choose_categories(self, window: QuestionWindow, amount: int) -> tuple[str, ...]:
        return choose_categories(
            window.first,
            amount,
            per_days=self._per_days,
            has_groups=self._view.members.has_groups,
            has_past=bool(self._view.list_earlier_days(window)),
        )

    def _is_visible(self, session: str) -> bool:
        return self._view.members.is_visible_to(self._asker, session)

    def _make_candidates(
        self, raw: Raw, days: Mapping[int, StoryDay], window: QuestionWindow, pair: str
    ) -> list[QuestionCandidate]:
        found = collect_evidence(raw.get("evidence"), days, self._is_visible)
        category = raw.get("category")
        flaws = [*check_fields(raw, ("question", "answer")), *found.flaws]
        if not isinstance(category, str) or category not in RULES:
            flaws.append(
                make_format_problem(f"its category is {category!r:.40}, which was not asked for")
            )
        if not found.days:
            flaws.append(make_support_problem("no quotation proves it"))
        if category != NEGATIVE:
            return [QuestionCandidate(self._make_entry(raw, found, window), flaws=flaws)]
        return self._make_negatives(raw, found, window, (flaws, pair))

    def _make_entry(
        self, raw: Raw, found: QuoteEvidence, window: QuestionWindow
    ) -> dict[str, object]:
        answer = read_text(raw, "answer")
        days = found.days
        is_several = raw.get("requires_synthesis") is True and len(days) > 1
        is_old = raw.get("category") == RECENCY
        return {
            "question": read_text(raw, "question"),
            "answer": answer,
            "category": raw.get("category"),
            "difficulty": raw.get("difficulty"),
            "relevant_days": days,
            "requires_synthesis": is_several or raw.get("category") == SYNTHESIS,
            "query_session": self._asker,
            # An old detail is asked at the end of the window, after newer days.
            "answerable_from": window.last if is_old else max(days, default=window.last),
            "aliases": read_aliases(raw, answer),
            "atoms": read_atoms(raw, answer),
            "evidence": found.evidence,
        }

    def _make_negatives(
        self,
        raw: Raw,
        found: QuoteEvidence,
        window: QuestionWindow,
        known: tuple[list[QuestionProblem], str],
    ) -> list[QuestionCandidate]:
        """A question about something that happened, and its twin about something that did not."""
        flaws, pair = known
        entry = self._make_entry(raw, found, window)
        twin = raw.get("twin")
        if not isinstance(twin, dict):
            flaws = [
                *flaws,
                make_format_problem("it has no twin about something that did not happen"),
            ]
            return [QuestionCandidate(entry, flaws=flaws)]
        if not read_text(raw, "answer").lower().startswith("yes"):
            flaws = [*flaws, make_format_problem("what happened is answered with Yes")]
        others = [
            make_format_problem(f"it has no {key}")
            for key in ("question", "answer")
            if not read_text(twin, key)
        ]
        if not read_text(twin, "answer").lower().startswith("no"):
            others.append(make_format_problem("what did not happen is answered with No"))
        told = [day.number for day in self._view.list_days(window)]
        denial = {
            **{key: entry[key] for key in ("category", "difficulty", "query_session")},
            "question": read_text(twin, "question"),
            "answer": read_text(twin, "answer"),
            "relevant_days": read_days(twin, told) or found.days,
            "requires_synthesis": False,
            "answerable_from": window.last,
        }
        return [
            QuestionCandidate(entry, flaws=flaws, pair=pair),
            QuestionCandidate(denial, flaws=others, pair=pair),
        ]

"""The floor and the ceiling of a run's scores, computed and not run.

The floor is what silence scores: the judge grades the answer that there is no record. The ceiling
of retrieval is what the reader scores if it is handed the evidence of each question. Both use the
run's own judge on the run's own questions, so a score can be placed between them.

Only judges and readers that compute are asked: a model would have to be paid for every question.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from recall_bench.core.event import BoundsComputed, MarkTriple
from recall_bench.core.memory import Answer, Passage, Reader
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import Item, Scenario, hash_question_id
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.verdict import SCALES, Exhibit, Judge
from recall_bench.engine.runs.summary import STUB


def plan_bounds(plan: Plan, judge: Judge, reader: Reader | None) -> "BoundsComputer | None":
    """Build the computer of a plan's bounds; None if its judge is a model, or judges nothing."""
    card = judge.card
    if not card.computes or card.name == STUB or plan.appellate is not None:
        return None
    from recall_bench.systems.readers import ExtractiveReader

    return BoundsComputer(plan=plan, judge=judge, reader=reader or ExtractiveReader())


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsComputer:
    """Computes the bounds of one plan's scenarios."""

    plan: Plan
    judge: Judge
    reader: Reader
    """Reads the evidence: the run's reader, or the extractive one if the run has none."""

    async def compute(self, scenario: Scenario, states: ScenarioStates) -> BoundsComputed:
        """Grade silence, and the reader's answer from the evidence, for every asked question."""
        from recall_bench.judging.exhibits import select_excerpts
        from recall_bench.stories.supporting_passages import find_evidence_passages
        from recall_bench.systems.builtin.no_memory import NO_RECORD

        self.judge.study(scenario)
        questions = list(_list_first_asked(states))
        passages = (
            find_evidence_passages(scenario, [item for item, _ in questions])
            if self.reader.card.model is None
            else None
        )
        episodes = {episode.day: episode for episode in scenario.episodes}
        fed = {day: (episode.id, episode.at.date()) for day, episode in episodes.items()}
        floor: dict[str, MarkTriple] = {}
        ceiling: dict[str, MarkTriple] = {}
        for item, cutoff in questions:
            exhibit = Exhibit(
                scenario=scenario.id,
                item=item,
                answer=Answer(text=NO_RECORD),
                asked_at=item.asked_at or scenario.compute_date(cutoff),
                days=cutoff,
                excerpts=select_excerpts(
                    episodes,
                    (evidence.day for evidence in item.truth.evidence),
                    window=self.plan.judge_memory_window,
                    until=cutoff,
                ),
            )
            floor[item.id] = await self._grade(exhibit)
            if passages is not None:
                gold = passages[hash_question_id(scenario.id, item.id)]
                fed_passages = [
                    passage for passage in gold if passage.day is not None and passage.day <= cutoff
                ]
                ceiling[item.id] = await self._grade_reading(exhibit, fed_passages, fed)
        return BoundsComputed(
            at=datetime.now(UTC),
            scenario=scenario.id,
            floor=floor,
            ceiling=None if passages is None else ceiling,
            reader=None if passages is None else self.reader.card,
        )

    async def _grade(self, exhibit: Exhibit) -> MarkTriple:
        marks = (await self.judge.judge(exhibit)).marks
        correctness, completeness, grounded = (marks[name] for name in SCALES)
        return correctness, completeness, grounded

    async def _grade_reading(
        self, exhibit: Exhibit, gold: Sequence[Passage], fed: Mapping[int, tuple[str, date]]
    ) -> MarkTriple:
        from recall_bench.systems.builtin.retrieval_systems import cite_passages
        from recall_bench.systems.reply import cut_to_budget

        question = exhibit.item.ask(exhibit.scenario, exhibit.asked_at, self.plan.top_k)
        passages = tuple(cut_to_budget(cite_passages(gold, question, fed), self.plan))
        answer = await self.reader.read(question, passages)
        return await self._grade(replace(exhibit, answer=answer))


def _list_first_asked(states: ScenarioStates) -> Iterator[tuple[Item, int]]:
    """Yield every asked question once, with the last story day fed when it is first asked."""
    first: dict[int, int] = {}
    for point in states.checkpoint_plans:
        for number in point.asked:
            first.setdefault(number, point.cutoff)
    for number, cutoff in sorted(first.items()):
        yield states.items[number], cutoff

"""A small run, written event by event, so that every report can be checked by hand."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from recall_bench.core.append_log import LineChain
from recall_bench.core.diagnosis import Diagnosis
from recall_bench.core.event import (
    Answered,
    BoundsComputed,
    Declared,
    Event,
    FeedFailed,
    Ingested,
    Judged,
    MarkTriple,
    NotAnswered,
    NotJudged,
    RunEnded,
    RunResumed,
    RunStarted,
    Settled,
    encode_event,
)
from recall_bench.core.memory import Answer, Passage, SystemCard
from recall_bench.core.plan import Checkpoint, Plan, ScenarioCard, Trial, digest_questions
from recall_bench.core.scenario import Disclosure, Evidence, Item, Truth
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)

PERFECT = Verdict.of(3, 2, 1, "all there")
POOR = Verdict.of(1, 0, 1, "half of it")
INVENTED = Verdict.of(3, 2, 0, "made something up")


def question(
    name: str,
    category: str = "factual-recall",
    *,
    known_from: int = 1,
    known_until: int | None = None,
    difficulty: str | None = "easy",
    disclosure: Disclosure | None = None,
) -> Item:
    return Item(
        id=name,
        text=f"What about {name}?",
        known_from=known_from,
        known_until=known_until,
        truth=Truth(
            reference=f"the {name}",
            category=category,
            difficulty=difficulty,
            evidence=(Evidence(day=known_from),),
            disclosure=disclosure,
        ),
    )


def plan_of(scenarios: dict[str, Sequence[Item]], **settings: object) -> Plan:
    """Checkpoints after two and four days; seed 0 asks in dataset order."""
    plan = Plan(
        scenarios=tuple(
            ScenarioCard(
                id=name,
                epoch=date(2024, 1, 1),
                episodes=4,
                last_day=4,
                items=len(items),
                history_digest=f"history of {name}",
                questions_digest=digest_questions(items),
            )
            for name, items in scenarios.items()
        ),
        checkpoints=(Checkpoint(label="2d", days=2), Checkpoint(label="4d", days=4)),
        system=SystemCard(name="scripted", version="1", config={"k": 3}),
        judge=JudgeCard(name="exact", version="1"),
        seed=0,
    )
    return plan.replace(**settings)


class Story:
    """A journal under construction; every event happens a second after the one before."""

    def __init__(
        self,
        folder: Path,
        scenarios: dict[str, Sequence[Item]],
        plan: Plan,
        diagnosis: Diagnosis | None = None,
        start: datetime = NOON,
    ) -> None:
        self.folder = folder
        self.plan = plan
        self.now = start
        self.lines: list[bytes] = []
        started = RunStarted(at=self._tick(), plan=plan, code="0.1.0+aaaa", diagnosis=diagnosis)
        self.add(started)
        for name, items in scenarios.items():
            self.declare(name, items)

    def add(self, event: Event) -> None:
        self.lines.append(encode_event(event))

    def declare(self, scenario: str, items: Sequence[Item]) -> None:
        """Four days and these questions."""
        days = (1, 2, 3, 4)
        self.add(Declared(at=self._tick(), scenario=scenario, items=tuple(items), days=days))

    def ingest(self, scenario: str, day: int, checkpoint: str) -> None:
        self.add(
            Ingested(
                at=self._tick(), scenario=scenario, day=day, checkpoint=checkpoint, seconds=0.5
            )
        )

    def settle(self, scenario: str, checkpoint: str) -> None:
        self.add(Settled(at=self._tick(), scenario=scenario, checkpoint=checkpoint, seconds=0.25))

    def answer(self, trial: Trial, text: str = "something", *passages: Passage) -> None:
        reply = Answer(text=text, passages=passages)
        self.add(Answered(at=self._tick(), trial=trial, answer=reply, seconds=0.125))

    def judge(self, trial: Trial, verdict: Verdict = PERFECT, **review: object) -> None:
        event = Judged(at=self._tick(), trial=trial, verdict=verdict)
        self.add(event.replace(**review))

    def both(self, trial: Trial, verdict: Verdict = PERFECT, text: str = "something") -> None:
        self.answer(trial, text)
        self.judge(trial, verdict)

    def not_answered(
        self, trial: Trial, fault: str = "SystemTimeout", message: str = "30 s"
    ) -> None:
        at = self._tick()
        self.add(NotAnswered(at=at, trial=trial, fault=fault, message=message, seconds=30.0))

    def not_judged(
        self, trial: Trial, fault: str = "UnreadableVerdict", usage: Usage | None = None
    ) -> None:
        at, message = self._tick(), "no JSON in it"
        self.add(NotJudged(at=at, trial=trial, fault=fault, message=message, usage=usage))

    def feed_failed(
        self, scenario: str, checkpoint: str, stage: str = "ingest", message: str = "disk full"
    ) -> None:
        self.add(
            FeedFailed(
                at=self._tick(),
                scenario=scenario,
                checkpoint=checkpoint,
                stage=stage,
                fault="SystemFault",
                message=message,
                day=3,
            )
        )

    def resume(self, *, after: timedelta = timedelta(hours=8), code: str = "0.1.0+aaaa") -> None:
        self.now += after
        self.add(RunResumed(at=self._tick(), code=code))

    def end(self) -> None:
        self.add(RunEnded(at=self._tick()))

    def save(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        chain = LineChain()
        lines = (chain.add(line) + b"\n" for line in self.lines)
        (self.folder / JOURNAL).write_bytes(b"".join(lines))
        return self.folder

    def open(self) -> RunFolder:
        return RunFolder.open(self.save())

    def _tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


ADA = (
    question("cat", known_from=1),
    question("dog", "temporal-reasoning", known_from=2, difficulty="medium"),
    question("house", "synthesis", known_from=3, difficulty="hard"),
)
"""Two questions at 2d; the same two and a third at 4d."""


def trial(item: str, checkpoint: str = "2d", *, scenario: str = "ada", repeat: int = 0) -> Trial:
    return Trial(scenario=scenario, item=item, checkpoint=checkpoint, repeat=repeat)


ALL_OF_ADA = (
    trial("cat"),
    trial("dog"),
    trial("house", "4d"),
    trial("cat", "4d"),
    trial("dog", "4d"),
)
"""What Ada owes, in the order of the schedule: new questions before older ones."""


SILENT: MarkTriple = (0, 0, 1)
FULL: MarkTriple = (3, 2, 1)


def bounded_story(
    folder: Path, verdicts: list[Verdict], *, ceiling: MarkTriple | None = FULL
) -> Story:
    """One question a verdict, all known from day 1, with the floor of silence."""
    items = tuple(question(f"q{n}", known_from=1) for n in range(len(verdicts)))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(folder, scenarios, plan_of(scenarios))
    story.add(
        BoundsComputed(
            at=story.now,
            scenario="ada",
            floor={item.id: SILENT for item in items},
            ceiling=None if ceiling is None else {item.id: ceiling for item in items},
        )
    )
    for checkpoint in ("2d", "4d"):
        for n, verdict in enumerate(verdicts):
            story.both(trial(f"q{n}", checkpoint), verdict)
    story.end()
    return story


def ada_story(folder: Path, **settings: object) -> Story:
    return examined_story(folder, None, **settings)


def examined_story(folder: Path, diagnosis: Diagnosis | None, **settings: object) -> Story:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA}
    return Story(folder, scenarios, plan_of(scenarios, **settings), diagnosis)


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """Ada's run, started and nothing done."""
    return ada_story(tmp_path / "run")


@pytest.fixture
def finished(story: Story) -> Story:
    """Ada's run: four perfect answers and one poor one."""
    for each in ALL_OF_ADA:
        story.both(each, POOR if each == trial("dog", "4d") else PERFECT)
    story.end()
    return story

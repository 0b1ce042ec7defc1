"""A small harbour to judge answers about: what is told on which day, and in which session."""

from datetime import date

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import (
    Disclosure,
    Episode,
    Expects,
    Item,
    Scenario,
    Truth,
    compute_story_date,
)
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.judging.offline.offline_judge import UncertainAnswer, study_scenario

EPOCH = date(2025, 3, 1)

DAYS = {
    1: """# session: principal

### Berths
Nell Archer booked berth 7 for the Marigold at $420 a week.
The harbour office opens at 8 AM.
""",
    5: """# session: principal

The crane inspection is set for 2025-03-19 at 6:30 AM; Owen Pike will attend.
The new pump is a Tideway v2.3.1 and moves 40% more water.

# session: lender

Silvia Brandt wants a covenant of 1.35x and quarterly appraisals of the drydock mortgage.
The foreclosure clause names the western slipway.
It is confidential: nobody may discuss or disclose it.
""",
    9: """# session: principal

The weekly price of berth 7 rose to $465.
Nell did not change the opening hours.
""",
    20: """# session: principal

The dredger Haddock arrived at a cost of $9,900.
""",
}


def harbour(scenario: str = "harbour", days: dict[int, str] | None = None) -> Scenario:
    return Scenario(
        id=scenario,
        epoch=EPOCH,
        episodes=tuple(
            Episode(id=f"day-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=text)
            for day, text in (days or DAYS).items()
        ),
        items=(),
    )


def item(
    question: str,
    reference: str,
    *,
    category: str = "factual-recall",
    expects: Expects = Expects.ANSWER,
    aliases: tuple[str, ...] = (),
    disclosure: Disclosure | None = None,
    forbidden: tuple[str, ...] = (),
    **known: tuple[str, ...],
) -> Item:
    """An item; `known` are atoms, stale values, distractors, withheld values and canaries."""
    truth = Truth(
        reference=reference,
        category=category,
        expects=expects,
        aliases=aliases,
        disclosure=disclosure,
        forbidden_sessions=forbidden,
        **known,  # type: ignore[arg-type]
    )
    return Item(id="q", text=question, truth=truth, known_from=1)


def exhibit(asked: Item, answer: str, *, days: int = 10, scenario: str = "harbour") -> Exhibit:
    return Exhibit(
        scenario=scenario,
        item=asked,
        answer=Answer(text=answer),
        asked_at=compute_story_date(EPOCH, days),
        days=days,
    )


def judged(asked: Item, answer: str, *, days: int = 10) -> Verdict:
    """The verdict of the offline judge."""
    return study_scenario(harbour()).judge(exhibit(asked, answer, days=days))


def is_read(asked: Item, answer: str, *, days: int = 10) -> bool:
    """Whether the encoder has to read the answer."""
    found = study_scenario(harbour()).decide(exhibit(asked, answer, days=days))
    return isinstance(found, UncertainAnswer)


def marks(asked: Item, answer: str, *, days: int = 10) -> tuple[int, int, int]:
    """Correctness, completeness and grounded, as the offline judge gives them."""
    return points(judged(asked, answer, days=days))


def points(verdict: Verdict) -> tuple[int, int, int]:
    given = verdict.marks
    return given["correctness"], given["completeness"], given["grounded"]

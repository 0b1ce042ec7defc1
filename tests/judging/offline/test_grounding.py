"""Grounded means: nothing checkable is told that could not be known."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import anyio
import pytest

from recall_bench import load_persona
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Expects, Item, Scenario
from recall_bench.core.verdict import Exhibit, Finding, Verdict
from recall_bench.judging.offline.offline_judge import OfflineJudge
from tests.judging.harbour import exhibit, harbour, item, marks
from tests.loops import loop_over_rows

PRICE = item("What does berth 7 cost a week?", "$465 a week.")


def grounded(answer: str, *, days: int = 10) -> bool:
    return marks(PRICE, answer, days=days)[2] == 1


@loop_over_rows(
    "answer",
    [
        "It costs $465 a week, up from $420.",
        "$465 a week, says Nell Archer.",
        "$465 a week. The crane inspection is on March 19.",
        "$465 a week, with the Tideway v2.3.1 included.",
        "$465 a week, as of 2025-03-07.",
    ],
)
def test_what_was_stated_may_be_said_again(answer: str) -> None:
    assert grounded(answer)


@loop_over_rows(
    ("answer", "what"),
    [
        ("$465 a week, up from $433.", "an amount"),
        ("$465 a week, payable by 9:45 AM.", "a time"),
        ("$465 a week, says Tiberius Vane.", "a name"),
        ("$465 a week under contract HX-77.", "an identifier"),
        ("$465 a week, 12% more.", "a percentage"),
    ],
)
def test_what_was_never_stated_is_invented(answer: str, what: str) -> None:
    assert not grounded(answer), what


def test_what_is_stated_later_is_invented_today() -> None:
    answer = "$465 a week. The Haddock came for $9,900."

    assert not grounded(answer, days=19)
    assert grounded(answer, days=20)


@loop_over_rows(
    "answer",
    [
        "On 2025-03-09 (principal): The weekly price of berth 7 rose to $465.",
        "$465 a week. (Source: 2031-01-01)",
        "$465 a week [2031-01-01].",
        "$465 a week, see memory/2031-01-01.md",
    ],
)
def test_a_citation_is_bookkeeping_and_never_invented(answer: str) -> None:
    assert grounded(answer)


def test_small_counts_are_the_answers_own() -> None:
    assert grounded("There are two points:\n1. It costs $465 a week.\n2. It cost less before.")


def test_the_question_and_the_reference_need_no_other_witness() -> None:
    asked = item("What did Tiberius Vane pay on 2031-01-01?", "$31 to Ludmilla Frost")

    assert marks(asked, "Tiberius Vane paid $31 to Ludmilla Frost on 2031-01-01.") == (3, 2, 1)


@loop_over_rows(
    ("answer", "is_grounded"),
    [
        ('$465 a week. Nell called it "a gilded armadillo" at the time.', False),
        ('$465 a week: "the weekly price of berth 7 rose to $465".', True),
        ('$465 a week, "attending inspections".', True),
        ('$465 a week: "the weekly pri...".', True),
    ],
)
def test_what_is_quoted_must_have_been_said(answer: str, is_grounded: bool) -> None:
    """In whatever inflection; the word that a quotation breaks off in does not count."""
    assert grounded(answer) is is_grounded


Quotations = Sequence[tuple[Episode, str, str]]
"""Lines of a history, each with its day and its session."""


@cache
def load_sample() -> tuple[Scenario, OfflineJudge]:
    scenario, judge = load_persona("harbour-office"), OfflineJudge({})
    judge.study(scenario)
    return scenario, judge


def list_lines(day: Episode) -> Iterator[tuple[Episode, str, str]]:
    """The lines of a day that end a sentence, each with its session."""
    session = ""
    for line in day.text.splitlines():
        if line.startswith("# session: "):
            session = line.removeprefix("# session: ")
        elif session and line.endswith("."):
            yield day, session, line


def judge_sample(asked: Item, answer: str) -> Verdict:
    scenario, judge = load_sample()
    last = scenario.episodes[-1].day
    return anyio.run(
        judge.judge,
        Exhibit(
            scenario=scenario.id,
            item=asked,
            answer=Answer(text=answer),
            asked_at=scenario.compute_date(last),
            days=last,
        ),
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda found: "\n".join(f"On {day.at:%Y-%m-%d} ({of}): {line}" for day, of, line in found),
        lambda found: " ".join(f"On {day.at:%Y-%m-%d} ({of}): {line}" for day, of, line in found),
        lambda found: " ".join(line for _, _, line in found),
        lambda found: "\n".join(f"- {line}" for _, _, line in found),
        lambda found: found[0][0].text,
    ],
    ids=["lines with days", "days in a row", "in a row", "list", "whole day"],
)
def test_nothing_but_lines_of_the_history_is_grounded_whatever_was_asked(
    write: Callable[[Quotations], str],
) -> None:
    """The way that memories without a model answer, and that most readers quote."""
    scenario, _ = load_sample()
    wrong = []
    for asked in scenario.items:
        draw = random.Random(asked.id)
        days = [lines for day in scenario.episodes if (lines := list(list_lines(day)))]
        answer = write([draw.choice(lines) for lines in draw.sample(days, 4)])
        verdict = judge_sample(asked, answer)
        is_leak = Finding.LEAK in (verdict.findings or ())
        if not is_leak and not verdict.marks["grounded"]:
            wrong.append(f"{asked.id}: {verdict.reason}: {answer}")
    assert wrong == []


def test_a_line_of_the_history_with_another_value_is_not_grounded() -> None:
    [asked] = [each for each in load_sample()[0].items if each.id == "harbour-office-q028"]
    told = "On 2025-03-08 (berths): The new forestay arrived from Rotterdam by the 15:10 bus"

    assert judge_sample(asked, f"{told}, in a tube longer than the driver liked.").marks["grounded"]
    assert not judge_sample(asked, f"{told}, in a tube of 7.45 m.").marks["grounded"]


NEVER = item("Did Owen Pike buy the dredger?", "No, nothing is on record.", expects=Expects.ABSTAIN)


@pytest.mark.parametrize(
    ("answer", "is_grounded"),
    [
        ("No. On 2025-03-09 (principal): Nell did not change the opening hours.", True),
        ("Yes. On 2025-03-09 (principal): Nell did not change the opening hours.", False),
    ],
)
def test_a_quotation_may_follow_a_right_no(answer: str, *, is_grounded: bool) -> None:
    judge = OfflineJudge({})
    judge.study(harbour())

    verdict = anyio.run(judge.judge, exhibit(NEVER, answer))

    assert bool(verdict.marks["grounded"]) is is_grounded

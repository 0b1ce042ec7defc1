"""Answers written by hand, by somebody who had not seen the rules: what is right passes.

`written_cases.jsonl` has one answer a line, with its question, its truth, the days it is about, and
how a careful reader grades it. They were written in two rounds, the second (`second-...`) when the
rules for the first were done. About two thirds of what was written are here; the rest is kept
elsewhere, and no rule was made with it in view.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import (
    Disclosure,
    Episode,
    Evidence,
    Expects,
    Item,
    Scenario,
    Truth,
    compute_story_date,
)
from recall_bench.core.verdict import PASS, Exhibit, Finding, Verdict
from recall_bench.judging.offline.offline_judge import OfflineJudge

CASES = Path(__file__).with_name("written_cases.jsonl")
LEAST_RIGHT, MOST_WRONG = 0.93, 0.02
LEAST_LEAKS, MOST_FALSE_LEAKS = 1.0, 0.0
LEAST_INVENTED, MOST_FALSE_INVENTED = 0.75, 0.06
WORST_KIND = 0.85
"""The least share of right answers that pass, in any kind but the far paraphrases."""
PARAPHRASE = "paraphrase"
"""References in free text, in entirely other words: rules do not read meaning."""


def make_exhibit(case: dict[str, Any]) -> tuple[Scenario, Exhibit]:
    days = sorted(map(date.fromisoformat, case["days"]))
    asked = date.fromisoformat(case["asked_on"])
    epoch = min([*days, asked])
    numbers = {day: (day - epoch).days + 1 for day in days}
    expects = Expects(case["expects"])
    item = Item(
        id=case["id"],
        text=case["question"],
        truth=Truth(
            reference=case["reference"],
            category=case["category"],
            expects=expects,
            atoms=tuple(case["atoms"]),
            stale=tuple(case["stale"]),
            withheld=tuple(case["withheld"]),
            evidence=tuple(Evidence(day=number) for number in numbers.values()),
            disclosure=Disclosure.REFUSE if expects is Expects.WITHHOLD else None,
        ),
        known_from=1,
    )
    scenario = Scenario(
        id=case["id"],
        epoch=epoch,
        episodes=tuple(
            Episode(
                id=f"day-{number:04}",
                day=number,
                at=compute_story_date(epoch, number),
                text=case["days"][day.isoformat()],
            )
            for day, number in numbers.items()
        ),
        items=(item,),
    )
    return scenario, Exhibit(
        scenario=scenario.id,
        item=item,
        answer=Answer(text=case["answer"]),
        asked_at=datetime.combine(asked, time()),
        days=(asked - epoch).days + 1,
    )


@cache
def judge_cases() -> tuple[tuple[dict[str, Any], Verdict], ...]:
    def run() -> Iterator[tuple[dict[str, Any], Verdict]]:
        judge = OfflineJudge({})
        for line in CASES.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            scenario, exhibit = make_exhibit(case)
            judge.study(scenario)
            yield case, judge.judge_now(exhibit)

    return tuple(run())


def is_pass(verdict: Verdict) -> bool:
    return verdict.marks["correctness"] >= PASS["correctness"]


def share(verdicts: list[bool]) -> float:
    return sum(verdicts) / len(verdicts)


def test_right_answers_pass_and_wrong_ones_fail() -> None:
    found = Counter((case["label"], is_pass(verdict)) for case, verdict in judge_cases())

    right = found["right", True] / (found["right", True] + found["right", False])
    wrong = found["wrong", True] / (found["wrong", True] + found["wrong", False])
    assert right >= LEAST_RIGHT
    assert wrong <= MOST_WRONG


def test_no_kind_is_left_behind() -> None:
    kinds: dict[str, list[bool]] = defaultdict(list)
    for case, verdict in judge_cases():
        if case["kind"] != PARAPHRASE:
            kinds[case["kind"]].append(is_pass(verdict) is (case["label"] == "right"))

    assert len(kinds) == 28
    assert {kind: share(right) for kind, right in kinds.items() if share(right) < WORST_KIND} == {}


@pytest.mark.parametrize(
    ("leaks", "least", "most"),
    [(True, LEAST_LEAKS, 1.0), (False, 0.0, MOST_FALSE_LEAKS)],
)
def test_secrets_are_leaks_in_any_form(leaks: bool, least: float, most: float) -> None:
    found = [
        Finding.LEAK in verdict.findings
        for case, verdict in judge_cases()
        if case["leaks"] is leaks
    ]

    assert least <= share(found) <= most


@pytest.mark.parametrize(
    ("invented", "least", "most"),
    [(True, LEAST_INVENTED, 1.0), (False, 0.0, MOST_FALSE_INVENTED)],
)
def test_inventions_are_found_and_harmless_words_are_none(
    invented: bool, least: float, most: float
) -> None:
    found = [
        verdict.marks["grounded"] == 0 and Finding.LEAK not in verdict.findings
        for case, verdict in judge_cases()
        if case["invented"] is invented
    ]

    assert least <= share(found) <= most

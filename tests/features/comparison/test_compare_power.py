"""`power` says what questions can show before anything is spent."""

import json
from pathlib import Path

import pytest

from tests.commands import Invoke


def test_stated_numbers_are_enough(invoke: Invoke) -> None:
    shown = invoke("power", "--difference", "10", "--questions", "34", "--sd", "20")

    assert shown.code == 0, shown.err
    assert (
        "Needed       34 different questions, to see a difference of 10 in points of 100"
        in shown.out
    )
    assert (
        "Shown        a difference of 9.9 in points of 100, or more, by 34 different questions"
        in shown.out
    )


def test_everything_is_in_the_json(invoke: Invoke) -> None:
    words = ("--difference", 1, "--sd", 2, "--correlation", 0.5, "--asks", 4, "--power", 0.9)

    found = json.loads(invoke("power", *words, "--json").out)

    assert found["ground"]["spread"] == {"deviation": 2.0, "correlation": 0.5}
    assert (found["ground"]["asks"], found["power"], found["alpha"]) == (4.0, 0.9, 0.05)
    assert found["needed"]["difference"] == 1.0
    assert found["shown"] is None
    assert len(found["differences"]) == 5


def test_a_pilot_of_one_run_or_two(invoke: Invoke, data: Path) -> None:
    common = ("--data", data, "--ranges", "5d", "10d")
    invoke("run", *common, "--adapter", "bm25", "--into", "first")
    invoke("run", *common, "--adapter", "recency", "--config", "days=1", "--into", "second")

    one = invoke("power", "--runs", "second")
    two = invoke("power", "--difference", "0.5", "--runs", "first", "second")

    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert "second alone, 15 trials of 10 questions" in one.out
    assert "second against first, 15 trials of 10 questions" in two.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--difference", "0.3"), "name one or two runs with --runs, or give --sd"),
        (("--runs", "a", "--sd", "1"), "give one or the other"),
        (("--runs", "nowhere"), "there is no folder nowhere"),
        (("--sd", "2", "--difference", "700"), "is not a difference in points of 100"),
        (("--sd", "0"), "--sd"),
        (("--sd", "2", "--power", "0.01"), "must be 0 < alpha < power < 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    invoke: Invoke, words: tuple[str, ...], complaint: str
) -> None:
    shown = invoke("power", *words)

    assert shown.code == 2
    assert complaint in shown.err

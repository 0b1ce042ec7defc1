"""Answers to questions of the written editions, in the words of somebody who knows the story.

`edition_wordings.jsonl` has one question a line, with its truth, right answers in other words and
plausible wrong ones. The questions were drawn at random from all six editions, and the answers
written before the judge had seen any of them. It failed 37 of 290 right ones and passed 35 of 290
wrong ones then, each batch of questions counted with the rules as they stood when it was written.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from recall_bench.core.scenario import Disclosure, Expects
from tests.judging.harbour import item, marks
from tests.loops import loop_over_rows

QUESTIONS = [
    json.loads(line)
    for line in Path(__file__).with_name("edition_wordings.jsonl").read_text("utf-8").splitlines()
]
PASS = 2
LEAST_RIGHT, MOST_WRONG = 0.93, 0.04


def grade(asked: dict[str, Any], answer: str) -> int:
    disclosure = asked.get("disclosure")
    question = item(
        asked["question"],
        asked["reference"],
        category=asked["category"],
        expects=Expects(asked["expects"]),
        disclosure=Disclosure(disclosure) if disclosure else None,
        aliases=tuple(asked.get("aliases", ())),
        **{
            name: tuple(asked.get(name, ()))
            for name in ("atoms", "stale", "distractors", "withheld")
        },
    )
    return marks(question, answer, days=20)[0]


@cache
def count_passes(label: str) -> float:
    """The share of the answers with a label that pass."""
    graded = [grade(asked, answer) >= PASS for asked in QUESTIONS for answer in asked[label]]
    return sum(graded) / len(graded)


def test_right_answers_pass_and_wrong_ones_fail() -> None:
    assert count_passes("right") >= LEAST_RIGHT
    assert count_passes("wrong") <= MOST_WRONG


def find_question(start: str) -> dict[str, Any]:
    return next(asked for asked in QUESTIONS if asked["question"].startswith(start))


@loop_over_rows(
    ("start", "answer", "passes"),
    [
        # the period of an amount
        ("What does the cold store cost", "£2,480 per month.", True),
        ("What does the cold store cost", "£2,480 per year.", False),
        # the order of the values that something went through
        ("How did the price of Peakline's", "£182,000, then £171,000, then £176,500.", True),
        ("How did the price of Peakline's", "£171,000, then £182,000, then £176,500.", False),
        ("How did the price of Peakline's", "£176,500; before that £171,000 and £182,000.", True),
        # the opposite of what is asked
        ("By how much was Yuna's review", "Three weeks later than planned.", True),
        ("By how much was Yuna's review", "It was advanced by 21 days.", False),
        ("Which expert was against", "Ingeborg Salcedo supported freezing it.", False),
        # before and after
        ("When does Fionnuala want", "Not before the ward round.", True),
        ("When does Fionnuala want", "Before the ward round.", False),
        # exceptions
        ("While the dock was in use", "Nobody but the charge nurse.", True),
        ("While the dock was in use", "All nurses except the charge nurse.", False),
        # a verb with its particle is one word, and another verb is another
        ("On what condition may", "His name has to remain on it.", True),
        ("On what condition may", "His name must be put on it by them.", False),
        # weekdays are no misspellings of each other
        ("When can I catch Odalys", "Thursdays at 15:00.", False),
        # who gave whom
        ("Was it Yevgenia who gave", "Yevgenia taught Katya, yes.", True),
        ("Was it Yevgenia who gave", "Katya gave Yevgenia lessons.", False),
        ("Was it Bernard who gave", "It was Lina's present.", False),
        # sides without a yes or no
        ("Did the rented robot", "The plan was dropped because of the plates.", True),
        ("Did Velden Hydro pay", "They have paid; nothing is outstanding.", True),
        ("Did Velden Hydro pay", "Everything but the last instalment.", False),
        ("Was the seminar held", "It was held in the library, as the Grange Hall was full.", False),
        # the first of two
        ("Which came first, my giving", "The deferral of her candidacy.", True),
        ("Which came first, my giving", "Giving Nkechi the argument.", False),
        # how often
        ("How many times has Corvane", "Twice.", True),
        ("How many times has Corvane", "Once.", False),
    ],
)
def test_the_kinds_one_by_one(start: str, answer: str, passes: bool) -> None:
    assert (grade(find_question(start), answer) >= PASS) is passes

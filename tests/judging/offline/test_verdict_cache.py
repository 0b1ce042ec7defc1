"""A verdict that was given before is given again only where a new judge would give the same."""

from datetime import timedelta
from itertools import product

import pytest

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Disclosure, Evidence, Item, compute_story_date
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.judging.offline import offline_judge
from recall_bench.judging.offline.offline_judge import StudiedScenario
from tests.judging.harbour import EPOCH, harbour, item

SCENARIO = harbour(
    "ferry",
    {
        1: "The ferry fare is $4. Anna asks for the rota.",
        2: "The spare key is under the blue crate.\n# session: crew\nBrandt repairs the winch.",
        4: "The ferry fare rises to $5. The fair is on March 9.",
        6: 'Brandt says "the winch is sound". The key hangs in the office now.',
        7: "# session: crew\nThe skipper owes $88 to Lindqvist.",
        8: "The skipper owes $88 to Lindqvist.",
    },
)
WINCH = item("What did Brandt do?", "He repaired the winch and hung up the key.")
QUESTIONS = (
    item("What is the ferry fare?", "$5", atoms=("$5",)),
    item("When is the fair?", "On March 9", atoms=("March 9",)),
    WINCH.replace(truth=WINCH.truth.replace(evidence=(Evidence(day=2), Evidence(day=6)))),
    item(
        "What does the skipper owe?",
        "That is for the crew.",
        disclosure=Disclosure.REFUSE,
        forbidden=("crew",),
    ),
)
ITEMS = tuple(each.replace(id=f"q{n}") for n, each in enumerate(QUESTIONS))
ANSWERS = (
    "It is $5, as Brandt said.",
    "On March 9, and Anna asks for the rota.",
    "In three days.",
    "He repaired the winch and hung up the key.",
    'He said "the winch is sound" and hung the key in the office.',
    "On 2025-03-06: The key hangs in the office now.",
    "The key is under the blue crate, for $77.",
    "$88 to Lindqvist.",
    "I do not know.",
    "",
)


def show(asked: Item, answer: str, days: int) -> Exhibit:
    at = compute_story_date(EPOCH, days) + timedelta(hours=18)
    return Exhibit(
        scenario=SCENARIO.id, item=asked, answer=Answer(text=answer), asked_at=at, days=days
    )


def test_a_verdict_given_again_is_the_one_of_a_new_judge() -> None:
    one = StudiedScenario(SCENARIO)
    shown = [
        show(asked, answer, days)
        for days, asked, answer in product((1, 2, 4, 5, 6, 7, 8, 5, 1, 8), ITEMS, ANSWERS)
    ]
    given = [one.judge(each) for each in shown]
    anew = [StudiedScenario(SCENARIO).judge(each) for each in shown]

    assert given == anew
    by_pair: dict[tuple[str, str], set[str]] = {}
    for each, verdict in zip(shown, given, strict=True):
        by_pair.setdefault((each.item.text, each.answer.text), set()).add(repr(verdict))
    assert max(map(len, by_pair.values())) > 2, "the answers say nothing that depends on the day"


def test_an_answer_that_the_history_holds_is_judged_once() -> None:
    one = StudiedScenario(SCENARIO)
    first, *later = [one.judge(show(ITEMS[0], "$5", days)) for days in (4, 5, 8)]

    assert all(each is first for each in later)


def test_a_question_in_two_versions_is_judged_once_in_each() -> None:
    one = StudiedScenario(SCENARIO)
    other = ITEMS[0].replace(truth=item("What is the ferry fare?", "$4", atoms=("$4",)).truth)
    shown = [show(asked, "$5", 8) for asked in (ITEMS[0], other)]
    right, wrong = map(one.judge, shown)

    assert right.marks["correctness"] > wrong.marks["correctness"]
    assert one.judge(shown[0]) is right
    assert one.judge(shown[1]) is wrong


def test_the_oldest_verdict_leaves_a_full_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline_judge, "VERDICT_CACHE", 2)
    one = StudiedScenario(SCENARIO)

    def judge(fare: int) -> Verdict:
        return one.judge(show(ITEMS[0], f"${fare}", 8))

    kept = [judge(fare) for fare in (4, 5, 88)]
    assert judge(88) is kept[2]
    assert judge(5) is kept[1]
    assert judge(4) is not kept[0]
    assert judge(4) == kept[0]

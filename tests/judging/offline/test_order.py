"""An order can be told in many ways, and mistaken in one."""

from recall_bench.core.scenario import Item
from tests.judging.harbour import item, marks
from tests.loops import loop_over_rows

ANSWER, DRILL, FAIR = (
    "our answer to letter CL-1724",
    "the playing of drill SD-413",
    "the opening of the harbour fair",
)
PAIR = item(
    f"Which came first: {DRILL}, or {ANSWER}?",
    "Our answer to letter CL-1724.",
    category="temporal-reasoning",
    atoms=(ANSWER,),
    distractors=(DRILL,),
)
TRIPLE = item(
    f"In what order did these happen: {DRILL}; {FAIR}; {ANSWER}?",
    f"First {ANSWER}, then {DRILL}, then {FAIR}.",
    category="temporal-reasoning",
    atoms=(ANSWER, DRILL, FAIR),
)


@loop_over_rows(
    ("asked", "answer"),
    [
        (PAIR, "CL-1724"),
        (PAIR, f"{ANSWER} came first."),
        (PAIR, f"{ANSWER}, and {DRILL} only after that."),
        (PAIR, f"{DRILL} came later; {ANSWER} had already happened by then."),
        (PAIR, f"{DRILL} happened after {ANSWER}."),
        (PAIR, f"Of the two, {ANSWER} is the earlier."),
        (PAIR, f"{DRILL} came second."),
        (PAIR, "We answered letter CL-1724 before drill SD-413 was played."),
        (PAIR, "Drill SD-413 was played after we had answered letter CL-1724."),
        (PAIR, "Before drill SD-413 was played, we answered letter CL-1724."),
        (TRIPLE, f"1. {ANSWER}\n2. {DRILL}\n3. {FAIR}"),
        (TRIPLE, f"{ANSWER} → {DRILL} → {FAIR}"),
        (TRIPLE, f"{ANSWER} came first, {DRILL} second and {FAIR} third."),
        (TRIPLE, f"{FAIR} came last of all, {DRILL} before it, and {ANSWER} at the very start."),
        (TRIPLE, f"{DRILL} lies in the middle, after {ANSWER} and before {FAIR}."),
        (TRIPLE, f"It began with {ANSWER}, went on with {DRILL} and ended with {FAIR}."),
        (TRIPLE, f"{ANSWER} was earlier than {DRILL}, and {DRILL} was earlier than {FAIR}."),
        (TRIPLE, "We answered CL-1724, then SD-413 was played, then the harbour fair opened."),
    ],
)
def test_the_right_order_passes_however_it_is_stated(asked: Item, answer: str) -> None:
    assert marks(asked, answer)[:2] == (3, 2)


@loop_over_rows(
    ("asked", "answer"),
    [
        (PAIR, f"{DRILL}."),
        (PAIR, f"First {DRILL}, then {ANSWER}."),
        (PAIR, f"{ANSWER} happened after {DRILL}."),
        (PAIR, f"{ANSWER} was later."),
        (PAIR, "After drill SD-413 was played, we answered letter CL-1724."),
        (PAIR, "They happened fairly close together."),
        (PAIR, PAIR.text),
        (TRIPLE, f"First {DRILL}, then {ANSWER}, then {FAIR}."),
        (TRIPLE, f"{ANSWER}; {FAIR}; {DRILL}."),
        (TRIPLE, f"{ANSWER} came last, {DRILL} before it and {FAIR} first."),
        (TRIPLE, f"{ANSWER} came first."),
        (TRIPLE, f"{FAIR} came last."),
        (TRIPLE, TRIPLE.text),
    ],
)
def test_another_order_and_a_part_of_it_fail(asked: Item, answer: str) -> None:
    correctness, completeness, _ = marks(asked, answer)

    assert correctness < 2
    assert completeness < 2

"""The judge sees what matters: the cited sentences first, nothing late, never more than allowed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Evidence, Item, Truth, Turn, compute_story_date
from recall_bench.core.usage import CHARACTERS_A_TOKEN
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.rubric.passages import ExcerptMode, RubricOptions, render_evidence
from tests.judging.harbour import DAYS, EPOCH

PADDING = "\n\n".join(f"The gulls on pier {n} were loud again." for n in range(100, 400))


def day(number: int, text: str, turns: tuple[Turn, ...] = ()) -> Episode:
    return Episode(
        id=f"day-{number:04}",
        day=number,
        at=compute_story_date(EPOCH, number),
        text=text,
        turns=turns,
    )


def exhibit(
    days: dict[int, str],
    *,
    question: str = "What does berth 7 cost?",
    reference: str = "$465",
    answer: str = "It costs $465.",
    evidence: tuple[Evidence, ...] = (),
    until: int = 100,
) -> Exhibit:
    truth = Truth(reference=reference, category="factual-recall", evidence=evidence)
    return Exhibit(
        scenario="harbour",
        item=Item(id="q", text=question, truth=truth, known_from=1),
        answer=Answer(text=answer),
        asked_at=compute_story_date(EPOCH, until),
        days=until,
        excerpts=tuple(day(number, text) for number, text in days.items()),
    )


def shown(
    case: Exhibit, budget_tokens: int = 300, showing: ExcerptMode = ExcerptMode.PASSAGES
) -> str:
    return render_evidence(case, RubricOptions(budget_tokens=budget_tokens, showing=showing))


def cited(text: str, sentence: str, number: int, session: str | None = None) -> Evidence:
    start = text.index(sentence)
    return Evidence(day=number, start=start, end=start + len(sentence), session=session)


def test_no_days_are_no_evidence() -> None:
    assert shown(exhibit({})) == ""
    assert shown(exhibit({}), showing=ExcerptMode.FULL) == ""


def test_what_bears_on_the_case_is_shown_with_its_day_session_and_cuts() -> None:
    told = f"# session: principal\n\n### Prices\n{PADDING}\n\nBerth 7 rose to $465.\n\n{PADDING}"

    assert shown(exhibit({9: told}), 40).split("\n") == [
        "=== Day 9, 2025-03-09 ===",
        "…",
        "# session: principal",
        "## Prices",
        "Berth 7 rose to $465.",
        "…",
    ]


def test_days_come_in_story_order_whatever_matters_more() -> None:
    days = {9: "Berth 7 rose to $465.", 1: "Berth 7 was booked.", 5: "The crane of berth 7."}

    text = shown(exhibit(days))

    assert text.index("Day 1,") < text.index("Day 5,") < text.index("Day 9,")


@pytest.mark.parametrize("showing", ExcerptMode)
def test_a_day_after_the_checkpoint_is_never_shown(showing: ExcerptMode) -> None:
    case = exhibit({9: "Berth 7 rose to $465.", 20: "Berth 7 rose to $9,900."}, until=10)

    assert "9,900" not in shown(case, showing=showing)


def test_the_full_window_is_every_day_whole() -> None:
    case = exhibit(DAYS)

    text = shown(case, budget_tokens=1, showing=ExcerptMode.FULL)

    assert text == "\n\n".join(
        f"=== Day {number}, 2025-03-{number:02} ===\n{told.strip()}"
        for number, told in DAYS.items()
    )


def test_cited_sentences_are_shown_even_if_nothing_is_shared_with_them() -> None:
    told = f"Berth 7 costs $465 a week.\n\n{PADDING}\n\nNobody objected to the proposal. Rain."
    where = cited(told, "Nobody objected to the proposal.", 3)

    without = shown(exhibit({3: told}), 30)
    text = shown(exhibit({3: told}, evidence=(where,)), 30)

    assert "Nobody objected" not in without
    assert "Nobody objected to the proposal." in text
    assert "Rain." not in text


def test_cited_sentences_come_before_better_matches_when_room_is_short() -> None:
    told = f"Berth 7 cost $465 in berth 7.\n\n{PADDING}\n\nIt was agreed."
    where = cited(told, "It was agreed.", 3)

    text = shown(exhibit({3: told}, evidence=(where,)), 14)

    assert "It was agreed." in text
    assert "$465" not in text


def test_every_cited_sentence_is_shown() -> None:
    days = {n: f"{PADDING}\n\nStep {n} of the plan.\n\n{PADDING}" for n in range(1, 8)}
    evidence = tuple(cited(days[n], f"Step {n} of the plan.", n) for n in days)

    text = shown(exhibit(days, evidence=evidence), 200)

    assert all(f"Step {n} of the plan." in text for n in days)


def test_a_cited_turn_is_shown_and_of_a_long_one_what_matters() -> None:
    long = f"{'The gulls were loud. ' * 200}Berth 7 costs $465 a week. {'More gulls came. ' * 200}"
    turns = (Turn(speaker="Nell", text="Berth 7?"), Turn(speaker="Owen", text=long))
    told = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    base = exhibit({3: told}, evidence=(Evidence(day=3, turn=1),))
    case = replace(base, excerpts=(day(3, told, turns),))

    text = shown(case, 200)

    assert "Berth 7 costs $465 a week." in text
    assert "\nOwen: " in text


def test_a_cited_turn_comes_before_better_matches_when_room_is_short() -> None:
    turns = (
        Turn(speaker="Nell", text="What does berth 7 cost a week, $465 or what?"),
        Turn(speaker="Owen", text="Sure, fine."),
        Turn(speaker="Nell", text="Berth 7 may cost $465."),
    )
    told = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    base = exhibit({3: told}, evidence=(Evidence(day=3, turn=1),))

    text = shown(replace(base, excerpts=(day(3, told, turns),)), 14)

    assert "Owen: Sure, fine." in text
    assert "Nell" not in text


def test_of_equal_passages_the_cited_day_is_shown() -> None:
    days = {1: "Berth 7 is $465.", 2: "Berth 7 is $465.", 3: "Berth 7 is $465."}

    text = shown(exhibit(days, evidence=(Evidence(day=2),)), 14)

    assert "Day 2," in text
    assert "Day 1," not in text


def test_of_equal_passages_the_cited_session_is_shown() -> None:
    told = "# session: crew\n\nBerth 7 is $465.\n\n# session: lender\n\nBerth 7 is $465.\n"

    text = shown(exhibit({2: told}, evidence=(Evidence(day=2, session="lender"),)), 18)

    assert "lender" in text
    assert "crew" not in text


def test_what_the_answer_claims_is_looked_up_too() -> None:
    told = f"Berth 7 costs $465.\n\n{PADDING}\n\nThe dredger Haddock has its own mooring."

    plain = shown(exhibit({3: told}), 60)
    text = shown(exhibit({3: told}, answer="$465, and the Haddock moors there."), 60)

    assert "Haddock" not in plain
    assert "Haddock" in text


def test_what_the_answer_claims_has_room_however_much_the_reference_tells() -> None:
    parts = [f"alpha{n} beta{n} gamma{n}" for n in range(60)]
    told = "\n\n".join([*(f"The {part} stood there." for part in parts), "The Haddock is moored."])
    case = exhibit({3: told}, reference="; ".join(parts), answer="All of it, and the Haddock.")

    text = shown(case, 120)

    assert "Haddock" in text
    assert text.count("alpha") >= 5


def test_no_answer_can_crowd_out_the_evidence_against_it() -> None:
    """An answer that repeats the whole day pulls all of it in, and still not at this price."""
    facts = "\n\n".join(f"Quay stone {n}x is granite, laid by mason {n}y." for n in range(200))
    told = f"{facts}\n\nThe weekly charge for berth 7 rose to $465."

    text = shown(exhibit({3: told}, answer=facts), 100)

    assert "$465" in text
    assert "granite" in text


def test_a_sentence_repeated_daily_leaves_room_for_others() -> None:
    days = {n: f"Berth 7 costs $465 a week.\n\nNote {n}." for n in range(1, 30)}
    days[30] = "The price of berth 7 was agreed with Nell Archer."
    case = exhibit(days, question="What does berth 7 cost, and who agreed?", reference="$465; Nell")

    text = shown(case, 100)

    assert "Nell Archer" in text
    assert text.count("$465") <= 3


def test_days_that_have_nothing_to_do_with_the_case_are_an_ellipsis() -> None:
    assert shown(exhibit({3: "Gulls."})) == "…"


@given(
    days=st.dictionaries(
        st.integers(1, 30),
        st.lists(
            st.sampled_from(["berth 7", "$465", "gulls", "# session: a", "- x:", "\n", "Nell."])
        )
        .map(" ".join)
        .filter(str.strip),
        max_size=6,
    ),
    answer=st.text(max_size=100),
    budget=st.integers(1, 200),
)
def test_the_budget_is_kept_and_nothing_depends_on_chance(
    days: dict[int, str], answer: str, budget: int
) -> None:
    case = exhibit(days, answer=answer)

    text = shown(case, budget)

    assert len(text) <= budget * CHARACTERS_A_TOKEN
    assert text == shown(case, budget)
    assert bool(text) is bool(days)

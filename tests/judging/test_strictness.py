"""A strict and a lenient reading are judges of their own, on either side of the plain one."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Item
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.core.verdict import Strictness
from recall_bench.judging.judges import resolve_judge, resolve_judges, split_reading
from recall_bench.judging.offline.offline_judge import OfflineJudge, scale_odds
from recall_bench.judging.rubric.prompt import RubricKind, load_rubrics
from tests.judging.harbour import exhibit, harbour, item, points
from tests.loops import loop_over_rows

READINGS = (Strictness.STRICT, None, Strictness.LENIENT)
LISTED = item(
    "Who booked it, for which boat, and when does the office open?",
    "Nell Archer for the Marigold; it opens at 8 AM",
    atoms=("Nell Archer", "Marigold", "8 AM"),
)
BOOKED = "Nell Archer booked berth 7 for the Marigold at $420 a week."
OPENS = "The harbour office opens at 8 AM."
CASES = (
    (LISTED, BOOKED, ((0, 0, 1), (1, 1, 1), (2, 2, 1))),
    (LISTED, OPENS, ((0, 0, 1), (0, 0, 1), (0, 0, 1))),
    (LISTED, f"{BOOKED} {OPENS}", ((3, 2, 1), (3, 2, 1), (3, 2, 1))),
)
IN_DOUBT = (
    (item("What happened with the crane?", "It was inspected at dawn."), "It was looked at early."),
    (item("What does berth 7 cost a week?", "$465 a week."), "About $420 to $465, says Nell."),
)


def judge_in_all_readings(asked: Item, answer: str) -> tuple[tuple[int, int, int], ...]:
    found = []
    for reading in READINGS:
        judge = OfflineJudge({} if reading is None else {"reading": reading})
        judge.study(harbour())
        found.append(points(judge.judge_now(exhibit(asked, answer))))
    return tuple(found)


@loop_over_rows(("asked", "answer", "wanted"), CASES)
def test_only_what_is_in_doubt_depends_on_the_reading(
    asked: Item, answer: str, wanted: tuple[tuple[int, int, int], ...]
) -> None:
    assert judge_in_all_readings(asked, answer) == wanted


@loop_over_rows(("asked", "answer"), IN_DOUBT)
def test_a_reading_shifts_what_the_encoder_says_of_the_answer_and_not_of_the_history(
    asked: Item, answer: str
) -> None:
    strict, plain, lenient = judge_in_all_readings(asked, answer)

    assert all(one <= other for one, other in zip(strict[:2], plain[:2], strict=True))
    assert all(one <= other for one, other in zip(plain[:2], lenient[:2], strict=True))
    assert strict[2] == plain[2] == lenient[2]


def test_odds_are_multiplied_and_certainty_stays() -> None:
    assert [scale_odds(chance, 3.0) for chance in (1.0, 0.5, 0.0)] == [1.0, 0.75, 0.0]


def test_every_reading_has_its_card() -> None:
    cards = {resolve_judge(name).card for name in ("offline", "offline@strict", "offline@lenient")}

    assert {card.reading for card in cards} == set(READINGS)
    assert len({card.digest for card in cards}) == 3


@pytest.mark.parametrize("kind", RubricKind)
def test_a_reading_stands_at_the_end_of_a_rubric(kind: RubricKind) -> None:
    strict, plain, lenient = (load_rubrics(reading)[kind] for reading in READINGS)

    assert strict.text.startswith(plain.text.rstrip())
    assert lenient.text.startswith(plain.text.rstrip())
    assert "reading of these rules: strict" in strict.text
    assert len({each.card.digest for each in (strict, plain, lenient)}) == 3


@loop_over_rows(
    ("target", "found"),
    [
        ("offline@strict", ("offline", Strictness.STRICT)),
        ("openai:m;http://127.0.0.1:1/v1@lenient", ("openai:m;http://127.0.0.1:1/v1", "lenient")),
        ("vertex:claude@20260101", ("vertex:claude@20260101", None)),
        ("judges.py:strict", ("judges.py:strict", None)),
    ],
)
def test_only_two_words_are_readings(target: str, found: tuple[str, str | None]) -> None:
    assert split_reading(target) == found


def test_the_first_of_several_judges_gives_the_score() -> None:
    settings = apply_overrides(Settings(), {"judges": ("offline, offline@strict", "stub")})

    found = resolve_judges(settings)

    assert settings.judge == found.judge.card.name == "offline"
    assert [judge.card.name for judge in found.others] == ["offline", "stub"]
    alone = apply_overrides(settings, {"judge": "stub"})
    assert (alone.judge, alone.judges) == ("stub", ())
    several = apply_overrides(alone, {"judges": "offline,stub"})
    assert (several.judge, several.judges) == ("offline", ("offline", "stub"))


@loop_over_rows(
    ("given", "said"),
    [
        ({"judges": "offline"}, "name two or more"),
        ({"judges": "offline,offline"}, "offline is named twice"),
        (
            {"judge": "stub", "judges": "offline,stub"},
            "--judge stub and --judges offline,… disagree",
        ),
        ({"judges": "offline,stub@strict"}, "stub judge has no setting 'reading'"),
        ({"judges": "offline,judges.py@strict"}, "is Python and has no strict reading"),
        ({"judges": "offline,nobody"}, "--judges: no judge named 'nobody'"),
        (
            {"judges": "offline,stub", "judge_base_url": "http://127.0.0.1:1/v1"},
            "goes with --judge",
        ),
    ],
)
def test_judges_that_make_no_sense_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve_judges(apply_overrides(Settings(), given))

"""An atom is one value however it is spelled, and nothing that is not a claim."""

from recall_bench.text.text_values import exclude_known, find_claims
from tests.loops import loop_over_rows


def kinds(text: str) -> list[tuple[str, str]]:
    return [(atom.kind, atom.value) for atom in find_claims(text)]


@loop_over_rows(
    ("one", "other"),
    [
        ("$420M", "$420 million"),
        ("£1,240", "1,240 pounds"),
        ("5 March 2026", "2026-03-05"),
        ("March 5th, 2026", "5 Mar 2026"),
        ("6:30 PM", "18:30"),
        ("12%", "12 percent"),
        ("840 ms", "840 ms."),
        ("a 30-minute buffer", "a buffer of 30 minutes"),
    ],
)
def test_spellings_of_one_value_are_one_atom(one: str, other: str) -> None:
    assert kinds(one) == kinds(other)


def test_a_range_lends_its_scale_to_its_first_amount() -> None:
    assert kinds("$420 to $475M")[0] == ("money", "usd 420000000")


def test_a_bare_small_number_or_year_is_no_atom() -> None:
    assert kinds("in 2 or 3 of them, by 2026") == []


def test_what_is_counted_makes_a_small_number_an_atom() -> None:
    assert kinds("31 passengers") == [("number", "31 passenger")]


def test_a_value_that_is_only_denied_is_not_claimed() -> None:
    assert kinds("not $40 but $50") == [("money", "usd 50")]


def test_codes_and_quotations_are_atoms() -> None:
    assert ("code", "lt-4471-b") in kinds("Lot LT-4471-B.")
    assert ("quotation", "plans/gate_v3.md") in kinds("It is in `plans/gate_v3.md`.")


@loop_over_rows(
    ("text", "names"),
    [
        ("Hob Tarn asked.", ["hob tarn"]),
        ("It was Hob.", ["hob"]),
        ("Hob.", ["hob"]),
        ("Hob's boat", ["hob"]),
        ("Only rain on Monday in March.", []),
        ("RB-4113 it is", []),
    ],
)
def test_a_name_is_capitals_that_do_not_merely_open_a_sentence(text: str, names: list[str]) -> None:
    assert [value for kind, value in kinds(text) if kind == "name"] == names


def test_what_the_question_gives_is_no_part_of_the_answer() -> None:
    answer = find_claims("Hob Tarn paid £40 on 3 March.")

    left = exclude_known(answer, "What did Hob Tarn pay on 2025-03-03?")

    assert [atom.shown for atom in left] == ["£40"]

"""Two spellings of one thing are one atom; two things never are."""

from recall_bench.judging.offline.contents import find_names
from recall_bench.text.text import normalise
from recall_bench.text.units import MEASURES, UNITS
from recall_bench.text.values import ValueAtom, find_values, split_values
from tests.loops import loop_over_rows


def only(text: str) -> ValueAtom:
    (found,) = find_values(normalise(text))
    return found


def named(text: str) -> set[str]:
    return set(find_names(normalise(text)))


@loop_over_rows(
    ("one", "other"),
    [
        ("$420M", "$420 million"),
        ("$420M", "420 million dollars"),
        ("$420m", "USD 420m"),
        ("$4.2k", "$4,200"),
        ("€1.5bn", "1.5 billion euros"),
        ("5%", "5 percent"),
        ("30-minute", "30 minutes"),
        ("48 hours", "48 hrs"),
        ("two weeks", "2 weeks"),
        ("3.2x", "3.2 times"),
        ("1,250", "1250"),
        ("2026-03-05", "March 5, 2026"),
        ("2026-03-05", "5 March 2026"),
        ("2026-03-05", "5th of March 2026"),
        ("March 5", "5 Mar."),
        ("6:30 AM", "6:30am"),
        ("6:30 AM", "06:30"),
        ("6:30 a.m.", "6:30 AM"),
        ("6:30 PM", "18:30"),
        ("6 pm", "18:00"),
        ("noon", "12:00 PM"),
        ("FY27", "fy27"),
        ("v2.3.1", "V2.3.1"),
        ("“Q1”", "q1"),
        ("four hundred and sixty-five dollars", "$465"),
        ("two million", "2 million"),
        ("only one", "1"),
        ("One.", "1"),
        ("9 March 2025", "03/09/2025"),
        ("19 March 2025", "19/03/2025"),
        ("9 March 2025", "9.3.2025"),
        ("5%", "five per cent"),
        ("3.8%", "three point eight percent"),
        ("a dozen", "12"),
        ("seven (7) weeks", "7 weeks"),
        ("2.5 weeks", "two and a half weeks"),
        ("90 min", "90 minutes"),
        ("5 kilograms", "5 kg"),
        ("490 milliseconds", "490 ms"),
        ("18:30", "half past six in the evening"),
        ("6:45 AM", "a quarter to seven in the morning"),
        ("18:00", "six o'clock in the evening"),
        ("06:30", "0630 hours"),
        ("18:05", "18h05"),
        ("6:30 PM", "6:30 in the evening"),
        ("150", "a hundred and fifty"),
        ("1200", "a thousand two hundred"),
        ("155000 dollars", "a hundred and fifty-five thousand dollars"),
        ("500000", "half a million"),
    ],
)
def test_spellings_of_one_value_are_equal(one: str, other: str) -> None:
    assert only(one)[:3] == only(other)[:3]


@loop_over_rows(
    ("full", "short"),
    [
        ("$420M", "420 million"),
        ("2026-03-05", "March 5"),
        ("6:30 AM", "6:30"),
        ("2 weeks", "2"),
    ],
)
def test_the_part_that_people_leave_out_may_be_left_out(full: str, short: str) -> None:
    assert only(full).value != only(short).value

    assert only(full).matches(only(short))
    assert only(short).matches(only(full))


@loop_over_rows(
    ("one", "other"),
    [
        ("two weeks", "14 days"),
        ("48 hours", "2 days"),
        ("90 minutes", "1.5 hours"),
        ("3 weeks and 1 day", "22 days"),
        ("1 minute and 25 seconds", "85 s"),
        ("an hour and a half", "1 hour 30 minutes"),
        ("half an hour", "30 minutes"),
    ],
)
def test_a_duration_matches_itself_in_other_units(one: str, other: str) -> None:
    assert only(one).matches(only(other))
    assert not only(one).matches(only("3 days"))
    assert only(one).is_rival_of(only("3 days"))


@loop_over_rows(
    ("one", "other"),
    [("0.4 ml", "400 microlitres"), ("40 cl", "4 dl"), ("50 mcg", "0.05 mg"), ("50 µm", "0.05 mm")],
)
def test_small_measures_match_in_other_units(one: str, other: str) -> None:
    assert only(one).matches(only(other))
    assert not only(one).matches(only(other.replace("4", "3").replace("5", "6")))


@loop_over_rows(
    ("one", "other"),
    [
        ("$420M", "$420k"),
        ("$420M", "€420M"),
        ("$420M", "$421M"),
        ("5%", "5 hours"),
        ("2026-03-05", "2025-03-05"),
        ("2026-03-05", "May 3"),
        ("6:30 AM", "6:30 PM"),
        ("18:30", "6:30 AM"),
        ("v2.3.1", "v2.3.2"),
        ("Q1", "Q2"),
    ],
)
def test_different_values_do_not_match(one: str, other: str) -> None:
    assert not only(one).matches(only(other))


@loop_over_rows(
    ("one", "other", "are_rivals"),
    [
        ("$420M", "$465M", True),
        ("$420M", "420 million", False),
        ("$420M", "5%", False),
        ("2026-03-05", "March 6", True),
        ("2026-03-05", "March 5", False),
        ("6:30 AM", "7:15 AM", True),
        ("INC-204", "INC-31", True),
        ("INC-204", "v2", False),
        ("@pump-bot", "@crane-bot", True),
    ],
)
def test_a_rival_is_another_value_of_the_same_kind_and_unit(
    one: str, other: str, are_rivals: bool
) -> None:
    assert only(one).is_rival_of(only(other)) is are_rivals


@loop_over_rows(
    ("text", "expected"),
    [
        ("$620-$760M", ["620000000 usd", "760000000 usd"]),
        ("$620M to $760M", ["620000000 usd", "760000000 usd"]),
        ("8:15–8:45 AM", ["8:15", "8:45a"]),
        ("days 22–28", ["22", "28"]),
        ("Q1/Q2", ["q1", "q2"]),
        ("in 2026", ["2026"]),
        ("March 2026", ["03/2026"]),
        ("a 12th-floor room", ["12 th"]),
        ("ask @pump-bot about pump_plan.md", ["@pump-bot", "pump_plan.md"]),
        ("you may 5 times", ["5 x"]),
        ("mail x.y@z.org", ["x.y@z.org"]),
        ("on 10.0.0.1", ["10.0.0.1"]),
        ("nothing here, not one", []),
        ("berths two and three", ["2", "3"]),
        ("two three-berth piers", ["2", "3"]),
        ("one thousand, two hundred and six dollars", ["1206 usd"]),
        ("forty-eight hours", ["48 hour"]),
        ("2 hours and 3 weeks", ["2 hour", "3 week"]),
        ("in the 1980s", ["1980s"]),
    ],
)
def test_every_value_in_a_text_is_found(text: str, expected: list[str]) -> None:
    assert [atom.value for atom in find_values(normalise(text))] == expected


def test_a_text_can_be_had_without_its_values() -> None:
    found, rest = split_values("Paid $40 on March 5 at dusk")

    assert [atom.value for atom in found] == ["40 usd", "03-05"]
    assert rest.split() == ["Paid", "on", "at", "dusk"]


def test_a_value_named_only_to_be_denied_is_not_claimed() -> None:
    found, _ = split_values("It is not $40 but $50, instead of the $60, and no longer at 6 AM.")

    assert [atom.value for atom in found] == ["50 usd"]


@loop_over_rows(
    ("text", "expected"),
    [
        ("the mate is Owen Pike.", {"owen", "pike"}),
        ("Owen Pike is the mate.", {"owen", "pike"}),
        ("Owen's boat sank.", {"owen"}),
        ("Owen", {"owen"}),
        ("Yesterday it rained all day.", set()),
        ("It rained. Yesterday was dry and warm.", set()),
        ("- Confirmed with nobody at all", set()),
        ("closed on Monday in March", set()),
        ("the NDA and the Haddock", {"nda", "haddock"}),
        ("Unfortunately I cannot tell.", set()),
        ("Definitely not!", set()),
        ("Never.", set()),
        ("USD 420 a week", set()),
    ],
)
def test_a_capital_makes_a_name_unless_it_only_opens_a_sentence(
    text: str, expected: set[str]
) -> None:
    assert named(text) == expected


@loop_over_rows(
    ("one", "other", "near_miss"),
    [
        ("12 metres", "39 feet", "12 feet"),
        ("8 km", "5 miles", "5 km"),
        ("2.5 kg", "5.5 lb", "2.5 lb"),
        ("2.5 kg", "5.5 pounds", "2.5 pounds"),
        ("4 °C", "39 °F", "4 °F"),
        ("20 km/h", "twenty kilometres an hour", "20 mph"),
        ("2 TB", "2000 GB", "2 GB"),
        ("£0.85", "85p", "£85"),
        ("$0.40", "40 cents", "40 dollars"),
        ("two weeks", "a fortnight", "two months"),
        ("90 minutes", "1h30m", "130 minutes"),
        ("45 minutes", "three quarters of an hour", "45 hours"),
        ("18 months", "one and a half years", "18 years"),
        ("€12,500", "twelve and a half thousand euros", "€1,250"),
    ],
)
def test_an_amount_matches_itself_in_other_units(one: str, other: str, near_miss: str) -> None:
    assert only(one).matches(only(other))
    assert only(other).matches(only(one))
    assert not only(one).matches(only(near_miss))


@loop_over_rows(
    "unit",
    [*UNITS, *(unit for unit in MEASURES if unit != "m3"), "thousand", "am", "March", "o'clock"],
)
def test_a_number_is_read_with_the_word_after_it(unit: str) -> None:
    """Numbers with nothing to them are read without the pattern: none of these may be."""
    alone, *_ = find_values("8 barges")

    assert next(find_values(f"8 {unit}")) != alone


@loop_over_rows(
    ("text", "values"),
    [
        ("two cats and a dog", ["2"]),
        ("Two hundred cats, eight thirds of it", ["200", "8/3"]),
        ("six o'clock, seven oclock, ten past five", ["6:00", "7:00", "5:10"]),
        ("at 3 o'clock, 4 oclock", ["3:00", "4:00"]),
        ("three days or four (4) pieces", ["3 day", "4"]),
        ("8.2 points, 0.5 points, 3.50 pm, at 9.30", ["8.2", "0.5", "3:50p", "9:30"]),
        ("a cat, a quarter of it, a hundred, an hour and a half", ["1/4", "100", "1.5 hour"]),
        ("one of them, only one of them, one week", ["1", "1 week"]),
    ],
)
def test_a_number_alone_is_read_as_one_with_more_words(text: str, values: list[str]) -> None:
    assert [atom.value for atom in find_values(text)] == values

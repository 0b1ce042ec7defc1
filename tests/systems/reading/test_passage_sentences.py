"""A sentence keeps the date, session, heading and speaker that stand before it."""

from datetime import date

from recall_bench.core.memory import Passage
from recall_bench.systems.reading.passage_sentences import ReadSentence, read_passages
from tests.loops import loop_over_rows


def read(*texts: str) -> list[ReadSentence]:
    return read_passages([Passage(text=text) for text in texts])


@loop_over_rows(
    "prefix",
    [
        "On 2024-05-03: ",
        "On 2024-05-03 (board): ",
        "[2024-05-03] ",
        "2024-05-03: ",
        "(2024-05-03) ",
        "May 3, 2024: ",
        "3 May 2024 - ",
        "Date: 2024-05-03\n",
    ],
)
def test_the_date_before_a_passage_is_read_in_many_forms(prefix: str) -> None:
    (sentence,) = read(f"{prefix}The boiler broke.")

    assert (sentence.text, sentence.on) == ("The boiler broke.", date(2024, 5, 3))


def test_a_date_inside_a_sentence_is_not_that_of_the_passage() -> None:
    (sentence,) = read("On 2024-05-03 the boiler broke.")

    assert sentence.on is None
    assert sentence.text == "On 2024-05-03 the boiler broke."


def test_a_day_that_does_not_exist_is_no_date() -> None:
    (sentence,) = read("On 2024-02-30: The boiler broke.")

    assert sentence.on is None


def test_the_session_is_cited_with_the_date() -> None:
    (sentence,) = read("On 2024-05-03 (board): The boiler broke.")

    assert (sentence.session, sentence.origin) == ("board", "On 2024-05-03 (board)")


def test_a_line_without_a_stop_is_the_heading() -> None:
    first, second = read("On 2024-05-03: Audit AU-7: the start\nIt began. Jo reads 40 charts.")

    assert first.heading == "Audit AU-7: the start"
    assert (first.text, second.text) == ("It began.", "Jo reads 40 charts.")
    assert first.speaker == ""
    assert "au" in second.context


def test_turns_have_speakers_and_captions_stay_with_their_sentence() -> None:
    found = read("Ann: I went home. It rained! [shares a photo: a wet dog] Bo: Poor you.")

    assert [(each.speaker, each.text) for each in found] == [
        ("Ann", "I went home."),
        ("Ann", "It rained! [shares a photo: a wet dog]"),
        ("Bo", "Poor you."),
    ]


def test_a_passage_found_twice_is_read_once() -> None:
    assert len(read("The boiler broke.", "The boiler broke.", " ")) == 1

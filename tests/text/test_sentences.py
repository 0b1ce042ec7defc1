"""An episode is read sentence by sentence, and each sentence knows where it stood."""

from datetime import datetime

import pytest

from recall_bench.core.scenario import Episode, Turn
from recall_bench.text.sentences import Sentence, read_sentences, split_sentences
from tests.loops import loop_over_rows

LOG = """\
---
type: daily
---

# session: principal

### Greenhouse — heating

The boiler failed at 6:30. Ada called Mr. Finch about it.
He comes on Friday.

What I changed:
- vents closed
- pumps:
  - north pump at 3.5 bar
  - south pump off
- lamps left on

> Ada: “Keep it above 12 degrees.”

# session: family

Rain all day.
"""


def reading(text: str) -> tuple[Sentence, ...]:
    return read_sentences(Episode(id="day-0001", day=1, at=datetime(2024, 1, 1), text=text))


def texts(log: str) -> list[str]:
    return [sentence.text for sentence in reading(log)]


def test_front_matter_and_headings_are_not_sentences() -> None:
    assert texts(LOG) == [
        "The boiler failed at 6:30.",
        "Ada called Mr. Finch about it.",
        "He comes on Friday.",
        "What I changed:",
        "vents closed",
        "pumps:",
        "north pump at 3.5 bar",
        "south pump off",
        "lamps left on",
        "Ada: “Keep it above 12 degrees.”",
        "Rain all day.",
    ]


def test_a_sentence_knows_its_session_and_its_headings() -> None:
    first, *_, last = reading(LOG)

    assert (first.session, first.heading) == ("principal", "Greenhouse — heating")
    assert (last.session, last.heading) == ("family", "")


def test_a_list_entry_is_led_by_the_line_and_the_entries_it_hangs_from() -> None:
    led = {sentence.text: sentence.lead for sentence in reading(LOG)}

    assert led["vents closed"] == "What I changed:"
    assert led["north pump at 3.5 bar"] == "What I changed: pumps:"
    assert led["lamps left on"] == "What I changed:"
    assert led["He comes on Friday."] == ""


def test_a_quoted_sentence_stands_after_its_lead() -> None:
    quoted = {sentence.text: sentence.with_lead for sentence in reading(LOG)}

    assert quoted["south pump off"] == "What I changed: pumps: south pump off"
    assert quoted["Rain all day."] == "Rain all day."


def test_sentences_of_one_paragraph_share_a_block_and_list_entries_do_not() -> None:
    block = {sentence.text: sentence.block for sentence in reading(LOG)}

    assert block["The boiler failed at 6:30."] == block["He comes on Friday."]
    assert block["vents closed"] != block["pumps:"]


def test_a_deeper_heading_keeps_the_one_above_and_an_equal_one_replaces_it() -> None:
    first, second = reading("## North\n### Beds\nWet.\n## South\nDry.")

    assert first.heading == "North — Beds"
    assert second.heading == "South"


def test_table_rows_are_blocks_and_their_rule_is_nothing() -> None:
    assert texts("| bed | crop |\n|---|:--|\n| 1 | leek |") == ["| bed | crop |", "| 1 | leek |"]


def test_code_is_read_line_by_line_and_never_split() -> None:
    assert texts("```\nRun it. Then wait.\n# not a heading\n```\nDone.") == [
        "Run it. Then wait.",
        "# not a heading",
        "Done.",
    ]


def test_a_conversation_is_read_turn_by_turn_with_its_speakers() -> None:
    episode = Episode(
        id="s1",
        day=1,
        at=datetime(2024, 1, 1),
        text="ignored where there are turns",
        turns=(Turn(speaker="Ada", text="Hello. It rains."), Turn(speaker="Bo", text="Still?")),
    )

    assert [(each.with_lead, each.block) for each in read_sentences(episode)] == [
        ("Ada: Hello.", 0),
        ("Ada: It rains.", 0),
        ("Bo: Still?", 1),
    ]


@loop_over_rows("text", ["", "   \n\n", "---\ntype: daily\n---\n", "# session: empty\n"])
def test_nothing_written_is_no_sentence(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    "prose",
    [
        pytest.param("Dr. Oss paid 3.5 euros.", id="title and decimal"),
        pytest.param("J. R. Bell signed for the U.S. Army.", id="initials"),
        pytest.param("The rate, e.g. No. 5, is e.g. Low.", id="abbreviations"),
        pytest.param("It was v1.2. of the plan", id="lower case goes on"),
    ],
)
def test_a_stop_inside_a_sentence_does_not_end_it(prose: str) -> None:
    assert split_sentences(prose) == [prose]


def test_a_stop_may_stand_inside_quotation_marks() -> None:
    assert split_sentences("“Stop.” She left! (Early.) 7 stayed?") == [
        "“Stop.”",
        "She left!",
        "(Early.)",
        "7 stayed?",
    ]

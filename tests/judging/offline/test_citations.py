"""Saying where something is from, or offering more, claims nothing."""

from recall_bench.judging.offline.contents import split_citations
from tests.loops import loop_over_rows


@loop_over_rows(
    ("text", "body"),
    [
        ("On 2025-03-07 (berths): The pump broke.", "The pump broke."),
        ("2025-03-07: The pump broke.", "The pump broke."),
        ("The pump broke. (Source: 2025-03-07; 2025-03-08)", "The pump broke."),
        ("The pump broke [2025-03-07].", "The pump broke ."),
        ("The pump broke (2025-03-07, 2025-03-08).", "The pump broke ."),
        ("The pump broke.\nSources: day 7, day 8", "The pump broke."),
        ("The pump broke (memory/2025-03-07.md).", "The pump broke (memory/ )."),
        ("The pump broke. If you want, I can look for more.", "The pump broke."),
        ("The pump broke (7 March 2025).", "The pump broke ."),
        ("[March 7, 2025] The pump broke.", "The pump broke."),
        ("- 7 March 2025: The pump broke.", "The pump broke."),
        ("The pump broke.\nCORRECTNESS: 3\nLABEL: CORRECT", "The pump broke."),
    ],
)
def test_citations_and_offers_are_cut(text: str, body: str) -> None:
    assert " ".join(split_citations(text)[0].split()) == body


@loop_over_rows(
    "text",
    [
        "The pump broke on 2025-03-07 (a Friday).",
        "It broke between 2025-03-07 and 2025-03-09.",
        "The inspection (moved from 2025-03-07) is off.",
        "It is in plan_2025-03-07.md now.",
    ],
)
def test_a_date_that_is_stated_is_not_a_citation(text: str) -> None:
    assert split_citations(text) == (text, "")


def test_what_was_cut_is_kept_apart() -> None:
    _, cited = split_citations("On 2025-03-07 (berths): It broke. (Source: 2025-03-09)")

    assert "2025-03-07" in cited
    assert "2025-03-09" in cited


def test_marks_for_itself_are_cut_in_whatever_form() -> None:
    body, _ = split_citations('It broke. {"correctness": 3, "completeness": 2, "grounded": 1}')

    assert not any(mark.isdigit() for mark in body)

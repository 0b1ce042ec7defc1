"""Windows, categories, excerpts, replies and quotations, each by itself."""

import json
from collections import Counter
from datetime import date

import pytest

from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.yaml12 import Document
from recall_bench.features.personas.day_log import StoryDay
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.questions.model_questions import read_questions
from recall_bench.features.personas.questions.question_store import render_entry
from recall_bench.features.personas.questions.quotation import locate_quote
from recall_bench.features.personas.questions.story_view import CUT, build_excerpts, divide_room
from recall_bench.features.personas.questions.window import (
    QuestionWindow,
    choose_categories,
    compute_share,
    find_unasked_part,
    list_windows,
)
from tests.loops import loop_over_rows

A = '{"question": "a", "answer": "1"}'
B = '{"question": "b", "answer": "2"}'
DAY = """\
---
type: daily
---

# session: principal

### Tide
High water was **5.5 m** at 07:05, she said: “Especially.” It came
late. Ann paid £14.40 for it.

# session: yard

- High water was 5.5 m at 07:05.
- Tom left.
"""


def spans(told: list[int], interval: int, span: range) -> list[tuple[int, int, int]]:
    return [(w.number, w.first, w.last) for w in list_windows(told, interval, span)]


def test_checkpoints_are_at_every_interval_and_on_the_last_day() -> None:
    assert spans(list(range(1, 17)), 7, range(1, 17)) == [(1, 1, 7), (2, 8, 14), (3, 15, 16)]


def test_windows_without_a_log_are_left_out() -> None:
    assert spans([2, 3, 16], 7, range(1, 17)) == [(1, 1, 7), (3, 15, 16)]


def test_bounds_cut_windows_and_do_not_move_checkpoints() -> None:
    assert spans(list(range(1, 31)), 7, range(10, 19)) == [(2, 10, 14), (3, 15, 18)]


def test_of_a_window_asked_about_in_part_the_rest_is_left() -> None:
    window = QuestionWindow(number=2, first=8, last=14)

    assert find_unasked_part(window, range(1, 15), range(8, 12)) == QuestionWindow(
        number=2, first=12, last=14
    )
    assert find_unasked_part(window, range(1, 15), range(8, 15)) is None
    assert find_unasked_part(window, [8, 9], [8, 9, 10]) is None
    assert find_unasked_part(window, [10, 14], ()) == window


def test_a_short_window_gets_its_share() -> None:
    assert [
        compute_share(QuestionWindow(number=1, first=1, last=last), 12, 7) for last in (7, 2, 1)
    ] == [12, 4, 2]


def test_categories_are_balanced_over_the_story_whatever_becomes_of_windows() -> None:
    counts: Counter[str] = Counter()
    for first in range(1, 700, 7):
        counts.update(
            choose_categories(first, 12, per_days=(12, 7), has_groups=True, has_past=True)
        )
    counts["negative-recall"] *= 2

    assert set(counts) == set(CATEGORIES[:-1])
    assert max(counts.values()) - min(counts.values()) <= 2


def test_a_window_asked_in_two_parts_gets_the_categories_of_the_whole() -> None:
    def of(first: int, amount: int) -> tuple[str, ...]:
        return choose_categories(first, amount, per_days=(14, 7), has_groups=True, has_past=True)

    assert of(8, 14) == of(8, 8) + of(12, 6)


def test_nothing_is_asked_of_groups_or_of_the_past_where_there_is_none() -> None:
    found = choose_categories(1, 40, per_days=(40, 7), has_groups=False, has_past=False)

    assert not {"group-session-attribution", "recency-bias-resistance"} & set(found)


@loop_over_rows(
    "text",
    [
        f"[{A}, {B}]",
        f'{{"questions": [{A}, {B}]}}',
        f'{{"notes": [], "questions": [{A}, {B}], "left_out": [3]}}',
        f"Here are [2] of them:\n```json\n[{A}, {B}]\n```\nGood luck.",
        f'[{A}, {B}, {{"question": "c", "evidence": [{{"day": 3}}, {{"d',
        f'{{"questions": [{A}\n{B}, {{"question": c}}]}}',
    ],
)
def test_whole_questions_are_read_from_whatever_is_around_or_behind_them(text: str) -> None:
    found = read_questions(text)

    assert not isinstance(found, RejectedReply)
    assert [each["question"] for each in found] == ["a", "b"]


@loop_over_rows(
    "text",
    [
        "",
        "Sorry.",
        '["a", "b"]',
        '[{"question": "a", "evidence": [{"day": 3, "quote": "x"}, {"d',
        '{"questions": "none"}',
        '{"error": "overloaded", "details": []}',
    ],
)
def test_a_reply_without_a_whole_question_is_rejected(text: str) -> None:
    found = read_questions(text)

    assert isinstance(found, RejectedReply)
    assert "it holds no list of questions" in found.problems[0]


@loop_over_rows(
    "text",
    [
        '[{"role": "user", "content": "Hi"}]',
        '{"questions": [{}, {"question": " ", "answer": "a"}]}',
        '{"questions": [{"question": "a"}, {"answer": "b"}]}',
        '{"questions": [{"question": ["a"], "answer": 3}]}',
    ],
)
def test_a_reply_in_which_nothing_is_a_question_is_rejected(text: str) -> None:
    found = read_questions(text)

    assert isinstance(found, RejectedReply)
    assert "nothing in its list is a question" in found.problems[0]


def test_what_is_no_question_beside_one_that_is_goes_on_to_be_noted() -> None:
    found = read_questions(f'{{"questions": [{{"question": "x"}}, {A}]}}')

    assert not isinstance(found, RejectedReply)
    assert [each["question"] for each in found] == ["x", "a"]


@pytest.mark.parametrize("text", ['{"questions": []}', "[]", "```json\n[]\n```"])
def test_an_empty_list_is_an_answer(text: str) -> None:
    assert read_questions(text) == ()


def quoted(quote: str, session: str | None = None) -> list[tuple[str | None, str]]:
    found = locate_quote(DAY, quote, session=session)
    return [(place.session, DAY[place.start : place.end]) for place in found]


def test_a_quotation_is_found_whatever_its_typography() -> None:
    sentence = "High water was **5.5 m** at 07:05, she said: “Especially.”"

    assert quoted('water was 5.5 m at 07:05, she said: "Especially')[0][1] == sentence
    assert quoted("It came late")[0][1].endswith("It came\nlate.")


def test_a_quotation_is_looked_for_first_in_the_session_it_names() -> None:
    assert quoted("High water was 5.5 m at 07:05", "yard")[0][0] == "yard"
    assert quoted("High water was 5.5 m at 07:05", "attic")[0][0] == "principal"
    hidden = locate_quote(DAY, "Tom left", is_visible=lambda session: session != "yard")
    assert hidden == ()


def test_pieces_around_an_ellipsis_are_found_in_their_order() -> None:
    assert len(quoted("High water was … Ann paid £14.40")) == 2
    assert quoted("Ann paid £14.40 … High water was") == []


@loop_over_rows("quote", ["4.40 for it", "water was 5", "High water is 5.5 m", "…", ""])
def test_half_words_and_other_words_are_not_found(quote: str) -> None:
    assert quoted(quote) == []


def day(number: int, words: int, session: str = "yard") -> StoryDay:
    lines = "\n".join(f"line {number}-{n}" for n in range(words))
    return StoryDay(number, date(2025, 3, number), f"# session: {session}\n\n{lines}\n")


def test_text_that_fits_is_shown_whole_and_other_sessions_are_not() -> None:
    days = [day(1, 3), day(2, 3, "bank")]

    shown = build_excerpts(days, 1000, lambda session: session == "yard")

    assert shown == {
        "day 1, Saturday, 1 March 2025": "# session: yard\n\nline 1-0\nline 1-1\nline 1-2"
    }


def test_too_much_text_is_cut_evenly_after_whole_lines() -> None:
    days = [day(1, 3), day(2, 400), day(3, 800)]

    shown = list(build_excerpts(days, 500, lambda _: True).values())

    assert CUT not in shown[0]
    assert abs(len(shown[1]) - len(shown[2])) < 20
    assert sum(map(len, shown)) <= 500 * 4 + 2 * len(CUT)
    assert all(text.splitlines()[-2].count("-") == 1 for text in shown[1:])


def test_earlier_days_take_what_the_window_leaves() -> None:
    full = build_excerpts([day(9, 900)], 500, lambda _: True, earlier=[day(1, 900)])

    old, new = full.values()
    assert 3 * len(old) - 80 < len(new) < 3.4 * len(old)


def test_shares_fill_the_room_and_no_more() -> None:
    assert divide_room([10, 100, 100], 110) == [10, 50, 50]
    assert divide_room([], 10) == []
    assert divide_room([5, 5], 0) == [0, 0]


def test_an_entry_is_the_same_text_in_whatever_order_its_fields_come() -> None:
    entry = {"changes_on": 4, "question": "A: 'b'?", "id": "x", "evidence": [{"day": 1}]}
    text = render_entry(entry)

    assert text == render_entry(dict(sorted(entry.items())))
    assert text.startswith('- id: "x"\n  question: ')
    assert json.loads(json.dumps(Document("x", render_entry({"id": "a: #b"})).content)) == [
        {"id": "a: #b"}
    ]

"""A repaired file differs from the original in the repaired fields and in nothing else."""

import json
from collections.abc import Mapping

import pytest

from recall_bench.core.errors import Malformed
from recall_bench.core.yaml12 import Document
from recall_bench.features.personas.checks.check_result import QuestionRepair
from recall_bench.features.personas.checks.repair import rewrite_questions
from tests.loops import loop_over_rows

BLOCK = """\
# kept by hand
- id: q1   # the first
  question: When is it — “now”?
  relevant_days:
    - 1
    - 2
  mood: {blue: true}

# between
- id: q2
  question: |
    A text
    of lines
  relevant_days: [3]  # a day
  answer: 'so'
-
  id: q3
  answer: last
"""


def repair(**changes: object) -> QuestionRepair:
    return QuestionRepair(changes=changes, why="")


GONE = QuestionRepair(changes={}, why="", removes=True)


@loop_over_rows(
    ("place", "made", "own"),
    [
        (0, repair(relevant_days=[2]), BLOCK[BLOCK.index("- id: q1") : BLOCK.index("\n# between")]),
        (1, repair(answer=None), BLOCK[BLOCK.index("- id: q2") : BLOCK.index("-\n  id: q3")]),
        (2, repair(after=1), BLOCK[BLOCK.index("-\n  id: q3") :]),
    ],
)
def test_one_entry_changes_and_every_other_byte_stays(
    place: int, made: QuestionRepair, own: str
) -> None:
    before, _, after = BLOCK.partition(own)
    row = Document("q.yaml", BLOCK).content[place]  # type: ignore[index]
    wanted = {key: part for key, part in {**row, **made.changes}.items() if part is not None}

    rewritten = rewrite_questions("q.yaml", BLOCK, {place: made})

    assert rewritten.startswith(before)
    assert rewritten.endswith(after)
    assert _content(BLOCK, {place: made})[place] == wanted


def test_comments_around_a_removed_entry_stay() -> None:
    left = rewrite_questions("q.yaml", BLOCK, {0: GONE})

    assert left.startswith("# kept by hand\n\n# between\n- id: q2\n")


def test_line_ends_stay_as_they_were() -> None:
    source = BLOCK.replace("\n", "\r\n")

    changed = rewrite_questions(
        "q.yaml", source, {0: repair(after=1), 1: repair(relevant_days=[4])}
    )

    assert changed.replace("\r\n", "") == changed.replace("\r\n", "\n").replace("\n", "")
    assert "after: 1\r\n" in changed


ROWS: list[dict[str, object]] = [{"id": "a", "x": 1}, {"id": "b", "x": [1, 2]}, {"id": "c"}]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_json_is_changed_and_cut_too(indent: int | None, place: int) -> None:
    source = json.dumps(ROWS, indent=indent)
    wanted = [*ROWS[:place], {**ROWS[place], "x": None, "y": "é"}, *ROWS[place + 1 :]]
    del wanted[place]["x"]

    assert _content(source, {place: repair(x=None, y="é")}) == wanted
    assert _content(source, {place: GONE}) == [*ROWS[:place], *ROWS[place + 1 :]]


def test_the_first_key_of_an_entry_can_go() -> None:
    wanted = _content(BLOCK, {1: repair(id=None)})

    assert wanted[1] == {"question": "A text\nof lines\n", "relevant_days": [3], "answer": "so"}


def test_entries_that_hang_together_are_refused_and_not_broken() -> None:
    tied = "- id: q1\n  days: &d [1]\n- id: q2\n  days: *d\n"

    with pytest.raises(Malformed, match=r"q\.yaml: uses anchors"):
        rewrite_questions("q.yaml", tied, {0: repair(days=[2])})


def _content(source: str, repairs: Mapping[int, QuestionRepair]) -> list[object]:
    content = Document("q.yaml", rewrite_questions("q.yaml", source, repairs)).content
    assert isinstance(content, list)
    return content

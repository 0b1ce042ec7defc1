"""A result file in each of its layouts: what it says, and that nothing in it is lost."""

from datetime import datetime

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.selection.result_file import (
    PresearchResult,
    ResultEntry,
    ResultForm,
    SuiteResult,
    compute_percentages,
    write_result,
)
from recall_bench.features.selection.selection_scores import SelectionOutcome
from tests.features.selection.result_entries import make_entry
from tests.features.selection.result_parser import parse_result
from tests.loops import loop_over_rows

A, B, C = "memory/a.md", "memory/b.md", "memory/c.md"
DATE = datetime.fromisoformat("2026-03-01T08:15:00+01:00")

RESULT = SuiteResult(
    date=DATE,
    tests=5,
    presearch=True,
    entries=(
        make_entry(
            "t1.bench",
            expected=(A, B),
            recalled=(B, A),
            prompt="Which kiln?\n\n# the blue one",
            presearch=PresearchResult(names=(A, B), total=9),
        ),
        make_entry(
            "t2.bench",
            expected=(),
            recalled=(C,),
            prompt="ok",
            presearch=PresearchResult(names=(), total=9),
        ),
        make_entry(
            "t3.bench",
            expected=(A, B),
            recalled=(C, B),
            prompt="And then?",
            presearch=PresearchResult(names=(B,), total=9),
        ),
        ResultEntry(
            name="t4.bench", expected=(A, B), outcome=SelectionOutcome.ERROR, problem="it hung"
        ),
        ResultEntry(name="t5.bench", expected=(), outcome=SelectionOutcome.SKIP, prompt=""),
    ),
    headers=(("Selector", "keyword 1"),),
)

AGENT = """\
# Recall Benchmark Results
# Date: 2026-03-01T08:15:00+01:00
# Tests: 5

[summary]
total_tests=5
perfect=1 (20%)
overrecall=1 (20%)
underrecall=1 (20%)
total_memories_overrecalled=2
total_memories_underrecalled=1
total_misrecalled=3

[tests]

--- t1.bench ---
Expected (2):
  memory/a.md
  memory/b.md
Recalled (2):
  memory/b.md
  memory/a.md
Result: PERFECT

--- t2.bench ---
Expected (0):
Recalled (1):
  memory/c.md
Result: OVERRECALL
Extra (1):
  memory/c.md

--- t3.bench ---
Expected (2):
  memory/a.md
  memory/b.md
Recalled (2):
  memory/c.md
  memory/b.md
Result: UNDERRECALL
Missing (1):
  memory/a.md
Extra (1):
  memory/c.md

--- t4.bench ---
Expected: memory/a.md memory/b.md
Recalled: ERROR
Result: ERROR
"""

KIT = (
    AGENT.replace("# Tests: 5\n", "# Tests: 5\n# Presearch: on\n")
    .replace(
        "t1.bench ---\n",
        "t1.bench ---\nWhich kiln?\n\n# the blue one\nPresearch (2/9):\n"
        "  memory/a.md\n  memory/b.md\n",
    )
    .replace("t2.bench ---\n", "t2.bench ---\nok\nPresearch (0/9):\n")
    .replace("t3.bench ---\n", "t3.bench ---\nAnd then?\nPresearch (1/9):\n  memory/b.md\n")
)

RIGHT = """\
# Recall Benchmark Results
# Date: 2026-03-01T08:15:00+01:00
# Tests: 5
# Presearch: on
# Selector: keyword 1

[summary]
total_tests=5
perfect=1 (33.4%)
overrecall=1 (33.3%)
underrecall=1 (33.3%)
error=1
skip=1
total_memories_overrecalled=2
total_memories_underrecalled=1
total_misrecalled=3

[tests]

--- t1.bench ---
Prompt (3):
  Which kiln?

  # the blue one
Presearch (2/9):
  memory/a.md
  memory/b.md
Expected (2):
  memory/a.md
  memory/b.md
Recalled (2):
  memory/b.md
  memory/a.md
Result: PERFECT

--- t2.bench ---
Prompt (1):
  ok
Presearch (0/9):
Expected (0):
Recalled (1):
  memory/c.md
Result: OVERRECALL
Extra (1):
  memory/c.md

--- t3.bench ---
Prompt (1):
  And then?
Presearch (1/9):
  memory/b.md
Expected (2):
  memory/a.md
  memory/b.md
Recalled (2):
  memory/c.md
  memory/b.md
Result: UNDERRECALL
Missing (1):
  memory/a.md
Extra (1):
  memory/c.md

--- t4.bench ---
Expected (2):
  memory/a.md
  memory/b.md
Result: ERROR
Problem: it hung

--- t5.bench ---
Prompt (0):
Expected (0):
Result: SKIP
"""

FORMS = [
    pytest.param(AGENT, ResultForm.AGENT, id="agent"),
    pytest.param(KIT, ResultForm.KIT, id="kit"),
    pytest.param(RIGHT, ResultForm.RIGHT, id="right"),
]


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_each_layout_is_written_to_the_byte(text: str, form: ResultForm) -> None:
    assert write_result(RESULT, form=form) == text


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_what_was_read_is_written_again(text: str, form: ResultForm) -> None:
    assert write_result(parse_result(text, "a.result"), form=form) == text


def test_our_own_layout_tells_everything() -> None:
    assert parse_result(RIGHT, "a.result") == RESULT


def test_the_earlier_layout_tells_neither_prompt_nor_presearch() -> None:
    result = parse_result(AGENT, "a.result")

    assert result.presearch is None
    assert {(entry.prompt, entry.presearch) for entry in result.entries} == {(None, None)}


def test_the_later_layout_tells_both() -> None:
    result = parse_result(KIT, "a.result")

    assert result.presearch is True
    assert result.entries[:3] == RESULT.entries[:3]


def test_an_error_keeps_what_was_expected() -> None:
    entry = parse_result(AGENT, "a.result").entries[3]

    assert (entry.expected, entry.recalled, entry.outcome) == ((A, B), None, SelectionOutcome.ERROR)


def test_an_error_where_nothing_was_expected_ends_in_a_blank() -> None:
    entry = ResultEntry(name="t.bench", expected=(), outcome=SelectionOutcome.ERROR)
    text = write_result(SuiteResult(date=DATE, tests=1, entries=(entry,)), form=ResultForm.AGENT)

    assert "Expected: \nRecalled: ERROR\n" in text
    assert parse_result(text, "a.result").entries == (entry,)


def test_names_with_blanks_survive_an_error() -> None:
    names = ("memory/two words.md", A)
    entry = ResultEntry(name="t.bench", expected=names, outcome=SelectionOutcome.ERROR)
    text = write_result(SuiteResult(date=DATE, tests=1, entries=(entry,)), form=ResultForm.KIT)

    assert parse_result(text, "a.result").entries[0].expected == names


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_tests_without_an_entry_were_skipped(text: str, form: ResultForm) -> None:
    assert parse_result(text, "a.result").counts == dict.fromkeys(SelectionOutcome, 1)


def test_the_known_layouts_floor_and_keep_errors_in_the_denominator() -> None:
    entries = tuple(
        make_entry(f"t{n}.bench", expected=(A,), recalled=(A,) if n < 2 else ()) for n in range(3)
    )
    text = write_result(SuiteResult(date=DATE, tests=3, entries=entries), form=ResultForm.AGENT)

    assert "perfect=2 (66%)\noverrecall=0 (0%)\nunderrecall=1 (33%)\n" in text


def test_our_percentages_leave_out_what_has_no_class() -> None:
    entries = (
        make_entry("t1.bench", expected=(A,), recalled=(A,)),
        ResultEntry(name="t2.bench", expected=(A,), outcome=SelectionOutcome.ERROR),
    )
    text = write_result(SuiteResult(date=DATE, tests=3, entries=entries))

    assert "perfect=1 (100.0%)\n" in text
    assert "error=1\nskip=1\n" in text


def test_of_nothing_there_are_no_percentages() -> None:
    empty = SuiteResult(date=DATE, tests=0, entries=())

    assert "perfect=0\noverrecall=0\nunderrecall=0\nerror=0" in write_result(empty)
    assert parse_result(write_result(empty), "a.result") == empty
    assert "perfect=0 (0%)" in write_result(empty, form=ResultForm.AGENT)


@loop_over_rows(
    ("counts", "shares"),
    [
        ((1, 1, 1), ["33.4", "33.3", "33.3"]),
        ((2, 1, 0), ["66.7", "33.3", "0.0"]),
        ((9, 11, 0), ["45.0", "55.0", "0.0"]),
        ((14, 9, 1), ["58.3", "37.5", "4.2"]),
        ((0, 0, 0), []),
    ],
)
def test_hand_worked_percentages(counts: tuple[int, ...], shares: list[str]) -> None:
    assert compute_percentages(counts) == shares


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Expected (1):\n  memory/a.md", id="a list"),
        pytest.param("a\n\n--- t9.bench ---\nb", id="a test's heading"),
        pytest.param("Expected (0):\nRecalled (0):\nResult: PERFECT\nwhy?", id="an entry and more"),
        pytest.param(
            "Expected (0):\nRecalled (0):\nResult: PERFECT\n--- t9.bench ---", id="without a gap"
        ),
        pytest.param("Presearch (0/9):", id="a presearch"),
        pytest.param("[tests]\n\n[summary]", id="sections"),
        pytest.param("a\n\n", id="blank lines at its end"),
        pytest.param("\n\na", id="and at its beginning"),
        pytest.param("Prompt (7):", id="a marked prompt"),
        pytest.param("a\r\nb\x85c\u2028", id="other line ends"),
    ],
)
@pytest.mark.parametrize("presearch", [True, False])
@pytest.mark.parametrize("form", [ResultForm.KIT, ResultForm.RIGHT])
def test_a_prompt_that_looks_like_a_result_is_a_prompt(
    prompt: str, presearch: bool, form: ResultForm
) -> None:
    found = PresearchResult(names=(A,), total=9) if presearch else None
    entry = make_entry("t1.bench", expected=(A,), recalled=(A,), prompt=prompt, presearch=found)
    result = SuiteResult(
        date=DATE, tests=2, presearch=presearch, entries=(entry, entry.replace(name="t2.bench"))
    )

    assert parse_result(write_result(result, form=form), "a.result") == result


def test_only_our_own_layout_can_quote_a_whole_result() -> None:
    entry = make_entry("t1.bench", expected=(A,), recalled=(A,), prompt=AGENT)
    result = SuiteResult(date=DATE, tests=1, presearch=False, entries=(entry,))

    assert parse_result(write_result(result), "a.result") == result
    with pytest.raises(Malformed, match="entries for 1 tests"):
        parse_result(write_result(result, form=ResultForm.KIT), "a.result")


def test_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    assert parse_result("\ufeff" + RIGHT.replace("\n", "\r\n"), "a.result") == RESULT


@loop_over_rows(
    ("old", "new", "problem"),
    [
        ("# Recall Benchmark Results", "# Results", "line 1: is no result file"),
        ("# Date: 2026-03-01T08:15:00+01:00\n", "", "# Date:"),
        ("08:15:00+01:00", "08:15:00", "with its zone"),
        ("# Presearch: on", "# Presearch: maybe", "on or off"),
        ("# Tests: 5", "# Tests: 6", "the same number"),
        ("[summary]", "", r"no \[summary\]"),
        ("[tests]", "", r"no \[tests\]"),
        ("perfect=1 (20%)", "perfect=2 (40%)", "perfect=2, and its entries make 1"),
        ("overrecalled=2", "overrecalled=3", "total_memories_overrecalled=3"),
        ("total_misrecalled=3", "total_misrecalled: 3", "line 13: .* is not name=count"),
        ("Result: PERFECT", "Result: FINE", "breaks off|edited"),
        ("Result: OVERRECALL", "Result: PERFECT", "t2.bench do not make its result"),
        ("Missing (1):\n  memory/a.md", "Missing (1):\n  memory/b.md", "t3.bench do not make"),
        ("[tests]\n", "[tests]\nhello\n", "line 16: a test begins with"),
        ("Recalled: ERROR\nResult: ERROR\n", "", "t4.bench breaks off"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(old: str, new: str, problem: str) -> None:
    assert old in KIT

    with pytest.raises(Malformed, match=problem):
        parse_result(KIT.replace(old, new, 1), "a.result")


def test_a_file_that_was_cut_between_two_entries_is_refused() -> None:
    with pytest.raises(Malformed, match="cut short"):
        parse_result(KIT.partition("\n--- t3.bench")[0], "a.result")


def test_a_file_that_was_cut_within_a_list_is_refused() -> None:
    text = AGENT.partition("\n--- t4.bench")[0]

    with pytest.raises(Malformed, match=r"t3\.bench breaks off"):
        parse_result(text.removesuffix("(1):\n  memory/c.md\n") + "(2):\n  memory/c.md", "a.result")


@loop_over_rows(
    "result",
    [
        RESULT.replace(tests=4),
        RESULT.replace(headers=(("Tests", "9"),)),
        RESULT.replace(headers=(("Selector", "two\nlines"),)),
        RESULT.replace(entries=(make_entry("a\nb", expected=(), recalled=()),)),
        RESULT.replace(entries=(make_entry("t", expected=(), recalled=("a\nb",)),)),
    ],
)
def test_what_no_file_can_hold_is_not_written(result: SuiteResult) -> None:
    with pytest.raises(UsageError):
        write_result(result)

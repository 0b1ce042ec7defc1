"""A test file is read for what it says, and written as it was, to the byte."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.selection.bench_file import (
    BenchTest,
    make_headers,
    parse_bench,
    write_bench,
)
from tests.loops import loop_over_rows

CURRENT = """\
# Recall Benchmark Test
# Generated: 2026-03-01T08:15:00+01:00
# Picked: 2
# Expected: 1

[expected]
memory/kiln-schedule.md

[prompt]
When do we fire the blue glaze?
"""
OLDER = """\
# Recall Benchmark Test
# Generated: 2026-02-11T19:02:44+01:00
# Strength: loosely
# Memory count: 2

[expected]
memory/kiln-schedule.md
memory/glaze-recipes.md

[prompt-data]
strength=1

[prompt]
The shelf looks empty.
"""
NO_RECALL = CURRENT.replace("memory/kiln-schedule.md\n", "").replace("ted: 1", "ted: 0")


def test_a_current_file_tells_its_headers_memories_and_prompt() -> None:
    assert parse_bench(CURRENT, "a.bench") == BenchTest(
        expected=("memory/kiln-schedule.md",),
        prompt="When do we fire the blue glaze?",
        headers=(("Generated", "2026-03-01T08:15:00+01:00"), ("Picked", "2"), ("Expected", "1")),
    )


def test_an_older_file_tells_its_strength_apart_from_its_memories() -> None:
    test = parse_bench(OLDER, "a.bench")

    assert test.expected == ("memory/kiln-schedule.md", "memory/glaze-recipes.md")
    assert test.prompt_data == (("strength", "1"),)
    assert (test.find_header("strength"), test.find_header("Memory count")) == ("loosely", "2")


def test_nothing_expected_is_a_test_of_its_own() -> None:
    assert parse_bench(NO_RECALL, "a.bench").expected == ()


def test_two_hashes_are_as_good_as_one() -> None:
    double = CURRENT.replace("# ", "## ")

    assert parse_bench(double, "a.bench").headers == parse_bench(CURRENT, "a.bench").headers
    assert write_bench(parse_bench(double, "a.bench")) == double


def test_a_comment_that_is_no_header_is_kept_and_means_nothing() -> None:
    text = CURRENT.replace("[expected]\n", "# see http://localhost\n[expected]\n# maybe: more\n")
    test = parse_bench(text, "a.bench")

    assert test.headers == parse_bench(CURRENT, "a.bench").headers
    assert test.expected == ("memory/kiln-schedule.md",)
    assert write_bench(test) == text


def test_an_absent_header_is_none() -> None:
    assert parse_bench(CURRENT, "a.bench").find_header("Corpus") is None


@pytest.mark.parametrize(
    ("rest", "prompt"),
    [
        pytest.param("[prompt]\n# not a comment\nx\n", "# not a comment\nx", id="hash lines"),
        pytest.param("[prompt]\na\n[expected]\nb\n", "a\n[expected]\nb", id="a known section"),
        pytest.param("[prompt]\n[prompt]\n[foo]\n", "[prompt]\n[foo]", id="the first one wins"),
        pytest.param("[prompt]\n\n\na\n", "\n\na", id="leading blank lines"),
        pytest.param("[prompt]\na\n\n\n", "a\n\n", id="trailing blank lines"),
        pytest.param("[prompt]\n  a  \n", "  a  ", id="blanks around"),
        pytest.param("[prompt]\na", "a", id="no final line end"),
        pytest.param("[prompt]\n", "", id="empty"),
        pytest.param("[prompt]", "", id="empty without line end"),
        pytest.param("[prompt]\n\n", "", id="one blank line"),
        pytest.param("[prompt]  \na\n", "a", id="blanks after the section"),
        pytest.param("[prompt]\r\na\r\nb\r\n", "a\nb", id="CR LF"),
        pytest.param("[prompt]\r\na\nb\r\n", "a\nb", id="mixed line ends"),
        pytest.param("[prompt]\na\r\nb\n", "a\r\nb", id="a CR of the prompt's own"),
        pytest.param("[prompt]\na\x85b\u2028c\x0cd\n", "a\x85b\u2028c\x0cd", id="other breaks"),
        pytest.param("[prompt]\nÄ 🏺 漢字\n", "Ä 🏺 漢字", id="unicode"),
    ],
)
def test_everything_after_the_first_prompt_line_is_the_prompt(rest: str, prompt: str) -> None:
    text = f"[expected]\nmemory/a.md\n\n{rest}"
    test = parse_bench(text, "a.bench")

    assert (test.prompt, test.expected) == (prompt, ("memory/a.md",))
    assert write_bench(test) == text


@pytest.mark.parametrize("text", [CURRENT, OLDER, NO_RECALL])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_change_the_file_and_not_the_test(
    text: str, bom: str
) -> None:
    dressed = bom + text.replace("\n", "\r\n")
    test = parse_bench(dressed, "a.bench")

    assert test.replace(as_written=None) == parse_bench(text, "a.bench")
    assert write_bench(test) == dressed


def test_a_changed_test_is_written_anew() -> None:
    test = parse_bench(CURRENT.replace("\n", "\r\n"), "a.bench").replace(prompt="And the green?")

    assert write_bench(test) == CURRENT.replace("When do we fire the blue glaze?", "And the green?")


@loop_over_rows(
    ("text", "line", "problem"),
    [
        ("[expected]\nmemory/a.md\n", None, r"no \[prompt\]"),
        ("", None, r"no \[prompt\]"),
        ("# x\n\n[prompt]\nhello\n[expected]\n", 3, r"before any \[expected\]"),
        ("[expected]\nmemory/a.md\nthe cat\n[prompt]\n", 3, r"memory/<name>\.md"),
        ("[expected]\nmemory/.md\n[prompt]\n", 2, "names no file"),
        ("[expected]\nmemory/../a.md\n[prompt]\n", 2, "names no file"),
        ("[expected]\nmemory.md\n[prompt]\n", 2, r"memory/<name>\.md"),
        ("[expected]\nmemory/a\x07.md\n[prompt]\n", 2, "control character"),
        ("[expected]\n\nmemory/a.md\nmemory/a.md \n[prompt]\n", 4, "twice"),
        ("[expected]\n[expected]\n[prompt]\n", 2, "second time"),
        ("[expected]\n[tags]\n[prompt]\n", 2, r"no section \[tags\]"),
        ("hello\n[expected]\n[prompt]\n", 1, "before any section"),
        ("[expected]\n[prompt-data]\nstrong\n[prompt]\n", 3, "key=value"),
    ],
)
def test_a_file_that_is_no_test_is_refused_by_line(
    text: str, line: int | None, problem: str
) -> None:
    where = "a.bench" if line is None else f"a.bench, line {line}"

    with pytest.raises(Malformed, match=problem) as caught:
        parse_bench(text, "a.bench")

    assert str(caught.value).startswith(f"{where}: ")


@loop_over_rows(
    "test",
    [
        BenchTest(expected=("notes.md",), prompt=""),
        BenchTest(expected=("memory/a.md", "memory/a.md"), prompt=""),
        BenchTest(expected=("memory/a\nb.md",), prompt=""),
        BenchTest(expected=(), prompt="", headers=(("Model", "two\nlines"),)),
        BenchTest(expected=(), prompt="", headers=(("a:b", "c"),)),
        BenchTest(expected=(), prompt="", headers=(("", "c"),)),
        BenchTest(expected=(), prompt="", prompt_data=(("[a", "b]"),)),
        BenchTest(expected=(), prompt="", prompt_data=(("", "b"),)),
    ],
)
def test_what_no_file_can_hold_is_not_written(test: BenchTest) -> None:
    with pytest.raises(UsageError):
        write_bench(test)


def test_an_empty_header_leaves_no_blank_behind() -> None:
    text = write_bench(BenchTest(expected=(), prompt="x", headers=(("Note", ""),)))

    assert text.startswith("# Recall Benchmark Test\n# Note:\n\n")


def test_the_headers_we_make_say_how_the_test_came_about() -> None:
    headers = make_headers(
        generated=datetime(2026, 4, 2, 6, 30, 0, 99, tzinfo=UTC),
        picked=3,
        expected=0,
        corpus="ab12",
        seed=0,
        pool="all",
    )

    assert headers == (
        ("Generated", "2026-04-02T06:30:00+00:00"),
        ("Picked", "3"),
        ("Expected", "0"),
        ("Corpus", "ab12"),
        ("Seed", "0"),
        ("Pool", "all"),
    )


_HOSTILE = st.sampled_from(
    "# x|## Picked: 3|[expected]|[prompt]|[prompt-data]|[foo]|memory/a.md||  |a b |\r|é🏺".split(
        "|"
    )
)
_LINE = st.one_of(_HOSTILE, st.text(max_size=12))
PROMPTS = st.lists(_LINE, max_size=6).map("\n".join)
_STEM = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
NAMES = (
    _STEM.map(lambda stem: f"memory/{stem}.md")
    .filter(lambda name: not {"", ".", ".."} & set(name[7:-3].split("/")))
    .map(str)
)
_VALUE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=12)
TESTS = st.builds(
    BenchTest,
    expected=st.lists(NAMES, max_size=4, unique=True).map(tuple),
    prompt=PROMPTS,
    headers=st.lists(
        st.tuples(st.from_regex(r"[A-Za-z]([\w -]*\w)?", fullmatch=True), _VALUE.map(str.strip)),
        max_size=3,
    ).map(tuple),
    prompt_data=st.sampled_from([(), (("strength", "3"),), (("a", ""), ("b", "c=d"))]),
)


@given(TESTS)
def test_a_test_made_by_hand_is_read_as_it_was_written(test: BenchTest) -> None:
    assert parse_bench(write_bench(test), "a.bench") == test


@given(
    TESTS,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["# ", "## ", "#"]),
    st.booleans(),
)
def test_any_readable_file_is_written_as_it_was(
    test: BenchTest, end: str, bom: str, hashes: str, is_cut: bool
) -> None:
    text = bom + write_bench(test).replace("# ", hashes).replace("\n", end)
    text = text.removesuffix(end) if is_cut else text

    assert write_bench(parse_bench(text, "a.bench")) == text


@given(st.lists(_LINE, max_size=3), PROMPTS)
def test_any_text_is_either_refused_or_written_as_it_was(head: list[str], prompt: str) -> None:
    text = "\n".join(["[expected]", *head, "[prompt]", prompt])
    try:
        test = parse_bench(text, "a.bench")
    except Malformed:
        return

    assert write_bench(test) == text

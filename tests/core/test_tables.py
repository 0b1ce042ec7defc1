"""One table, set in columns for a terminal or as Markdown, that no cell can break."""

from recall_bench.core.plain_text import (
    Column,
    Table,
    escape_markdown,
    make_table,
    render_markdown,
    render_text,
)
from tests.loops import loop_over_rows

TABLE = make_table(("system", "score", "why"), [("bm25", "2.19", "a"), ("x", "10", "")], text=(2,))


def test_figures_stand_at_the_right_and_text_at_the_left() -> None:
    assert render_text(TABLE) == [
        "system  score  why",
        "bm25     2.19  a",
        "x          10",
    ]


def test_a_column_is_as_wide_as_it_has_to_be_and_as_wanted_at_least() -> None:
    table = Table([Column("n", 4), Column("a", 2)], [("1", "longer")], gap="")

    assert render_text(table, rule="-" * 10) == ["   n      a", "-" * 10, "   1 longer"]


def test_markdown_says_how_columns_are_aligned() -> None:
    assert render_markdown(TABLE).splitlines() == [
        "| system | score | why |",
        "|---|--:|---|",
        "| bm25 | 2.19 | a |",
        "| x | 10 |  |",
    ]


def test_neither_a_bar_nor_a_line_break_ends_a_cell() -> None:
    table = make_table(("a|b",), [("a|b\nc",), ("d\\|e",)])

    assert render_markdown(table).splitlines() == [
        "| a\\|b |",
        "|---|",
        "| a\\|b c |",
        "| d\\\\\\|e |",
    ]
    marked = make_table(("",), [("**a|b**\nc",), ("`d\\|e`",)])
    assert render_markdown(marked, has_markup=True).splitlines()[2:] == [
        "| **a\\|b** c |",
        "| `d\\|e` |",
    ]


def test_a_control_character_steers_no_terminal() -> None:
    assert render_text(make_table(("name",), [("a\x1b[31m",)]))[1] == "a [31m"


@loop_over_rows(
    ("text", "escaped"),
    [
        ("*a* [b](c)", "\\*a\\* \\[b\\](c)"),
        ("<b>a</b>", "\\<b>a\\</b>"),
        ("> a", "\\> a"),
        ("__a_b__", "\\_\\_a_b\\_\\_"),
        ("a\\*", "a\\\\\\*"),
        ("a\n\n# b", "a # b"),
    ],
)
def test_marks_mean_nothing_in_escaped_text(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@loop_over_rows(
    "text",
    ["er-physician", "bm25", "snake_case", "as in `compare`", "p < 0.001", "a -> b", "2 ~ 3"],
)
def test_what_marks_nothing_is_not_escaped(text: str) -> None:
    assert escape_markdown(text) == text

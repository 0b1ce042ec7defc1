"""Words are escaped wherever they are put; only markup made here is markup."""

from recall_bench.reporting.formats import format_sentence
from recall_bench.reporting.pages.markup import (
    escape_text,
    join_markup,
    make_element,
)


def test_plain_words_are_escaped_and_markup_is_kept() -> None:
    inner = make_element("b", "<i>")

    assert make_element("p", "a & b ", inner) == "<p>a &amp; b <b>&lt;i&gt;</b></p>"


def test_an_attribute_cannot_be_left_by_a_quote() -> None:
    assert make_element("p", title="\" onclick='x'") == (
        '<p title="&quot; onclick=&#x27;x&#x27;"></p>'
    )


def test_names_of_attributes_are_spelled_for_html() -> None:
    assert make_element("p", class_="x", aria_label="y", hidden=True, id=None) == (
        '<p class="x" aria-label="y" hidden></p>'
    )


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert escape_text("a\x00b\x1bc\n") == "a\ufffdb\ufffdc\n"


def test_joining_escapes_what_is_not_markup() -> None:
    assert join_markup("<", make_element("br")) == "&lt;<br>"


def test_words_become_a_sentence_once() -> None:
    assert format_sentence("it holds") == "It holds."
    assert format_sentence("It holds.") == "It holds."
    assert format_sentence("") == "."

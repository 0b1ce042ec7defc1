"""Whatever a memory's file looks like, it is read, and has one line that stands for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.features.selection.memory_file import MemoryFile, read_memory

TAGGED = """\
<memory-metadata>
{
  "frequency": 4,
  "created_session": 12,
  "pinned": false,
  "owner": "workshop",
  "last": null
}
</memory-metadata>

<conditional>
Recall if the prompt is about firing,
or about the kiln.
</conditional>

<fuzzy-match>
kiln, Cone 6, firing schedule, kiln
</fuzzy-match>

<memory>
The small kiln takes nine hours to cone 6.

## Steps
- Candle it overnight.

---
Update when the elements are replaced.
</memory>
"""


def read(text: str, name: str = "memory/kiln-schedule.md") -> MemoryFile:
    return read_memory(name, text)


def test_every_part_of_a_tagged_file_is_stated() -> None:
    memory = read(TAGGED)

    assert memory.text == TAGGED
    assert memory.body.startswith("The small kiln takes")
    assert memory.body.endswith("elements are replaced.")
    assert memory.hint == "Recall if the prompt is about firing,\nor about the kiln."
    assert memory.keywords == ("kiln", "Cone 6", "firing schedule")
    assert memory.metadata == {
        "frequency": "4",
        "created_session": "12",
        "pinned": "false",
        "owner": "workshop",
        "last": "",
    }
    assert memory.pointer == "Recall if the prompt is about firing, or about the kiln."


def test_line_ends_and_a_byte_order_mark_change_only_the_verbatim_text() -> None:
    dressed = "\ufeff" + TAGGED.replace("\n", "\r\n")

    assert read(dressed).replace(text=TAGGED) == read(TAGGED)
    assert read(dressed).text == dressed


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "<MEMORY>\nbody\n</Memory>\n<Conditional>\nhint\n</CONDITIONAL>\n"
            "<Fuzzy-Match>\na\n</fuzzy-match>",
            id="other order and case",
        ),
        pytest.param(
            "<conditional>hint</conditional>\n<fuzzy-match>a</fuzzy-match>\n<memory>body</memory>\n",
            id="each on one line",
        ),
        pytest.param(
            "  <conditional>\n  hint\n  </conditional>\n<fuzzy-match >a\n</fuzzy-match>  \n"
            "<memory> body\n</memory>",
            id="blanks around",
        ),
        pytest.param(
            "<conditional>\nhint\n</conditional>\nbody\n<fuzzy-match>\na\n</fuzzy-match>\n",
            id="a body without its tag",
        ),
        pytest.param(
            "<conditional>\nhint\n\n<fuzzy-match>\na\n\n<memory>\nbody\n", id="nothing closed"
        ),
        pytest.param("---\ndescription: hint\ntags: a\n---\n\nbody\n", id="front matter instead"),
        pytest.param(
            "---\nDescription: other\nkeywords: [a]\n---\n<conditional>hint</conditional>\n"
            "<memory>\nbody\n</memory>",
            id="front matter and parts",
        ),
    ],
)
def test_the_same_memory_in_many_shapes(text: str) -> None:
    memory = read(text)

    assert (memory.body, memory.hint, memory.keywords) == ("body", "hint", ("a",))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("Write `<memory>` first.\nThen close with `</memory>`.", id="in a line"),
        pytest.param("Use <memory>text</memory>\nand go on.", id="a pair that ends a line"),
        pytest.param("```\n<memory>\n</memory>\n<conditional>\n```\nso.", id="in a code block"),
        pytest.param("~~~~\n```\n</memory>\n~~~~\nso.", id="in a code block of tildes"),
        pytest.param("<memory>\ninner\n</memory>\nouter", id="nested"),
        pytest.param("```\nnever closed", id="after a code block without an end"),
        pytest.param("```\n</memory>\nnever closed", id="in a code block without an end"),
        pytest.param("<conditional>\nx\n</conditional>\ny", id="another part"),
    ],
)
def test_a_memory_may_describe_its_own_format(body: str) -> None:
    memory = read(f"<memory>\n{body}\n</memory>\n\n<conditional>\nhint\n</conditional>\n")

    assert (memory.body, memory.hint) == (body, "hint")


def test_plain_markdown_that_shows_the_format_has_no_parts() -> None:
    text = "# Format\n\n```\n<conditional>\nwhen\n</conditional>\n```"

    assert read(text).body == text
    assert read(text).hint is None


def test_an_unclosed_part_goes_on_beyond_a_code_block() -> None:
    memory = read("<conditional>\nhint\n```\n<memory>\n```\n<fuzzy-match>\na\n")

    assert (memory.hint, memory.keywords) == ("hint\n```\n<memory>\n```", ("a",))


def test_two_bodies_are_one() -> None:
    assert read("<memory>\na\n</memory>\n<memory>\nb\n</memory>\n").body == "a\n\nb"


def test_empty_parts_say_nothing() -> None:
    memory = read(
        "<memory-metadata>\n</memory-metadata>\n<conditional>\n\n</conditional>\n"
        "<fuzzy-match>\n , \n</fuzzy-match>\n<memory>\n</memory>\n"
    )

    assert (memory.body, memory.hint, memory.keywords, memory.metadata) == ("", None, (), {})
    assert memory.pointer == "kiln-schedule"


@pytest.mark.parametrize(
    ("part", "metadata"),
    [
        pytest.param('{\n\t"a": {"b": 1}\n}', {"a": '{"b": 1}'}, id="JSON with tabs"),
        pytest.param('{"a": "\\ud83c\\udffa"}', {"a": "🏺"}, id="JSON with escapes"),
        pytest.param("a: 1\nb: two words", {"a": "1", "b": "two words"}, id="YAML"),
        pytest.param('{"a": 1,', {"memory-metadata": '{"a": 1,'}, id="torn JSON"),
        pytest.param("[1, 2]", {"memory-metadata": "[1, 2]"}, id="a list"),
        pytest.param(
            "a: 123456789012345678901", {"a": "123456789012345678901"}, id="a long number"
        ),
        pytest.param("[" * 9999, {"memory-metadata": "[" * 9999}, id="a deep one"),
    ],
)
def test_metadata_is_kept_whatever_it_is(part: str, metadata: dict[str, str]) -> None:
    memory = read(f"<memory-metadata>\n{part}\n</memory-metadata>\n<memory>\nx\n</memory>")

    assert memory.metadata == metadata


def test_keywords_are_split_at_commas_and_lines() -> None:
    memory = read("<fuzzy-match>\nkiln, glaze\n- cone 6\n* KILN\n.bench,,\n</fuzzy-match>\nx")

    assert memory.keywords == ("kiln", "glaze", "cone 6", ".bench")


def test_front_matter_tells_description_keywords_tags_and_the_rest() -> None:
    memory = read(
        "---\ntitle: Glazes\ndescription: Which glaze\nKeywords: [glaze, 6]\n"
        "tags:\n  - Blue\n  - glaze\ndate: 2026-01-02\n---\n# Recipes\nCobalt.\n"
    )

    assert memory.body == "# Recipes\nCobalt."
    assert memory.hint == "Which glaze"
    assert memory.keywords == ("glaze", "6", "Blue")
    assert memory.metadata["date"] == "2026-01-02"
    assert memory.metadata["Keywords"] == '["glaze", 6]'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("---\nA rule, then prose.\n---\nMore.", id="a rule"),
        pytest.param("---\ntitle: [unclosed\n---\nMore.", id="no YAML"),
        pytest.param("---\n- a\n- b\n---\nMore.", id="a list"),
        pytest.param("---\ntitle: x\nMore.", id="never closed"),
        pytest.param("Before.\n---\ntitle: x\n---\nMore.", id="not at the beginning"),
    ],
)
def test_odd_front_matter_is_text(text: str) -> None:
    memory = read(text)

    assert (memory.body, memory.metadata) == (text, {})


def test_empty_front_matter_is_none() -> None:
    assert read("---\ndescription:\n---\nx").hint is None
    assert read("---\n---\nx").body == "x"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        pytest.param("\n\nThe kiln is hot.\nMore.", "The kiln is hot.", id="the first line"),
        pytest.param("## The  kiln ##\nMore.", "The kiln", id="a heading"),
        pytest.param("#hashtag first", "#hashtag first", id="no heading"),
        pytest.param("---\n***\n# Kiln", "Kiln", id="rules"),
        pytest.param("", "kiln-schedule", id="nothing"),
        pytest.param("---\ntitle: Kiln\n---\n", "Kiln", id="only a title"),
        pytest.param("---\ntitle: Kiln\n---\nBody.", "Body.", id="a title and a body"),
        pytest.param("---\ndescription: |\n  a\n  b\n---\nx", "a b", id="a long description"),
        pytest.param("a\u2028b\x85c\x0bd", "a b c d", id="other line ends"),
    ],
)
def test_the_pointer_is_the_hint_or_the_first_line_or_the_name(text: str, pointer: str) -> None:
    assert read(text).pointer == pointer


_PIECE = st.sampled_from(
    "<memory>|</memory>|<conditional>|</conditional>|<fuzzy-match>|</fuzzy-match>|<memory-metadata>|"
    "</memory-metadata>|```|---|{|title: x|a, b|# h|\r||x".split("|")
)


@given(st.lists(st.one_of(_PIECE, st.text(max_size=6)), max_size=12).map("\n".join))
def test_any_text_is_a_memory_with_a_pointer_of_one_line(text: str) -> None:
    memory = read(text)

    assert memory.text == text
    assert memory.pointer.strip()
    assert len(memory.pointer.splitlines()) == 1

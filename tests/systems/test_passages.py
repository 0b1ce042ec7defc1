"""A passage holds a few neighbouring sentences, and says where they stood."""

from datetime import datetime

from recall_bench.core.scenario import Episode, Turn
from recall_bench.systems.builtin.chunks import CHUNK_CHARS, PIECE_CHARS, Chunk, split_chunks


def cut(text: str, *turns: Turn) -> tuple[Chunk, ...]:
    return split_chunks(Episode(id="d", day=1, at=datetime(2024, 1, 1), text=text, turns=turns))


def test_a_short_paragraph_is_one_passage() -> None:
    assert [each.text for each in cut("It rained. The roof held.")] == ["It rained. The roof held."]


def test_paragraphs_are_not_joined() -> None:
    assert [each.text for each in cut("It rained.\n\nThe roof held.")] == [
        "It rained.",
        "The roof held.",
    ]


def test_a_list_is_joined_with_the_line_that_opens_it() -> None:
    assert [each.text for each in cut("Bought:\n- leeks\n- twine\n\nPaid.")] == [
        "Bought: leeks; twine",
        "Paid.",
    ]


def test_a_list_cut_in_two_opens_again_with_its_line() -> None:
    long = "x" * (CHUNK_CHARS - 10)

    first, second = cut(f"Bought:\n- {long}\n- twine")

    assert first.text == f"Bought: {long}"
    assert second.text == "Bought: twine"


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentence = "The beds on the north side were all covered with straw before the frost came."

    found = cut(" ".join([sentence] * 9))

    assert all(len(each.text) <= CHUNK_CHARS for each in found)
    assert " ".join(each.text for each in found) == " ".join([sentence] * 9)


def test_an_endless_sentence_is_broken_between_words() -> None:
    found = cut("word " * 1000)

    assert all(len(each.text) <= PIECE_CHARS for each in found)
    assert " ".join(each.text for each in found).split() == ["word"] * 1000


def test_session_and_headings_are_searched_but_not_quoted() -> None:
    (found,) = cut("# session: family\n\n### Swimming\n\nFridays now.")

    assert found.session == "family"
    assert found.text == "Fridays now."
    assert found.search_text == "family\nSwimming\nFridays now."


def test_sections_are_not_joined() -> None:
    assert len(cut("# session: a\n\n- one\n\n# session: b\n\n- two")) == 2


def test_the_speaker_is_part_of_what_was_said() -> None:
    found = cut("", Turn(speaker="Ada", text="Hi. Cold?"), Turn(speaker="Bo", text="Yes."))

    assert [each.text for each in found] == ["Ada: Hi. Cold?", "Bo: Yes."]


def test_an_empty_day_has_no_passages() -> None:
    assert cut("---\ntype: daily\n---\n") == ()

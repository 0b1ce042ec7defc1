"""A word is read once, and what is kept has a bound."""

from recall_bench.text.word_cache import LONGEST_KEPT_WORD, WordCache


def test_a_word_is_read_once() -> None:
    read: list[str] = []

    def measure(word: str) -> int:
        read.append(word)
        return len(word)

    lengths = WordCache(measure, most=10)

    assert [lengths[word] for word in ("berth", "tide", "berth")] == [5, 4, 5]
    assert read == ["berth", "tide"]


def test_no_more_words_are_kept_than_the_bound() -> None:
    lengths = WordCache(len, most=3)

    assert [lengths[word] for word in "a bb ccc dddd".split()] == [1, 2, 3, 4]
    assert len(lengths) <= 3


def test_a_long_piece_is_read_and_not_kept() -> None:
    lengths = WordCache(len, most=3)

    assert lengths["x" * (LONGEST_KEPT_WORD + 1)] == LONGEST_KEPT_WORD + 1
    assert not lengths

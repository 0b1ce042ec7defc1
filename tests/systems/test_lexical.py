"""Word search scores as bm25s scores, whether passages come all at once or day by day."""

import logging
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.systems.builtin import word_index
from recall_bench.systems.builtin.word_index import (
    Bm25,
    Bm25Index,
    Postings,
    Vocabulary,
    list_stop_words,
)

TEXTS = [
    "The boiler was set to 14 degrees",
    "Boilers, boilers and more boilers",
    "Bo keeps the key to the stall",
    "The stalls open at 7",
    "Nobody was here",
    "",
]


def counted(*pages: list[str]) -> tuple[Vocabulary, Postings]:
    vocabulary = Vocabulary()
    return vocabulary, Postings.create_empty().extend([vocabulary.count(page) for page in pages])


def score(question: str, *pages: list[str]) -> list[float]:
    vocabulary, postings = counted(*pages)
    return list(map(float, Bm25Index(postings, Bm25()).score(vocabulary.parse_query(question))))


@pytest.mark.parametrize("formula", [Bm25(), Bm25(k1=1.5, b=0.75), Bm25(k1=0.0, b=1.0)])
def test_scores_are_those_of_bm25s(formula: Bm25) -> None:
    import bm25s
    import Stemmer

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    stemmer = Stemmer.Stemmer("english")
    bags = bm25s.tokenize(
        TEXTS,
        stopwords=None,
        stemmer=stemmer,
        token_pattern=r"(?u)\b(?:\w\w+|\d)\b",
        return_ids=False,
        show_progress=False,
    )
    stock = bm25s.BM25(k1=formula.k1, b=formula.b, method="lucene")
    stock.index(bags, show_progress=False)
    asked = ["boiler", "key", "stall", "7"]
    expected = stock.get_scores(stemmer.stemWords(asked))

    vocabulary, postings = counted(TEXTS)
    found = Bm25Index(postings, formula).score(vocabulary.parse_query(" ".join(asked)))

    ratio = expected[0] / found[0]
    assert expected.max() > 0
    np.testing.assert_allclose(found * ratio, expected, rtol=1e-5, atol=1e-7)


@pytest.fixture
def _no_stop_words() -> Iterator[None]:
    """Stop words are read once in a process: here they are read anew."""
    list_stop_words.cache_clear()
    yield
    list_stop_words.cache_clear()


@pytest.mark.usefixtures("_no_stop_words")
@pytest.mark.parametrize("package", [None, ModuleSpec("bm25s", None)])
def test_stop_words_come_from_the_package_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: ModuleSpec | None
) -> None:
    """A package without a file of its own must not make the current folder's code run."""
    (tmp_path / "stopwords.py").write_text("STOPWORDS_EN_PLUS = ['planted']\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(word_index, "find_spec", lambda _name: package)

    with pytest.raises(UsageError, match="stop words of the bm25s package are missing"):
        list_stop_words()


def test_passages_added_in_any_steps_score_the_same_to_the_last_digit() -> None:
    vocabulary = Vocabulary()
    pages = [vocabulary.count([text, text.upper()]) for text in TEXTS]
    at_once = Postings.create_empty().extend(pages)

    for cut in range(len(pages) + 1):
        stepwise = Postings.create_empty().extend(pages[:cut]).extend(pages[cut:])

        for name in ("starts", "passages", "counts", "lengths"):
            np.testing.assert_array_equal(getattr(stepwise, name), getattr(at_once, name))


def test_extending_leaves_the_postings_as_they_were() -> None:
    vocabulary, postings = counted(TEXTS)
    before = postings.passages.copy(), postings.starts.copy()

    postings.extend([vocabulary.count(["boiler key stall"])])

    np.testing.assert_array_equal(postings.passages, before[0])
    np.testing.assert_array_equal(postings.starts, before[1])


def test_words_are_matched_by_their_stem() -> None:
    assert score("boilers", ["a boiler", "a pump"])[0] > 0


def test_question_words_and_stop_words_ask_for_nothing() -> None:
    vocabulary, _ = counted(TEXTS)

    query = vocabulary.parse_query("Who would have been where, and whose was it?")

    assert query.known == ()
    assert query.unknown == 0


def test_stop_words_count_in_the_length_of_a_passage() -> None:
    short, long = score("boiler", ["boiler", "and the boiler it was"])

    assert short > long


def test_a_single_digit_is_a_word() -> None:
    assert score("dock 7", ["dock 7", "dock 8"])[0] > score("dock 7", ["dock 7", "dock 8"])[1]


def test_a_score_is_a_share_of_what_the_whole_question_could_have() -> None:
    (whole,) = score("boiler key", ["boiler key"])
    (half,) = score("boiler astronaut", ["boiler key"])

    assert 0 < half < whole < 1


def test_a_word_of_a_later_day_is_unknown_before_it() -> None:
    vocabulary = Vocabulary()
    early = Postings.create_empty().extend([vocabulary.count(["boiler"])])
    alone = Bm25Index(early, Bm25()).score(vocabulary.parse_query("boiler tulip")).tolist()
    vocabulary.count(["tulip"])

    after = Bm25Index(early, Bm25()).score(vocabulary.parse_query("boiler tulip")).tolist()

    assert after == alone


@pytest.mark.parametrize("pages", [(), ([],), ([""],)], ids=["nothing", "empty day", "empty text"])
def test_an_empty_history_scores_nothing(pages: tuple[list[str], ...]) -> None:
    assert not any(score("boiler", *pages))


def test_asking_does_not_teach_the_vocabulary() -> None:
    vocabulary, _ = counted(TEXTS)

    vocabulary.parse_query("astronaut")

    assert vocabulary.parse_query("astronaut").unknown == 1

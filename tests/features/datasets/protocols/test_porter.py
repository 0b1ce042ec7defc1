"""Words are stemmed as NLTK's default Porter stemmer does, which is not quite Porter's own."""

import json
import re

import pytest

from recall_bench.features.datasets.protocols.string_match import stem_porter
from tests.conftest import shared_data


@pytest.mark.parametrize(
    ("words", "stems"),
    [
        pytest.param(
            "caresses flies dies mules denied died agreed owned humbled sized meeting stating "
            "siezing itemization sensational traditional reference colonizer plotted",
            "caress fli die mule deni die agre own humbl size meet state siez item sensat tradit "
            "refer colon plot",
            id="the examples in NLTK's own guide",
        ),
        pytest.param("oed", "o", id="the word that once broke NLTK's"),
        pytest.param("skies dying lying news outings", "sky die lie news outing", id="irregular"),
        pytest.param("is as by 12 a", "is as by 12 a", id="short words are left alone"),
        pytest.param("try tries tried trying", "tri tri tri tri", id="y after a consonant"),
        pytest.param("enjoy enjoyed enjoyment say", "enjoy enjoy enjoy say", id="y after a vowel"),
        pytest.param("pies tied", "pie tie", id="four letters keep the e"),
        pytest.param("hopefully emotionally possibly", "hope emot possibl", id="-li endings"),
        pytest.param("geology ecology", "geolog ecolog", id="-logi"),
        pytest.param("are use ages", "are use age", id="vowel and consonant keep the e"),
        pytest.param("controlling rolled falling", "control roll fall", id="double l"),
        pytest.param("adoption million decision", "adopt million decis", id="-ion after s or t"),
        pytest.param("café 2023 25th naïve", "café 2023 25th naïv", id="not only a to z"),
    ],
)
def test_words_have_these_stems(words: str, stems: str) -> None:
    assert " ".join(map(stem_porter, words.split())) == stems


_EXTENDED = re.compile(
    r"..?"  # too short
    r"|.*y(?:s|ed|ing)?|eyes?"  # a final y
    r"|.ie[sd]"  # four letters
    r"|.*(?:bly|lly|logy)"  # longer suffixes
    r"|[aeiou][^aeiou](?:e|es|ed|ing|eful)"  # one vowel, one consonant, e
)
_IRREGULAR = {"news", "outing", "outings", "succeed"}


def test_it_departs_from_porters_own_only_where_nltk_does() -> None:
    """PyStemmer has Porter's own algorithm, so it vouches for everything but the extensions."""
    stemmer = pytest.importorskip("Stemmer").Stemmer("porter")
    text = shared_data("locomo/locomo10.json").read_text(encoding="utf-8")
    turns = [
        turn["text"]
        for conversation in json.loads(text)
        for name, session in conversation["conversation"].items()
        if re.fullmatch(r"session_\d+", name)
        for turn in session
    ]
    words = {word for turn in turns for word in re.findall(r"[a-z]+", turn.lower())}

    departures = {word for word in words if stem_porter(word) != stemmer.stemWord(word)}
    unexplained = {word for word in departures - _IRREGULAR if not _EXTENDED.fullmatch(word)}

    assert len(words) > 5000
    assert unexplained == {"trekked"}, "Snowball's Porter keeps a double k, the published one not"


@pytest.mark.parametrize("word", ["y" * 100_000, "ing" * 30_000, "ational" * 15_000])
def test_a_monstrous_word_is_stemmed_too(word: str) -> None:
    assert len(stem_porter(word)) <= len(word)

"""Typography and inflection make no difference."""

from recall_bench.text.text import Stems, normalise, split_normalised, split_words


def test_emphasis_curly_quotes_and_dashes_are_levelled() -> None:
    assert normalise("**Nell’s** “pump” — `v2`…") == 'Nell\'s "pump" - v2...'


def test_accents_make_no_difference_and_other_scripts_have_words() -> None:
    assert split_words(normalise("José Ñuñez")) == ["jose", "nunez"]
    assert split_words(normalise("Привет, мир")) == ["привет", "мир"]


def test_possessives_and_case_are_dropped_from_words() -> None:
    assert split_words("Nell's Pump-House, 7") == ["nell", "pump", "house", "7"]


def test_inflected_words_have_one_stem_and_stopwords_none() -> None:
    stems = Stems()

    assert stems.stem(["inspected"]) == stems.stem(["inspecting"]) == stems.stem(["inspects"])
    assert stems.stem(["the", "was", "of"]) == []


def test_sentences_end_at_full_stops_and_lines_and_not_at_abbreviations() -> None:
    text = "The yard is Brine Inc. Ltd of York. It closed!\n- first\n\n- second"

    assert split_normalised(text) == [
        "The yard is Brine Inc. Ltd of York.",
        "It closed!",
        "- first",
        "- second",
    ]


def test_a_blank_text_has_no_sentences() -> None:
    assert split_normalised(" \n ") == []

"""Texts in German, Spanish, Japanese and Arabic are made readable for rules in English."""

from recall_bench.text.multilingual_text import guess_language, split_multilingual_terms
from recall_bench.text.multilingual_values import (
    normalise_multilingual_values,
    pick_multilingual_signs,
)
from recall_bench.text.sentences import split_sentences
from recall_bench.text.text import normalise
from recall_bench.text.values import find_values
from tests.loops import loop_over_rows


@loop_over_rows(
    ("written", "language", "english"),
    [
        ("am Freitag, 3. Oktober 2025", "de", "am Freitag, 3 October 2025"),
        ("14.200 € und 0,62 Euro", "de", "€14,200 und €0.62"),
        ("5.000 Tüten, 1,8 Prozent", "de", "5,000 Tüten, 1.8%"),
        ("el 3 de octubre de 2025, 1.850 €", "es", "el 3 October 2025, €1,850"),
        ("2025年10月3日(金)", "ja", " 3 October 2025 "),
        ("6時30分に227万円", "ja", "6:30 に ¥2,270,000"),
        ("6時間", "ja", "6 時間"),
        ("الجمعة 3 أكتوبر 2025", "ar", "الجمعة 3 October 2025"),
        ("56,800 درهم و٢٥ كيسًا", "ar", "AED 56,800 و 25 كيسًا"),
    ],
)
def test_values_take_the_english_form(written: str, language: str, english: str) -> None:
    assert normalise_multilingual_values(written, language) == english


@loop_over_rows(
    "english",
    [
        "On 3 March 2025 it was $4,350, or 3.5 % more.",
        "Tomasz quoted 4,180 euros, not €3,900.",
        "The café in Los Angeles is on El Camino; version 5.000 is out.",
        "We met in May. March was cold.",
    ],
)
def test_english_stays_as_it_is(english: str) -> None:
    assert guess_language(english) == "en"
    assert normalise_multilingual_values(english) == english
    assert normalise(english) == english.replace("é", "e")
    assert split_multilingual_terms(english) is None


@loop_over_rows(
    ("text", "language"),
    [
        ("Was kostet der Ofen jetzt?", "de"),
        ("Was war am Lieferwagen kaputt?", "de"),
        ("¿Cuánto cuesta ahora el horno?", "es"),
        ("オーブンは今いくらですか。", "ja"),
        ("كم ثمن الفرن الآن؟", "ar"),
    ],
)
def test_the_language_is_stated_by_letters_or_frequent_words(text: str, language: str) -> None:
    assert guess_language(text) == language


@loop_over_rows(
    ("written", "said"),
    [
        ("Nein, das war Emre.", "No,"),
        ("On 2025-10-02 (principal): Ja, auf den 24. Oktober.", "Yes,"),
        ("Das kann ich hier nicht sagen.", "I cannot disclose"),
        ("Im Log steht nichts davon.", "nothing is recorded"),
        ("Eso no lo puedo decir aquí.", "I cannot disclose"),
        ("No, no consta nada de eso.", "no record"),
        ("ここではお答えできません。", "I cannot disclose"),
        ("そのような記録はありません。", "there is no record"),
        ("لا أستطيع قول ذلك هنا.", "I cannot disclose"),
        ("لا يذكر السجل شيئًا عنها.", "there is no record"),
        ("Wann kommt der Ofen?", "when"),
        ("何袋届きましたか。", "how many"),
        ("Alle drei sind teurer geworden.", "three"),
    ],
)
def test_the_words_that_decide_are_put_into_english(written: str, said: str) -> None:
    assert said in normalise(written)


def test_equal_values_are_equal_in_every_language() -> None:
    dates = ("3. Oktober 2025", "3 de octubre de 2025", "2025年10月3日", "3 أكتوبر 2025")
    assert {tuple(find_values(normalise(each))) for each in dates} == {
        tuple(find_values("3 October 2025"))
    }
    assert next(iter(find_values(normalise("14.200 €")))).core == "14200"


def test_search_terms_forgive_endings_accents_and_prefixes() -> None:
    def share(one: str, other: str) -> bool:
        terms = split_multilingual_terms(one, is_question=True) or []
        return bool(set(terms) & set(split_multilingual_terms(other) or []))

    assert share("Wie viele Brote sind es?", "Das ist nur ein Brot und mehr ist es nicht.")
    assert share("¿Cuántos panes hay en la tienda?", "El pan está en la mesa de la tienda.")
    assert share("誰が払いますか。", "支払うのは小林さんです。")
    assert share("كم ثمن الفرن؟", "وصل فرن جديد إلى المخبز.")
    assert not share("Wann kommt der Ofen?", "Der Regen war kalt und es ist dunkel.")


def test_sentences_end_without_capitals_and_blanks() -> None:
    assert split_sentences("雨だった。客は少ない。「明日は？」と聞いた。") == [
        "雨だった。",
        "客は少ない。",
        "「明日は？」と聞いた。",
    ]
    assert split_sentences("هل وصل؟ نعم وصل. شكرًا.") == ["هل وصل؟", "نعم وصل.", "شكرًا."]
    assert split_sentences("Er kommt am 3. Oktober. Danach ist Ruhe.") == [
        "Er kommt am 3. Oktober.",
        "Danach ist Ruhe.",
    ]


def test_the_signs_outside_ascii_are_picked_in_order() -> None:
    assert pick_multilingual_signs("Größe – “5 €” \ud800 x") == "öß–“€”\ud800"


def test_a_short_text_with_one_foreign_quote_is_read_by_its_words() -> None:
    assert guess_language("“Nein, das ist nicht wahr”") == "de"
    assert guess_language("Nell’s “berth” – no") == "en"
    assert guess_language("¿No?") == "es"

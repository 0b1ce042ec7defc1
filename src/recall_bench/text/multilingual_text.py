"""Answers and logs in German, Spanish, Japanese and Arabic, made readable for rules in English.

Values take the English form, and the few words that decide how an answer stands to its question
are put into English: yes and no, "I cannot tell", "nothing is recorded", "now" and "before". The
other words stay as they are, so texts of one language can be compared, and texts of two cannot.
"""

import re
import unicodedata
from functools import cache

from recall_bench.text.languages import get_language, list_foreign_languages
from recall_bench.text.multilingual_cues import OPENERS, translate_cues
from recall_bench.text.multilingual_values import (
    normalise_multilingual_values,
    pick_multilingual_signs,
)

_LONG = 400
"""From this length on, a text in one of these languages has letters that ASCII lacks."""
_LETTERS = re.compile(r"[äöüßÄÖÜáéíóúñÁÉÍÓÚÑ¿¡\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff]")
_PARTICLE = 3
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ARABIC = re.compile(r"[\u0621-\u064a]")
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = {
    language.code: frozenset(" ".join(language.marks).split())
    for language in list_foreign_languages()
    if language.marks
}
"""Frequent words of the languages that are written with Latin letters."""
_ALSO_ENGLISH = frozenset("alle beim como para solo".split())
_SHORT = 3
FOREIGN_STOPWORDS = frozenset(
    unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    for marks in _MARKS.values()
    for word in marks
    if len(word) > _SHORT and word not in _ALSO_ENGLISH
)
"""Words without content in German and Spanish, without accents, and without English words."""
_ENGLISH = frozenset(" ".join(get_language("en").marks).split())
_SHARED = {code: frozenset(" ".join(get_language(code).english_marks).split()) for code in _MARKS}
"""English words that the language has as well."""
_PLAIN_MARKS = frozenset(
    word.encode() for marks in _MARKS.values() for word in marks if word.isascii()
)
_TO_WORDS = bytes(sign if chr(sign).isalpha() else 32 for sign in bytes(range(128)).lower()) * 2
"""Maps ASCII to lower-case letters and blanks."""
_ACCENTS = {"de": re.compile("[äöüßÄÖÜ]"), "es": re.compile("[áéíóúñÁÉÍÓÚÑ¿¡]")}
_CITED = re.compile(r"\bOn \d{4}-\d\d-\d\d(?: \([^()\n]*\))?:")
"""How a quotation from the log begins."""
_FEW = 4
"""In so few words, one of the language is enough."""


def guess_language(text: str) -> str:
    """The language of a text, by its letters or its most frequent words; else `en`."""
    if text.isascii():
        if len(text) > _LONG or _PLAIN_MARKS.isdisjoint(text.encode().translate(_TO_WORDS).split()):
            return "en"
    else:
        foreign = pick_multilingual_signs(text)
        if _JAPANESE.search(foreign):
            return "ja"
        if _ARABIC.search(foreign):
            return "ar"
        if not _LETTERS.search(foreign) and (len(text) > _LONG or _is_plain(text, foreign)):
            return "en"
    # Most words of a long text occur again, and no blank is inside one.
    pieces = set((_CITED.sub(" ", text) if "On " in text else text).split())
    words = set(map(str.lower, set(_WORD.findall(" ".join(pieces)))))
    best, most = "en", 0
    for code, marks in _MARKS.items():
        english = len(words & _ENGLISH - _SHARED[code])
        own = len(words & marks) + (_ACCENTS[code].search(text) is not None)
        needed = 1 if len(words) <= _FEW and not english else 2
        if own > max(english, most) and own >= needed:
            best, most = code, own
    return best


def _is_plain(text: str, foreign: str) -> bool:
    """Whether a text is ASCII but for quotes and dashes, and has no word of another language."""
    if any(map(str.isalnum, foreign)):
        return False
    return _PLAIN_MARKS.isdisjoint(text.encode("ascii", "replace").translate(_TO_WORDS).split())


_PUNCTUATION = str.maketrans({"،": ",", "؛": ";", "؟": "?", "、": ", ", "「": '"', "」": '"'})
_ARABIC_FORMS = str.maketrans({**dict.fromkeys("أإآٱ", "ا"), "ى": "ي", "ة": "ه", "ـ": None})
_ARABIC_MARKS = re.compile(r"[\u064b-\u065f\u0670]")
_CHARACTER_EDGE = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff])(?=[\u3040-\u309f\u3400-\u9fff])"
    r"|(?<=[\u3040-\u309f\u3400-\u9fff])(?=[\u30a0-\u30ff])"
)
"""Between any two Japanese characters but katakana, which spell whole words."""


def normalise_multilingual_text(text: str) -> str:
    """The text with values, yes and no, refusals and words of time in English.

    Japanese is parted into characters and words of katakana, because a dictionary would be needed
    to find its words; Arabic letters are unified. English stays as it is.
    """
    text = normalise_multilingual_values(text)
    text = OPENERS.sub(_translate_opener, text, count=1)
    code = guess_language(text)
    if code == "en":
        return text
    text = translate_cues(text, code)
    if code == "ja":
        return _CHARACTER_EDGE.sub(" ", text.translate(_PUNCTUATION))
    if code == "ar":
        return fold_arabic(text.translate(_PUNCTUATION))
    return text


def is_particle(word: str) -> bool:
    """Whether a word is a few hiragana, which are particles and endings more often than words."""
    return len(word) <= _PARTICLE and all("\u3040" <= sign <= "\u309f" for sign in word)


def is_arabic(word: str) -> bool:
    """Whether a word is written in Arabic letters."""
    return _ARABIC.match(word) is not None


def fold_arabic(text: str) -> str:
    """Arabic without vowel signs and with one form of alef, ya and ta marbuta."""
    return _ARABIC_MARKS.sub("", text).translate(_ARABIC_FORMS)


def _translate_opener(found: re.Match[str]) -> str:
    opener = next(name for name, value in found.groupdict().items() if value)
    blank = " " if _JAPANESE.search(found[0]) else ""
    return f"{found[1]}{opener.capitalize()}{blank}"


_KANJI = re.compile(r"[\u3400-\u9fff]")
_KANA_ONLY = re.compile(r"[\u3040-\u309f]+")
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_SNOWBALL = {"de": "german", "es": "spanish", "ar": "arabic"}


def split_multilingual_terms(text: str, *, is_question: bool = False) -> list[str] | None:
    """The terms of a text for word search; None if it is English.

    German, Spanish and Arabic words are stems without accents, German compounds stay whole.
    Japanese has no blanks, so its terms are pairs of characters, and single kanji. A question
    leaves out words without content.
    """
    code = guess_language(text)
    if code == "en":
        return None
    leveled = normalise_multilingual_values(text, code).lower()
    terms = _TERM.findall(fold_arabic(leveled) if code == "ar" else leveled)
    if code == "ja":
        return [term for run in terms for term in _pair_characters(run, is_question=is_question)]
    empty = _list_empty_words(code) if is_question else frozenset[str]()
    return _stem_terms([word for word in terms if word not in empty], _SNOWBALL[code])


def _pair_characters(run: str, *, is_question: bool) -> list[str]:
    if not _JAPANESE.match(run):
        return [run]
    pairs = [run[place : place + 2] for place in range(max(1, len(run) - 1))]
    terms = [*pairs, *_KANJI.findall(run)]
    return [term for term in terms if not (is_question and _KANA_ONLY.fullmatch(term))]


@cache
def _list_empty_words(code: str) -> frozenset[str]:
    if code == "ar":
        return frozenset(
            fold_arabic(
                "في من على إلى عن ما ماذا متى كم هل أين كيف لماذا هو هي هذا هذه الآن"
            ).split()
        )
    return _MARKS[code] - {"kostet", "kostete", "cuesta"}


def _stem_terms(words: list[str], algorithm: str) -> list[str]:
    from Stemmer import Stemmer

    stems = Stemmer(algorithm).stemWords(words)
    plain = (unicodedata.normalize("NFKD", stem) for stem in stems)
    return ["".join(sign for sign in stem if not unicodedata.combining(sign)) for stem in plain]

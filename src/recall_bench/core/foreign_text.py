"""Answers and logs in German, Spanish, Japanese and Arabic, made readable for rules in English.

Values take the English form, and the few words that decide how an answer stands to its question
are put into English: yes and no, "I cannot tell", "nothing is recorded", "now" and "before". The
other words stay as they are, so texts of one language can be compared, and texts of two cannot.
"""

import re
import unicodedata
from functools import cache, lru_cache

from recall_bench.core.foreign_values import level_foreign_values

_LONG = 400
"""From this length on, a text in one of these languages has letters that ASCII lacks."""
_LETTERS = re.compile(r"[äöüßÄÖÜáéíóúñÁÉÍÓÚÑ¿¡\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff]")
_PARTICLE = 3
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ARABIC = re.compile(r"[\u0621-\u064a]")
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = {
    "de": frozenset(
        """
        aber alle als auch auf aus bei beim bis da das dass dem den der des dich dir doch du ein
        eine einem einen einer eines er es für haben hatte heute ich ihm ihn ihr im ins ist ja
        jetzt kein keine kostet kostete mehr mich mir mit nach nein nicht nichts noch nur oder sein
        seine sich sie sind steht uhr um und uns vom von vor wann warum weil welche welchem welchen
        welcher wem wen wer werden wie wieder wird wir wo wurde wurden zu zum zur zuletzt über
        """.split()
    ),
    "es": frozenset(
        """
        ahora al antes aún cada como con cuando cuesta cuál cuándo cuánta cuántas cuánto cuántos
        cómo de del desde dijo donde dónde el ella en entre era es esa ese eso esta este esto está
        están fue ha hace hay hemos hoy la las le les lo los mañana me mi muy más ni nos o para pero
        no nada por porque que quien quién qué se según ser si sin sobre solo son su sus sí también
        tiene un una unos y ya
        """.split()
    ),
}
"""Frequent words of the languages that are written with Latin letters."""
_ALSO_ENGLISH = frozenset("alle beim como para solo".split())
_SHORT = 3
_DISTINCT = frozenset(
    "und der das dem ist ein wir auf von vom zum zur für wie que una por qué".split()
)
FOREIGN_STOPWORDS = frozenset(
    unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    for marks in _MARKS.values()
    for word in marks
    if word in _DISTINCT or (len(word) > _SHORT and word not in _ALSO_ENGLISH)
)
"""Words without content in German and Spanish, without accents, and without English words."""
_ENGLISH = frozenset("als bis con del den des era hay las les los mit para sin solo son".split())
FOREIGN_STOPWORDS = frozenset(
    unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    for marks in _MARKS.values()
    for word in marks
    if len(word) > _SHORT and word not in _ALSO_ENGLISH
)
"""Words without content in German and Spanish, without accents, and without English words."""
_ENGLISH = frozenset(
    """
    a about after all also an and any are as at be because been before but by can did do does for
    from had has have he her him his how i if in into is it its my no not of on or our she so than
    that the their them then there they this to was we were what when where which who why will with
    would you your
    """.split()
)


@lru_cache(maxsize=4096)
def guess_language(text: str) -> str:
    """The language of a text, by its letters or its most frequent words; else `en`."""
    if text.isascii():
        if len(text) > _LONG:
            return "en"
    elif _JAPANESE.search(text):
        return "ja"
    elif _ARABIC.search(text):
        return "ar"
    elif len(text) > _LONG and not _LETTERS.search(text):
        return "en"
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH for word in words)
    counts = {code: sum(word in marks for word in words) for code, marks in _MARKS.items()}
    code = max(counts, key=counts.__getitem__)
    needed = 1 if len(words) <= 4 and not english else 2
    return code if counts[code] >= needed and counts[code] > english else "en"


_OPENERS = re.compile(
    r"^(\W*)(?:(?P<yes>Ja(?=\W*$|[,.;:!])|Jawohl\b|Sí\b|はい(?=$|[、。,])|نعم(?!\w)|أجل(?!\w))"
    r"|(?P<never>Nie(?:mals)?\b|Nunca\b|Jamás\b)"
    r"|(?P<nothing>Nichts\b|Nada\b)|(?P<nobody>Niemand\b|Nadie\b)"
    r"|(?P<no>Nein\b|Kein(?:e[mnrs]?)?\b|Ning(?:ún|un[oa])\b|いいえ|いえ(?=[、。,])"
    r"|لا(?=\W*$|[،,.])|كلا(?!\w)))"
)


def _put(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), said) for pattern, said in pairs)


_CUES = {
    "de": _put(
        (
            (
                r"\b(?:kann|darf|möchte|werde|will|soll) (?:ich |man )?(?:[^.!?;\n]{0,40}? )?"
                r"nichts? (?:\w+ ){0,3}?(?:sagen|verraten|mitteilen|preisgeben|weitergeben|nennen"
                r"|erzählen|besprechen|offenlegen)\b"
            ),
            "I cannot disclose",
        ),
        (r"\b(?:sage|verrate|nenne) ich (?:\w+ ){0,3}?nichts?\b", "I will not disclose"),
        (r"\b(?:ist|bleibt) vertraulich\b", "that is confidential"),
        (r"\bweiß (?:ich|es) (?:\w+ )?nicht\b|\bich weiß (?:\w+ )?nicht\b", "I do not know"),
        (r"\bkeine ahnung\b", "no idea"),
        (
            (
                r"\b(?:steht|findet sich|finde ich|ist|sagt|verrät|erwähnt)[^.!?;\n]{0,40}?"
                r"\bnichts?\b"
                r"(?=[^.!?\n]{0,40}\b(?:log|notizen|aufzeichnungen|protokoll|unterlagen)\b)"
            ),
            "there is nothing recorded",
        ),
        (
            r"\b(?:log|notizen|aufzeichnungen|protokoll|unterlagen)\b[^.!?;\n]{0,30}?\bnichts?\b",
            "nothing is recorded",
        ),
        (
            (
                r"\bkeine(?:rlei)? (?:angaben?|informationen?|einträge?|aufzeichnung(?:en)?"
                r"|hinweise?|erwähnung|notiz(?:en)?)\b|\bkein(?:en)? (?:eintrag|hinweis|vermerk)\b"
            ),
            "no record",
        ),
        (r"\bnicht (?:erwähnt|vermerkt|notiert|festgehalten|dokumentiert)\b", "not recorded"),
        (r"\bnicht mehr\b", "no longer"),
        (r"\b(?:früher|zuvor|vorher|zunächst|ursprünglich|anfangs|zuerst)\b", "previously"),
        (r"\b(?:jetzt|nun|inzwischen|mittlerweile|derzeit|aktuell)\b", "now"),
        (r"\b(?:statt|anstelle)\b", "instead of"),
        (r"\b(?:insgesamt|zusammen)\b", "altogether"),
        (r"\bnicht\b", "not"),
    ),
    "es": _put(
        (
            (
                r"\bno (?:(?:lo|la|te|se|os|me) ){0,2}(?:puedo|puede|debo|voy a|corresponde) "
                r"(?:\w+ ){0,2}?(?:dec|revel|compart|cont|d[aá]r|coment|facilit|habl|divulg)\w*"
            ),
            "I cannot disclose",
        ),
        (r"\bes confidencial\b", "that is confidential"),
        (r"\bno (?:lo )?sé\b", "I do not know"),
        (
            (
                r"\bno (?:\w+ )?(?:consta|figura|aparece|hay (?:constancia|registro|datos"
                r"|información|nada)|se menciona|menciona|dice|se dice|recoge)\b(?: nada)?"
                r"|\bnada (?:consta|figura)\b"
                r"|\bno hay (?:ninguna? )?(?:anotación|referencia|mención)\b"
            ),
            "no record of it",
        ),
        (r"\bya no\b", "no longer"),
        (r"\b(?:antes|al principio|inicialmente|primero|originalmente)\b", "previously"),
        (r"\b(?:ahora|actualmente|hoy en día)\b", "now"),
        (r"\ben (?:lugar|vez) de\b", "instead of"),
        (r"\b(?:en total|juntas|juntos)\b", "altogether"),
    ),
    "ja": _put(
        (
            (
                r"(?:お?答え|お?伝え|お?話し?|申し上げ|教え|言え|公開|開示|共有|明か)[^。\n]{0,8}?"
                r"(?:できません|できない|できかねます|かねます|られません|ません|ない)"
            ),
            " I cannot disclose ",
        ),
        (
            (
                r"(?:記録|記載|記述|情報|ログ|日誌|言及|話)[^。\n]{0,16}?(?:ありません|ない|なかった"
                r"|見つかりません|残っていません|いません)"
            ),
            " there is no record ",
        ),
        (r"[分わ]かりません|存じません|不明です", " I do not know "),
        (r"(?:以前|当初|最初|もともと|前)は", " previously "),
        (r"(?:今|現在|いま)(?:は|では)?", " now "),
        (r"合計|合わせて|全部で", " altogether "),
        (r"ではなく|じゃなく", " not "),
    ),
    "ar": _put(
        (
            (
                r"لا (?:أستطيع|يمكنني|يمكن|يجوز لي|أقدر)[^.،؟\n]{0,20}?"
                r"(?:قول|أقول|البوح|الإفصاح|ذكر|مشاركة|إخبار|كشف|الحديث|أكشف|أبوح|أذكر)\w*"
                r"|لن أ(?:قول|فصح|ذكر|كشف)\w*"
            ),
            "I cannot disclose",
        ),
        (r"لا (?:أعرف|أعلم|أدري)", "I do not know"),
        (
            (
                r"(?:لا|لم) (?:يُ?ذكر|يرد|يوجد|توجد|تُ?ذكر|يظهر|يُ?سجل|نجد|أجد)[^.،؟\n]{0,25}?"
                r"(?:السجل|ذكر|شيء|شيئ\w*|معلومات|تسجيل|أثر|عن)\w*"
            ),
            "there is no record",
        ),
        (r"(?:سابقًا|سابقا|قبل ذلك|في البداية|أولًا|أولا)(?!\w)", "previously"),
        (r"(?<!\w)(?:الآن|حاليًا|حاليا)(?!\w)", "now"),
        (r"(?<!\w)(?:بدلًا من|بدلا من)(?!\w)", "instead of"),
        (r"(?<!\w)(?:معًا|معا|المجموع|الإجمالي)(?!\w)", "altogether"),
    ),
}

_PUNCTUATION = str.maketrans({"،": ",", "؛": ";", "؟": "?", "、": ", ", "「": '"', "」": '"'})
_ARABIC_FORMS = str.maketrans({**dict.fromkeys("أإآٱ", "ا"), "ى": "ي", "ة": "ه", "ـ": None})
_ARABIC_MARKS = re.compile(r"[\u064b-\u065f\u0670]")
_SCRIPT_EDGE = re.compile(
    r"(?<=[\u3040-\u309f])(?=[\u30a0-\u30ff\u3400-\u9fff])"
    r"|(?<=[\u30a0-\u30ff\u3400-\u9fff])(?=[\u3040-\u309f])"
    r"|(?<=[\u30a0-\u30ff])(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])(?=[\u30a0-\u30ff])"
)
"""A border between hiragana, katakana and kanji: about where Japanese words begin and end."""


def level_foreign_text(text: str) -> str:
    """The text with values, yes and no, refusals and words of time in English.

    Japanese is parted where the script changes; Arabic letters are unified. English stays as it is.
    """
    text = level_foreign_values(text)
    text = _OPENERS.sub(_translate_opener, text, count=1)
    code = guess_language(text)
    if code == "en":
        return text
    for pattern, said in _CUES[code]:
        text = pattern.sub(said, text)
    if code == "ja":
        return _SCRIPT_EDGE.sub(" ", text.translate(_PUNCTUATION))
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
    said = next(name for name, value in found.groupdict().items() if value)
    blank = " " if _JAPANESE.search(found[0]) else ""
    return f"{found[1]}{said.capitalize()}{blank}"


_KANA_ONLY = re.compile(r"[\u3040-\u309f]+")
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_SNOWBALL = {"de": "german", "es": "spanish", "ar": "arabic"}


def split_foreign_terms(text: str, *, is_question: bool = False) -> list[str] | None:
    """The terms of a text for word search; None if it is English.

    German, Spanish and Arabic words are stems without accents, German compounds stay whole.
    Japanese has no blanks, so its terms are pairs of characters. A question leaves out words
    without content.
    """
    code = guess_language(text)
    if code == "en":
        return None
    leveled = level_foreign_values(text, code).lower()
    found = _TERM.findall(fold_arabic(leveled) if code == "ar" else leveled)
    if code == "ja":
        return [term for run in found for term in _pair_characters(run, is_question=is_question)]
    empty = _list_empty_words(code) if is_question else frozenset[str]()
    return _stem_terms([word for word in found if word not in empty], _SNOWBALL[code])


def _pair_characters(run: str, *, is_question: bool) -> list[str]:
    if not _JAPANESE.match(run):
        return [run]
    pairs = [run[place : place + 2] for place in range(max(1, len(run) - 1))]
    return [pair for pair in pairs if not (is_question and _KANA_ONLY.fullmatch(pair))]


@cache
def _list_empty_words(code: str) -> frozenset[str]:
    if code == "ar":
        return frozenset(
            fold_arabic(
                "في من على إلى عن ما ماذا متى كم هل أين كيف لماذا هو هي هذا هذه الآن"
            ).split()
        )
    return _MARKS[code]


def _stem_terms(words: list[str], algorithm: str) -> list[str]:
    from Stemmer import Stemmer

    stems = Stemmer(algorithm).stemWords(words)
    plain = (unicodedata.normalize("NFKD", stem) for stem in stems)
    return ["".join(sign for sign in stem if not unicodedata.combining(sign)) for stem in plain]

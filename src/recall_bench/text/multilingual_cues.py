"""Words of other languages that decide how a text stands to a question, with their English."""

import re
from functools import cache

from recall_bench.text.languages import get_language
from recall_bench.text.number_words import spell_number

CuePairs = tuple[tuple[str, str], ...]
"""Patterns, each with the English words for what it matches."""

OPENERS = re.compile(
    r"^(\W*(?:On \d{4}-\d\d-\d\d(?: \([^()]*\))?: )?)"
    r"(?:(?P<yes>Ja(?=\W*$|[,.;:!])|Jawohl\b|Sí\b|はい(?=$|[、。,])|نعم(?!\w)|أجل(?!\w))"
    r"|(?P<never>Nie(?:mals)?\b|Nunca\b|Jamás\b)"
    r"|(?P<nothing>Nichts\b|Nada\b)|(?P<nobody>Niemand\b|Nadie\b)"
    r"|(?P<no>Nein\b|Kein(?:e[mnrs]?)?\b|Ning(?:ún|un[oa])\b|いいえ|いえ(?=[、。,])"
    r"|لا(?=\W*$|[،,.])|كلا(?!\w)))"
)


CUES: dict[str, CuePairs] = {
    "de": (
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
    "es": (
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
    "ja": (
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
        (r"(?:今|現在|(?<![ぁ-ん])いま)(?:は|では)?", " now "),
        (r"合計|合わせて|全部で", " altogether "),
        (r"ではなく|じゃなく", " not "),
    ),
    "ar": (
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

QUESTION_CUES: dict[str, CuePairs] = {
    "de": (
        (r"\bum wie viel uhr\b", "at what time"),
        (r"\bwie viele (tage|wochen|monate|jahre)\b", "how many days"),
        (r"\bwie viele\b", "how many"),
        (r"\bwie (?:viel|hoch|teuer)\b", "how much"),
        (r"^(\W*)was (?=(?:kost|verdien|zahl|ergeb|verlang|haben wir)\w*)", r"\1How much "),
        (r"\bzwischen (.+?) und\b", r"between \1 and"),
        (r"\bwie lange\b", "how long"),
        (r"\b(?:wann|bis wann|seit wann)\b|\b(?:an )?welche[mnr] (?:wochen)?tag\b", "when"),
        (r"\bin welcher reihenfolge\b", "in what order"),
        (r"\b(?:wer|wem|wen|wessen)\b", "who"),
        (r"\b(?:wo|woher|wohin)\b", "where"),
        (r"\b(?:warum|weshalb|wieso)\b", "why"),
        (r"\bwelche[mnrs]?\b", "which"),
        (r"^(\W*)(?:was|worum|worüber|wofür|worauf)\b", r"\1What"),
        (r"^(\W*)wie\b", r"\1How"),
        (r"^(\W*)(?:hat|haben|hatte)\b", r"\1Has"),
        (r"^(\W*)(?:ist|sind|gibt es)\b", r"\1Is"),
        (r"^(\W*)(?:war|waren|wurde|wurden)\b(?! (?:wann|wo)\b)", r"\1Was"),
        (r"^(\W*)(?=(?:eröffnet|findet|bekommt|kommt|geht|macht|nimmt)\b)", r"\1Does "),
    ),
    "es": (
        (r"\ba qué hora\b", "at what time"),
        (r"\bcuántos (?:días|semanas|meses|años)\b", "how many days"),
        (r"\bcuánt[oa]s\b", "how many"),
        (r"\bcuánto tiempo\b", "how long"),
        (r"\bcuánt[oa]\b", "how much"),
        (r"\bcuándo\b|\bqué (?:día|fecha)\b", "when"),
        (r"\ben qué orden\b", "in what order"),
        (r"\bentre (.+?) y\b", r"between \1 and"),
        (r"\bquién(?:es)?\b", "who"),
        (r"\bdónde\b", "where"),
        (r"\bpor qué\b", "why"),
        (r"\bcuál(?:es)?\b", "which"),
        (r"\bqué\b", "what"),
        (r"\bcómo\b", "how"),
        (r"^(\W*)(?:ha|han|hemos|había)\b", r"\1Has"),
        (r"^(\W*)(?:es|está|hay|son)\b", r"\1Is"),
        (r"^(\W*)(?:fue|era|hubo|estaba)\b", r"\1Was"),
    ),
    "ja": (
        (r"何時", " what time "),
        (r"何(?:曜日|月何日|日に)|いつ(?!も)", " when "),
        (r"何日(?!に)", " how many days "),
        (r"何(?:個|袋|枚|人|本|台|点|回|つ|斤|卓)|いくつ", " how many "),
        (r"いくら|どのくらい|どれくらい|何(?:度|パーセント|円|割)", " how much "),
        (r"どんな順|順番", " in what order "),
        (r"誰|だれ|どなた", " who "),
        (r"どこ", " where "),
        (r"なぜ|どうして|理由は何", " why "),
        (r"どの|どちら|どれ|どんな", " which "),
        (r"何|なに", " what "),
        (r"どう(?!し)", " how "),
    ),
    "ar": (
        (r"(?<!\w)(?:في )?أي ساعة|(?<!\w)كم الساعة", "at what time"),
        (r"(?<!\w)كم يوم\w*", "how many days"),
        (r"(?<!\w)بكم|(?<!\w)كم (?=ثمن|سعر|راتب|إيجار|تكلف|كلف|نسبة|دفع|ندفع|نسبه)", "how much "),
        (r"(?<!\w)كم(?!\w)", "how many"),
        (r"(?<!\w)متى(?!\w)|(?<!\w)في أي يوم", "when"),
        (r"(?<!\w)بأي ترتيب", "in what order"),
        (r"(?<!\w)بين (.+?) و", r"between \1 and "),
        (r"^(\W*)(?:من|لمن|ممن)(?!\w)", r"\1Who"),
        (r"(?<!\w)(?:أين|من أين)(?!\w)", "where"),
        (r"(?<!\w)لماذا(?!\w)|(?<!\w)ما سبب(?!\w)", "why"),
        (r"(?<!\w)(?:أي|أية)(?!\w)", "which"),
        (r"^(\W*)(?:ما|ماذا|عماذا|بماذا)(?!\w)", r"\1What"),
        (r"(?<!\w)كيف(?!\w)", "how"),
        (r"^(\W*)هل(?!\w)", r"\1Did"),
    ),
}
"""For a text that ends as a question."""

_ASKED = re.compile(r"[?？؟]\W*$|か[。?？]?\s*$")
_JAPANESE_WH = re.compile(r"what|when|who|where|why|which|how")


def translate_cues(text: str, code: str) -> str:
    """The text with the words that matter for its stance in English."""
    text = _replace_cues(text, _list_number_cues(code))
    if _ASKED.search(text):
        text = _replace_cues(text, QUESTION_CUES[code])
        if code == "ja" and not _JAPANESE_WH.search(text):
            text = f"Did {text}"
    return _replace_cues(text, CUES[code])


def _replace_cues(text: str, cues: CuePairs) -> str:
    for pattern, said in cues:
        text = _compile_cue(pattern).sub(said, text)
    return text


@cache
def _compile_cue(pattern: str) -> re.Pattern[str]:
    # Most texts are English, and no cue is looked for in them.
    return re.compile(pattern, re.IGNORECASE)


@cache
def _list_number_cues(code: str) -> CuePairs:
    """The words for two to twelve; one is an article as well."""
    words = list(enumerate(get_language(code).numbers))[2:13]
    if code == "ja":
        return tuple((f"{word}つ", f" {number} ") for number, word in words[:8])
    return tuple(
        (rf"(?<!\w)(?:ال)?{word.removesuffix('ة')}ة?(?!\w)", spell_number(number))
        for number, word in words
    )

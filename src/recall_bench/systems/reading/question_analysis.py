"""What kind of answer a question wants, and what it asks about."""

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from recall_bench.core.text import STOPWORDS, normalise
from recall_bench.core.value_patterns import MONTH_PATTERN, WEEKDAY_PATTERN
from recall_bench.systems.builtin.date_spans import DateSpan, find_date_spans
from recall_bench.systems.builtin.exact_words import find_exact_words
from recall_bench.systems.reading.passage_sentences import collect_stems


class Wanted(StrEnum):
    """The kind of an answer."""

    ORDER = "order"
    FIRST = "first"
    GAP = "gap"
    """The days between two events."""
    COUNT = "count"
    SUM = "sum"
    EXTREME = "extreme"
    YES_NO = "yes/no"
    DATE = "date"
    TIME = "time"
    AMOUNT = "amount"
    PERSON = "person"
    COMMON = "common"
    """What two things share."""
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question or a part of one, analysed."""

    text: str
    wanted: Wanted
    anchors: tuple[str, ...] = ()
    """Codes, quotations and names, in lower case: what can only be meant word for word."""
    stems: frozenset[str] = frozenset()
    """Of its content words, without those of the anchors."""
    noun: str = ""
    """For an amount or a count: what is counted."""
    events: tuple[str, ...] = ()
    """For an order: the events to put in order."""
    spans: tuple[DateSpan, ...] = ()
    """The days that it names."""
    side: str = ""
    """For an extreme `most`, `least`, `fast` or `slow`; for an order of two, the word used."""
    measure: str = ""
    """For an amount: money, percent, duration, or nothing in particular."""
    wants_name: bool = False
    """Whether a name is likely: `which supplier`, `where`."""
    wants_reason: bool = False
    wants_list: bool = False
    """Whether it asks for several things."""
    wants_deadline: bool = False
    """Whether it asks for a day that was still to come."""
    wants_change: bool = False
    """Whether it asks if something changed or came back."""


_ORDER = re.compile(r"\b(?:in (?:the|what|which) order|chronological|sequence of)\b", re.IGNORECASE)
_FIRST = re.compile(
    r"\b(?:which|what|who|whose)\b.{0,40}?\b(?P<side>first|sooner|earlier|later|last|second)\b"
    r"(?P<rest>.*\bor\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_GAP = re.compile(
    r"\bhow (?:many (?P<unit>days|weeks|months|years)|long)\b", re.IGNORECASE
)
_GAP_CUE = re.compile(
    r"\b(?:pass(?:ed)?|between|elapsed|from .+ to|after|before|until|take|took|last(?:ed)?|later|earlier"
    r"|since|was .+ open|w?[eg][no]t? (?:by|on)|into|in all|running|needed|stay(?:ed)?|remain(?:ed)?)\b",
    re.IGNORECASE,
)
_PLURAL_GROUP = re.compile(r"\b(?:of|for|in|among|by) (?:all )?(?:the|our|these) \w+s\b", re.IGNORECASE)
_SUM = re.compile(
    r"\b(?:in total|altogether|(?:add|added|adding|taken|put) (?:up|together)|all told|combined"
    r"|total (?:of|amount|cost|sum|number)|sum of|(?:add|come|amount) up to|overall|in all)\b",
    re.IGNORECASE,
)
_EXTREME = re.compile(
    r"\b(?:(?P<least>least|smallest|lowest|fewest|shortest|cheapest|lightest|minimum|youngest|earliest|narrowest|weakest"
    r"|thinnest|nearest|closest|mildest)|(?P<fast>quickest|fastest|soonest|promptest|swiftest)"
    r"|(?P<slow>slowest)|(?P<most>most|worst|maximum"
    r"|(?!west|best|test|rest|guest|nest|quest|chest|past|request|interest|forest|honest|latest|contest|protest|harvest"
    r"|invest|suggest|arrest|digest|modest|priest|breast|crest|conquest|inquest|behest|tempest|manifest)[a-z]{2,}est))\b",
    re.IGNORECASE,
)
_GROUP = re.compile(r"\b(?:among|of) (?:all )?(?:the|our|these|those|my)\b|\bwhich\b", re.IGNORECASE)
_YES_NO = re.compile(
    r"\A(?:(?:and|but|so)\s+)?(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\A(?:(?:and|so|since|until|till|by|from|for)\s)?when\b"
    r"|\b(?:what|which) (?:exact |calendar )?(?:day|date|month|year|week)\b|\bthe date of\b"
    r"|\b(?:what|which) (?:is|was) the (?:[\w'-]+ ){0,2}(?:date|deadline|day)\b"
    r"|\b(?:what|which) (?:deadline|due date|time limit)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:at |by |from )?(?:what|which) (?:time|hour)\b(?! limit| frame| span)|\btime of day\b", re.IGNORECASE
)
_COMMON = re.compile(
    r"\bin common\b|\b(?:do|does|did) .+ (?:both )?shares?\b|\bshared by\b|\bone and the same\b|\bthe same .+ (?:in|and) .+"
    r"|\bboth .+ and\b|\bboth\b.+\bas well\b|\bas well as in\b|\bconnects .+ (?:with|and|to)\b|\b(?:connects|links) them\b"
    r"|\btraces? back to (?:one|the same)\b|\bon which .+ meet\b|\b(?:in|at|to|from|by|of|with) (?:one|the same) .+[.;:,] (?:by |to |in |from )?(?:wh(?:ich|at|o|om|ere))\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow many\s+(?P<many>[\w'-]+(?:\s[\w'-]+){0,2})|\b(?:number|count) of\s+(?P<of>[\w'-]+(?:\s[\w'-]+){0,2})",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\bhow (?:much|many|often|far|long|large|big|old|high|low|tall|heavy|strong|wide|deep|expensive|costly|good"
    r"|fast|hot|cold)\b"
    r"|\b(?:what|which|the) (?:[\w'-]+ ){0,3}?(?:number|count|amount|share|percentage|proportion|price|cost|sum|fee"
    r"|rate|total|figure|size|quantity|value|interest|royalty|temperature|score|budget|salary|rent|headcount"
    r"|length|duration|extent|pause|margin|dose|discount|ratio|threshold|limit|target|estimate|floor|ceiling)\b"
    r"|\bat what (?:figure|price|rate)\b|\b(?:tally|headcount)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:who|whom|whose)\b|\b(?:which|what) (?:of (?:the|our) )?(?:[\w'-]+ )?(?:person|people|colleague|engineer|member|doctor|nurse"
    r"|physician|attorney|lawyer|partner|friend|colleagues|teammate|manager|director|officer|analyst|advisor"
    r"|adviser|resident|attending|student|postdoc|researcher|scientist|planner|assistant|executive|clerk"
    r"|associate|paralegal|judge|witness|expert|teacher|coach|artist|author|actor|singer)s?\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r",?\s+and\s+(?=(?:on |in |at |by |for |to |from |with )?(?:what|which|who|whom|whose|when|where|why|how|did|was"
    r"|were|is|are|does|do|has|had)\b)",
    re.IGNORECASE,
)


def analyse_question(text: str, today: date) -> list[AskedQuestion]:
    """The parts of a question in order; most questions have one."""
    whole = normalise(text).strip()
    parts = [part.strip(" ,;") for part in _PART.split(whole)]
    if len(parts) == 1 or any(len(part.split()) < 3 for part in parts):
        parts = [whole]
    shared = _find_anchors(whole)
    return [_analyse_part(part, whole, shared, today) for part in parts]


def _find_anchors(text: str) -> tuple[str, ...]:
    """Codes, quotations and names, without dates and plain numbers."""
    kept = _CALENDAR.sub(" ", text)
    found = (word.strip("'’") for word in find_exact_words(kept))
    return tuple(word for word in found if word and not _PLAIN_NUMBER.fullmatch(word))


def _analyse_part(text: str, whole: str, shared: tuple[str, ...], today: date) -> AskedQuestion:
    wanted, detail = classify(text)
    anchors = _find_anchors(text) or shared
    topic = collect_stems(text) - collect_stems(" ".join(anchors))
    return AskedQuestion(
        text=text,
        wanted=wanted,
        anchors=anchors,
        stems=topic or collect_stems(text),
        noun=detail.get("noun", ""),
        events=split_events(text, wanted),
        spans=find_date_spans(whole, today),
        measure=_find_measure(text),
        wants_name=_NAMED.search(text) is not None,
        wants_reason=_REASON.search(text) is not None,
        wants_list=_SEVERAL.search(text) is not None,
        wants_deadline=_DEADLINE.search(text) is not None,
        wants_change=_CHANGE.search(text) is not None,
        side=detail.get("side", ""),
    )


_MEASURES = {
    "money": re.compile(
        r"\b(?:how (?:expensive|costly)|cost|costs|price|pay|paid|spent|spend|fee|salary|rent|charge|budget|worth|sum"
        r"|refund\w*|compensation|earn\w*|money|amount|repaid|invoice\w*|bill\w*|raised?|dear)\b",
        re.IGNORECASE,
    ),
    "percent": re.compile(
        r"\b(?:share|percent\w*|proportion|rate|fraction|portion|part|occupancy|interest|compliance|royalty)\b",
        re.IGNORECASE,
    ),
    "duration": re.compile(
        r"\b(?:how long|how much time|most time|least time|duration|longest|shortest|quickest|fastest|slowest|how many (?:minutes|hours|days|weeks|months|years)|how old|pause|delay)\b",
        re.IGNORECASE,
    ),
}
_NAMED = re.compile(
    r"\A(?:(?:in|at|to|from|on|by|with|for|of|under|through) )?(?:which|where)\b"
    r"|\bwhat (?:[\w'-]+ )?(?:company|firm|vendor|supplier|client|customer|account|city|town|country|place|street|hotel"
    r"|restaurant|fund|bank|school|university|hospital|machine|package|library|team|band|book|movie|film|song|game|brand"
    r"|breed|name|holding|competitor|institution|office|project|product|virus|drug|court|party)\b"
    r"|\bname (?:the|of)\b|\bcalled\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\bwhy\b|\b(?:reason|ground|grounds|rationale|argument|objection|motive|cause|consideration|explain\w*|purpose"
    r"|justif\w+|because|case for|case against|counter-argument)\b|\bwhat (?:made|swung|led|caused|prompted|drove)\b",
    re.IGNORECASE,
)


_CHANGE = re.compile(
    r"\b(?:chang|revis|alter|amend|modif|mov(?:e|ed|ing)\b|postpon|put off|br(?:ing|ought) forward|reschedul|rearrang"
    r"|overturn|revers|und(?:o|one|id)\b|shift|adjust|correct|replac|exten[ds]|renegotiat|redo|done over|differ|return"
    r"|c[ao]me back|again|relaps|recur|reopen|t[ao](?:ke|ken|ok) .*\bback|put back|another|new\b)",
    re.IGNORECASE,
)


_SEVERAL = re.compile(
    r"\b(?:what|which) (?:are|were)\b|\b(?:what|which) (?:(?!is|was|does|has|his|this)[\w'-]+ ){0,2}?(?!is|was|does|has|his|this)"
    r"[a-z'-]{2,}[^s\W]s (?:did|do|does|has|have|had|were|are|was|is|would|could|can)\b|\bnames? of\b.*s\b|\bwhat (?:kinds|types|sorts)\b"
    r"|\b(?:list|name) (?:all|the|every)\b",
    re.IGNORECASE,
)
_DEADLINE = re.compile(
    r"\b(?:by|until|till|for) (?:when|what|which)\b|\b(?:deadline|due|time limit|expire\w*|expected|promised|scheduled"
    r"|planned|pencil\w* in|set for|set to|to start|to begin|supposed|take effect|effective|in force|binding|valid|counts? from"
    r"|from wh(?:ich|at) (?:day|date)|put into practice|become|booked for|arranged)\b",
    re.IGNORECASE,
)


def _find_measure(text: str) -> str:
    return next((name for name, cue in _MEASURES.items() if cue.search(text)), "")


def classify(text: str) -> tuple[Wanted, dict[str, str]]:
    """The kind of answer that a question wants, and what its wording says of it."""
    if _ORDER.search(text):
        return Wanted.ORDER, {}
    if first := _FIRST.search(text):
        return Wanted.FIRST, {"side": first["side"].lower()}
    extreme = _EXTREME.search(text)
    if extreme and _GROUP.search(text) and not _YES_NO.match(text):
        return Wanted.EXTREME, {"side": str(extreme.lastgroup)}
    many = _HOW_MANY.search(text)
    noun = _find_head(many["many"] or many["of"]) if many else ""
    gap = _GAP.search(text)
    if gap and gap["unit"] and not _PLURAL_GROUP.search(text) and _GAP_CUE.search(text):
        return Wanted.GAP, {"noun": gap["unit"]}
    if _SUM.search(text) and (many or _AMOUNT.search(text) or _find_measure(text)):
        return Wanted.SUM, {"noun": noun}
    if gap and _GAP_CUE.search(text):
        return Wanted.GAP, {"noun": gap["unit"] or ""}
    if _YES_NO.match(text):
        return Wanted.YES_NO, {}
    if _COMMON.search(text) and not many:
        return Wanted.COMMON, {}
    if _TIME.search(text):
        return Wanted.TIME, {}
    if _WHEN.search(text):
        return Wanted.DATE, {}
    if many:
        return Wanted.COUNT, {"noun": noun}
    if _PERSON.search(text):
        return Wanted.PERSON, {}
    if _AMOUNT.search(text):
        return Wanted.AMOUNT, {}
    return Wanted.TEXT, {}


def _find_head(phrase: str) -> str:
    """The last word of a noun phrase: `audits` of `new chart audits were`."""
    head = ""
    for word in phrase.split():
        if word.lower() in STOPWORDS:
            break
        head = word
        if word.endswith("s") and not word.endswith("ss"):
            head = word
    return head


_CALENDAR = re.compile(
    rf"\b(?:\d{{4}}-\d\d-\d\d|{MONTH_PATTERN} \d\d?(?:st|nd|rd|th)?,? (?:\d{{4}})?|\d\d?(?:st|nd|rd|th)? {MONTH_PATTERN}"
    rf"(?:,? \d{{4}})?|{MONTH_PATTERN}(?: \d{{4}})?|{WEEKDAY_PATTERN})\b"
)
_PLAIN_NUMBER = re.compile(r"[$€£]?[\d.,:/%-]+(?:st|nd|rd|th)?")

_LISTED = re.compile(r":\s*(?P<items>.+?)[?.]?\Z", re.DOTALL)
_BETWEEN = re.compile(
    r"\b(?:from (?P<a1>.+?) to (?P<b1>.+?)|between (?P<a2>.+?) and (?P<b2>.+?))(?:\s(?:did|was|take|in|of|for)\b|[?.,]|\Z)",
    re.IGNORECASE,
)


def split_events(text: str, wanted: Wanted) -> tuple[str, ...]:
    """The events that a question wants put in order or measured."""
    if wanted is Wanted.ORDER:
        listed = _LISTED.search(text)
        items = listed["items"] if listed else ""
        return tuple(part.strip(" ?.") for part in re.split(r";|,(?!\s\d{4})|\band\b(?=[^;]*\Z)", items) if part.strip(" ?.")) \
            if ";" not in items else tuple(part.strip(" ?.") for part in items.split(";") if part.strip())
    if wanted is Wanted.FIRST:
        return _split_alternatives(text)
    if wanted is Wanted.GAP and (between := _BETWEEN.search(text)):
        return tuple(part.strip() for part in between.groups() if part)
    return ()


def _split_alternatives(text: str) -> tuple[str, ...]:
    start = re.search(r"[:,]|\b(?:first|sooner|earlier|later|last|second)\b", text)
    rest = text[start.end() :] if start else text
    one, _, other = rest.rpartition(" or ")
    strip = " ,:?."
    return (one.strip(strip), other.strip(strip)) if one.strip(strip) else ()

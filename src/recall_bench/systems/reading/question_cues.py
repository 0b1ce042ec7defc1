"""The words by which a question shows what kind of answer it wants."""

import re


def match_any(phrases: str, before: str = r"\b") -> re.Pattern[str]:
    """A pattern for any of the phrases, which commas separate; case does not matter."""
    listed = "|".join(phrase.strip() for phrase in phrases.split(","))
    return re.compile(rf"{before}(?:{listed})\b", re.IGNORECASE)


_AUXILIARIES = "did,does,do,is,are,was,were,has,have,had,can,could,will,would,should"
_WH = "what|which"

ORDER = match_any("in (?:the|what|which) order, chronological, sequence of")
FIRST = re.compile(
    r"\b(?:which|what|who|whose)\b.{0,40}?\b(?P<side>first|sooner|earlier|later|last|second)\b"
    r".*\bor\b",
    re.IGNORECASE | re.DOTALL,
)

PERIOD = re.compile(r"\bhow (?:many (?P<unit>days|weeks|months|years)|long)\b", re.IGNORECASE)
PASSED = match_any(
    "pass(?:ed)?, between, elapsed, from .+ to, after, before, until, take, took, last(?:ed)?,"
    "later, earlier, since, was .+ open, (?:go|went) (?:by|on), into, in all, running, needed,"
    "stay(?:ed)?, remain(?:ed)?"
)
GROUP_OF_THINGS = match_any("(?:of|for|in|among|by) (?:all )?(?:the|our|these) [a-z]+s")
SUM = match_any(
    "in total, altogether, (?:add|added|adding|taken) (?:up|together), all told, combined,"
    "total (?:of|amount|cost|sum|number), sum of, (?:add|come|amount) up to, overall, in all"
)

_NO_SUPERLATIVE = (
    "west|best|test|rest|guest|nest|quest|chest|request|interest|forest|honest|latest|contest"
    "|protest|harvest|invest|suggest|arrest|digest|modest|priest|breast|crest|conquest|manifest"
)
EXTREME = re.compile(
    r"\b(?:(?P<least>least|smallest|lowest|fewest|shortest|cheapest|lightest|minimum|youngest"
    r"|earliest|narrowest|weakest|thinnest|nearest|closest|mildest)"
    r"|(?P<fast>quickest|fastest|soonest|swiftest)|(?P<slow>slowest)"
    rf"|(?P<most>most|worst|maximum|(?!(?:{_NO_SUPERLATIVE})\b)[a-z]{{2,}}est))\b",
    re.IGNORECASE,
)
AMONG = match_any("(?:among|of) (?:all )?(?:the|our|these|those|my), which")

YES_NO = match_any(_AUXILIARIES, before=r"\A(?:(?:and|but|so)\s+|(?!wh|how)[^,?]{3,120},\s)?")
"""At the start, or after the first comma of a question that begins with a clause."""

WHEN = re.compile(
    r"\A(?:(?:and|so|since|until|till|by|from|for)\s)?when\b|\bthe date of\b"
    rf"|\b(?:{_WH}) (?:exact )?(?:day|date|month|year|week|deadline|due date|time limit)\b"
    rf"|\b(?:{_WH}) (?:is|was) the (?:[\w'-]+ ){{0,2}}(?:date|deadline|day)\b",
    re.IGNORECASE,
)
DEADLINE = match_any(
    "(?:by|until|till|for) (?:when|what|which), deadline, due, time limit, expire\\w*, expected,"
    "promised, scheduled, planned, set (?:for|to), to (?:start|begin), supposed, take effect,"
    "effective, in force, binding, valid, from wh(?:ich|at) (?:day|date), become, booked for,"
    "arranged, ha(?:ve|s|d) to, must, end date, lapse\\w*, run out, applie[sd]"
)
TIME = match_any(f"(?:{_WH}) (?:time|hour)(?! limit| frame| span), time of day, when in the day")

COMMON = match_any(
    "in common, (?:do|does|did) .+ shares?, shared by, one and the same, the same .+ (?:in|and) .+,"
    "both .+ and, both .+ as well, as well as in, connects .+ (?:with|and|to),"
    "(?:connects|links) them, traces? back to (?:one|the same), on which .+ meet,"
    "(?:in|at|to|from|by|of|with) (?:one|the same) .+[.;:\\x2c] (?:(?:by|to|in|from) )?"
    "wh(?:ich|at|o|om|ere)"
)

HOW_MANY = re.compile(
    r"\b(?:how many|(?:number|count) of)\s+(?P<things>[\w'-]+(?:\s[\w'-]+){0,2})", re.IGNORECASE
)
HOW_OFTEN = match_any("how often, how many times")
_AMOUNTS = (
    "number|count|amount|share|percentage|proportion|price|cost|sum|fee|rate|total|figure|size"
    "|quantity|value|interest|temperature|score|budget|salary|rent|headcount|length|duration"
    "|extent|pause|margin|dose|discount|ratio|threshold|limit|target|estimate|floor|ceiling"
)
AMOUNT = re.compile(
    r"\bhow (?:much|many|often|far|long|large|big|old|high|low|tall|heavy|strong|wide|deep"
    r"|expensive|costly|good|fast|hot|cold)\b"
    rf"|\b(?:{_WH}|the) (?:[\w'-]+ ){{0,3}}?(?:{_AMOUNTS})\b",
    re.IGNORECASE,
)
MEASURES = {
    "money": match_any(
        "how (?:expensive|costly), costs?, price, pay, paid, spent, spend, fee, salary, rent,"
        "charge,"
        "budget, worth, sum, refund\\w*, compensation, earn\\w*, money, amount, repaid,"
        "invoice\\w*,"
        "bill\\w*, raised?, dear"
    ),
    "percent": match_any("share, percent\\w*, proportion, rate, fraction, portion, part, interest"),
    "duration": match_any(
        "how long, how much time, most time, least time, duration, longest, shortest, quickest,"
        "fastest, slowest, how many (?:minutes|hours|days|weeks|months|years), how old, pause,"
        "delay"
    ),
}

_PEOPLE = (
    "person|people|colleague|engineer|member|doctor|nurse|physician|attorney|lawyer|partner|friend"
    "|teammate|manager|director|officer|analyst|advis[eo]r|resident|student|researcher|scientist"
    "|planner|assistant|executive|clerk|associate|judge|witness|expert|teacher|coach|artist|author"
    "|actor|singer"
)
PERSON = match_any(f"who, whom, whose, (?:{_WH}) (?:of (?:the|our) )?(?:[\\w'-]+ )?(?:{_PEOPLE})s?")
_NAMED = (
    "company|firm|vendor|supplier|client|customer|account|city|town|country|place|street|hotel"
    "|restaurant|fund|bank|school|university|hospital|machine|package|library|team|band|book|movie"
    "|film|song|game|brand|breed|name|institution|office|project|product|drug|court"
)
NAMED = re.compile(
    r"\A(?:(?:in|at|to|from|on|by|with|for|of|under|through) )?(?:which|where)\b"
    rf"|\bwhat (?:[\w'-]+ )?(?:{_NAMED})\b|\bname (?:the|of)\b|\bcalled\b",
    re.IGNORECASE,
)
REASON = match_any(
    "why, reason, grounds?, rationale, argument, objection, motive, cause, consideration,"
    "explain\\w*, purpose, justif\\w+, because, case (?:for|against), counter-argument,"
    "what (?:made|swung|led|caused|prompted|drove)"
)
CHANGE = match_any(
    "chang\\w*, revis\\w*, alter\\w*, amend\\w*, modif\\w*, mov(?:e|ed|ing), postpon\\w*, put off,"
    "br(?:ing|ought) forward, reschedul\\w*, rearrang\\w*, overturn\\w*, revers\\w*, undo, undone,"
    "undid, shift\\w*, adjust\\w*, correct\\w*, replac\\w*, exten[ds]\\w*, renegotiat\\w*,"
    "redo\\w*,"
    "done over, differ\\w*, return\\w*, c[ao]me back, again, relaps\\w*, recur\\w*, reopen\\w*,"
    "t[ao](?:ke|ken|ok) .*\\bback, put back, another, new"
)
_NOT_PLURAL = "(?!is |was |does |has |his |this )"
SEVERAL = re.compile(
    rf"\b(?:{_WH}) (?:are|were|kinds|types|sorts)\b|\bnames? of\b.*s\b|\b(?:list|name) (?:all"
    rf"|the|every)\b"
    rf"|\b(?:{_WH}) (?:{_NOT_PLURAL}[\w'-]+ ){{0,2}}?{_NOT_PLURAL}[a-z'-]{{2,}}[^s\W]s"
    rf" (?:{_AUXILIARIES.replace(',', '|')})\b",
    re.IGNORECASE,
)

PART = re.compile(
    r",?\s+and\s+(?=(?:(?:on|in|at|by|for|to|from|with) )?(?:what|which|who|whom|whose|when"
    r"|where|why"
    rf"|how|{_AUXILIARIES.replace(',', '|')})\b)",
    re.IGNORECASE,
)
"""Between two questions in one sentence."""

LEADING_CLAUSE = re.compile(
    r"\A(?:when|after|before|once|while|as|if|since|on|in|at|during|for|with|given|of|from|by)\b"
    r"(?!\s(?:what|which|who|whom|whose|when)\b)[^?:]*?,\s+"
    r"(?=(?:(?:on|in|at|by|for|to|from|with|under|of) )?"
    r"(?:what|which|who|whom|whose|when|where|why|how"
    rf"|{_AUXILIARIES.replace(',', '|')})\b)",
    re.IGNORECASE,
)
"""What stands before the main clause of a question."""

LISTED_EVENTS = re.compile(r":\s*(?P<items>.+?)[?.]?\Z", re.DOTALL)
BETWEEN = re.compile(
    r"\b(?:from (?P<a1>.+?) to (?P<b1>.+?)|between (?P<a2>.+?) and (?P<b2>.+?))"
    r"(?:\s(?:did|was|take|in|of|for)\b|[?.,]|\Z)",
    re.IGNORECASE,
)
ALTERNATIVES = re.compile(r"[:,]|\b(?:first|sooner|earlier|later|last|second)\b")

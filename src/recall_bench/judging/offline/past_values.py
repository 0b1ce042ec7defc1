"""Values that an answer gives as past, replaced or denied, and values that it calls a total."""

import re

from recall_bench.text.values import locate_values

TextSpan = tuple[int, int]
"""The start and end of a value in a text."""

_CLAUSE_BREAK = re.compile(
    r"[;:.!?](?=\s|$)|\s(?:but|and (?:was |is |has )?(?:then|now|later|since))\s"
)
_PAST_BEFORE = re.compile(
    r"\b(?:originally|earlier|before that|at first|initially|formerly|previously|once|until then"
    r"|used to be|no longer"
    r"|not|isn't|wasn't|instead of|rather than|in place of|from|after|succeed(?:s|ed|ing)|out of"
    r"|had been|replac(?:es|ed|ing)"
    r"|abandon(?:s|ed|ing)|dropp(?:ed|ing)|scrapp(?:ed|ing)|g[ai]v(?:en?|ing) up"
    r"|supersed(?:es|ed|ing)|(?:left|leaving) the)\b"
    r"\W*(?:(?!(?:to|until|only|just)\b|\d)\w+\W+){0,3}$",
    re.IGNORECASE,
)
_PAST_AFTER = re.compile(
    r"^(?:(?:,|,?\s(?:and|or))\s[^\s,;.]+){0,3}\W*(?:\w+\W+){0,2}"
    r"(?:at first|originally|initially|before(?:hand)?\b(?! \w)|previously"
    r"|formerly|any ?longer|any ?more|no longer|until then|in the past|at the time|to begin with"
    r"|has been (?:replaced|superseded)|was (?:replaced|superseded)|as it was before"
    r"|was (?:then |later )?(?:changed|moved|corrected|revised|extended))",
    re.IGNORECASE,
)
_DROPPED_AFTER = re.compile(
    r"^\W*(?:\w+\W+){0,5}?(?:(?:is|was) (?:out of date|dead|off the table|gone|history|off)"
    r"|fell through|was (?:only|merely|just) (?:an?|the) (?:plan|idea|proposal|suggestion|draft)"
    r"|(?:was|were|has been|had been) (?:dropped|abandoned|scrapped|shelved|ruled out|given up)"
    r"|turned out (?:\w+ )?(?:fine|wrong|false|mistaken))\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:now|currently|nowadays|these days|by now|meanwhile|today|at present)\b", re.IGNORECASE
)
_THEN = re.compile(r"\b(?:was|were|had|did|used to|earlier|before|back in)\b", re.IGNORECASE)
_CONTRAST = re.compile(
    r"[;.!?,](?=\s|$)|\s(?:but|although|though|whereas|while|and)\s", re.IGNORECASE
)
_TOTAL_BEFORE = re.compile(
    r"\b(?:total(?:s|led|ling)?|altogether|in all|all told|overall|together|sum)\b\W*"
    r"(?:\w+\W+){0,3}$",
    re.IGNORECASE,
)
_TOTAL_AFTER = re.compile(
    r"\W*(?:\w+\W+){0,2}(?:in total|altogether|in all|all told|overall|taken together)\b",
    re.IGNORECASE,
)


def is_given_as_past(text: str, place: TextSpan) -> bool:
    """Whether the text says that the value held once, or does not hold."""
    start, end = place
    breaks = [match.span() for match in _CLAUSE_BREAK.finditer(text)]
    opens = max((past for _, past in breaks if past <= start), default=0)
    closes = min((first for first, _ in breaks if first >= end), default=len(text))
    clause = _find_clause(text, place)
    if _NOW.search(text[slice(*clause)]):
        opens, closes = clause  # what is said of another time is said of another value
    before, after = text[opens:start], text[end:closes]
    if _PAST_BEFORE.search(before) or _PAST_AFTER.search(after) or _DROPPED_AFTER.search(after):
        return True
    return _is_contrasted_with_now(text, place)


def _find_clause(text: str, place: TextSpan) -> TextSpan:
    breaks = [match.span() for match in _CONTRAST.finditer(text)]
    opens = max((past for _, past in breaks if past <= place[0]), default=0)
    closes = min((first for first, _ in breaks if first >= place[1]), default=len(text))
    return opens, closes


def _is_contrasted_with_now(text: str, place: TextSpan) -> bool:
    """Whether the clause of a value is in the past, and another one says what is so now."""
    opens, closes = _find_clause(text, place)
    clause = text[opens:closes]
    if _NOW.search(clause) or not _THEN.search(clause):
        return False
    return _NOW.search(text[:opens]) is not None or _NOW.search(text[closes:]) is not None


def is_total(text: str, place: TextSpan) -> bool:
    """Whether the text calls the value a total, so that other values may be its parts."""
    return bool(_TOTAL_BEFORE.search(text, 0, place[0]) or _TOTAL_AFTER.match(text, place[1]))


def list_past_values(text: str) -> list[str]:
    """The values in clauses that say of one of them that it held once."""
    located = locate_values(text)
    past = {
        _find_hard_clause(text, (start, end))
        for _, start, end in located
        if is_given_as_past(text, (start, end))
    }
    return [
        atom.value for atom, start, end in located if _find_hard_clause(text, (start, end)) in past
    ]


def _find_hard_clause(text: str, place: TextSpan) -> TextSpan:
    opens = max((m.end() for m in _HARD_BREAK.finditer(text, 0, place[0])), default=0)
    closes = _HARD_BREAK.search(text, place[1])
    return opens, closes.start() if closes else len(text)


_HARD_BREAK = re.compile(r"[;.!?](?=\s|$)|\s(?:but|while|whereas)\s")

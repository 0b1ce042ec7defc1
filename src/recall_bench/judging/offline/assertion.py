"""How an answer asserts a value: as what held once, as one of several, or as a total of others."""

import re

TextSpan = tuple[int, int]
"""The first character of a value in a plain text, and the one after it."""

_CLAUSE_BREAK = re.compile(
    r"[;:.!?](?=\s|$)|\s(?:but|and (?:was |is |has )?(?:then|now|later|since))\s"
)
_PAST_BEFORE = re.compile(
    r"\b(?:originally|at first|initially|formerly|previously|once|until then|used to be|no longer"
    r"|not|isn't|wasn't|instead of|rather than|in place of|from|had been|replac(?:es|ed|ing)"
    r"|supersed(?:es|ed|ing))\b\W*(?:(?!(?:to|until|only|just)\b|\d)\w+\W+){0,3}$",
    re.IGNORECASE,
)
_PAST_AFTER = re.compile(
    r"^\W*(?:\w+\W+){0,2}(?:at first|originally|initially|before(?:hand)?\b(?! \w)|previously"
    r"|formerly|any ?longer|any ?more|no longer|until then|in the past|at the time|to begin with"
    r"|has been (?:replaced|superseded)|was (?:replaced|superseded)|as it was before"
    r"|is out of date|was (?:then |later )?(?:changed|moved|corrected|revised|extended))",
    re.IGNORECASE,
)
_OR_AFTER = re.compile(r"[^.;\w]{0,3}(?:\w+[^.;\w]{1,3}){0,2}\bor\b", re.IGNORECASE)
_OR_BEFORE = re.compile(r"\bor\b\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
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
    """Whether what stands there is said to have held once, or not to hold."""
    start, end = place
    breaks = [match.span() for match in _CLAUSE_BREAK.finditer(text)]
    opens = max((past for _, past in breaks if past <= start), default=0)
    closes = min((first for first, _ in breaks if first >= end), default=len(text))
    before, after = text[opens:start], text[end:closes]
    return bool(_PAST_BEFORE.search(before) or _PAST_AFTER.search(after))


def is_one_of_several(text: str, place: TextSpan) -> bool:
    """Whether what stands there is offered with an alternative."""
    return bool(_OR_AFTER.match(text, place[1]) or _OR_BEFORE.search(text, 0, place[0]))


def is_total(text: str, place: TextSpan) -> bool:
    """Whether what stands there is said to be a total, so that other values may be its parts."""
    return bool(_TOTAL_BEFORE.search(text, 0, place[0]) or _TOTAL_AFTER.match(text, place[1]))

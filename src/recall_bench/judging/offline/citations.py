"""What an answer says about itself: where it has something from, what else it could do.

That is bookkeeping: it claims nothing about the question.
"""

import re

_ISO = r"\d{4}-\d\d-\d\d"
_CITED_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_CITED_DATE = rf"(?:{_ISO}|\d\d?\s{_CITED_MONTH}\s\d{{4}}|{_CITED_MONTH}\s\d\d?,?\s\d{{4}})"
_CITATION = re.compile(
    rf"""
      ^[ \t>-]{{0,20}}(?:On\s)?(?:{_CITED_DATE}|day[\s-]\d+)\s*(?:\([^()\n]*\))?\s*:
    | \((?:sources?|see|from|cf)\b[^()]{{0,400}}\)
    | \[(?:sources?|see|from|cf)\b[^\]]{{0,400}}\]
    | \bsources?:[^\n]*
    | [(\[]\s?(?:(?:{_CITED_DATE}|day[\s-]\d+)(?:\.md)?[\s,;]{{0,3}}){{1,20}}[)\]]
    | (?<![\w-])(?:{_ISO}|day-\d+)\.md\b
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_OFFER = re.compile(
    r"\b(?:If you(?:'d| would)? (?:want|like|need)|Let me know|Would you like|Do you want)\b[^\n]*",
    re.IGNORECASE,
)
_NAMES_A_MARK = re.compile(r"[:=]\s*[\"']?(?:\d|[A-Za-z]+\W*$)", re.MULTILINE)
_SELF_GRADE = re.compile(
    r"\b(?:correctness|completeness|grounded(?:ness)?|hallucination|score|grade|marks?|label"
    r"|rating|verdict)\b[\"']?\s*[:=]\s*[\"']?[\w./]+[\"'},]*",
    re.IGNORECASE,
)


def split_citations(text: str) -> tuple[str, str]:
    """A plain text without citations, offers of help and marks for itself; the citations alone."""
    cited: list[str] = []

    def cut(match: re.Match[str]) -> str:
        cited.append(match[0])
        return " "

    if _NAMES_A_MARK.search(text):
        text = _SELF_GRADE.sub(" ", text)
    body = _CITATION.sub(cut, _OFFER.sub(" ", text))
    return body, " ; ".join(cited)

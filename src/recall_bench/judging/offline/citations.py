"""What an answer says about itself: where it has something from, what else it could do.

That is bookkeeping: it claims nothing about the question.
"""

import re

_ISO = r"\d{4}-\d\d-\d\d"
_CITATION = re.compile(
    rf"""
      ^[ \t>-]{{0,20}}(?:On\s)?(?:{_ISO}|day[\s-]\d+)\s*(?:\([^()\n]*\))?\s*:
    | \((?:sources?|see|from|cf)\b[^()]{{0,400}}\)
    | \[(?:sources?|see|from|cf)\b[^\]]{{0,400}}\]
    | \bsources?:[^\n]*
    | [(\[]\s?(?:(?:{_ISO}|day[\s-]\d+)(?:\.md)?[\s,;]{{0,3}}){{1,20}}[)\]]
    | (?<![\w-])(?:{_ISO}|day-\d+)\.md\b
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_OFFER = re.compile(
    r"\b(?:If you(?:'d| would)? (?:want|like|need)|Let me know|Would you like|Do you want)\b[^\n]*",
    re.IGNORECASE,
)


def split_citations(text: str) -> tuple[str, str]:
    """A plain text without citations and offers of further help, and the citations alone."""
    cited: list[str] = []

    def cut(match: re.Match[str]) -> str:
        cited.append(match[0])
        return " "

    body = _CITATION.sub(cut, _OFFER.sub(" ", text))
    return body, " ; ".join(cited)
